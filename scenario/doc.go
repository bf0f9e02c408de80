// Package scenario plays scripts: stories of a cluster that a person can read, with what is expected of it.
//
// A script is a txtar archive. Its comment is the script, one command to a line; the files below are manifests and wanted outputs:
//
//	# A claim takes the smallest volume that fits.
//	apply -f volumes.yaml
//	settle
//	apply -f claim.yaml
//	settle
//	expect pvc/data phase=Bound volume=snug
//
//	-- volumes.yaml --
//	...
//
// Commands are those of kubectl where there is one (apply, get, describe, delete, patch, wait), and ours for what kubectl cannot do: let
// virtual time pass, break storage and nodes, look into backends and the trace, and expect. "!" in front of a command means that it
// must fail. docs/scripts.md describes all commands; Reference writes it.
//
// Parse checks every line without playing any. Run plays a script in a cluster of its own, for each of its seeds if it has several, and
// says at which line what went wrong: "file:line: command: why". It reads no files, no clock and no environment: the same script gives
// the same bytes. Package scenariotest is the one line that a test needs.
package scenario
