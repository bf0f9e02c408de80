// Package scenario runs scripts: readable descriptions of what happens in a cluster and what is expected of it.
//
// A script is a txtar archive. Its comment is the script, one command per line; the files below are manifests and expected outputs:
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
// Commands are those of kubectl where there is one (apply, get, describe, delete, patch, wait). Others do what kubectl cannot: advance
// virtual time, break storage and nodes, print backends and the trace, and check expectations. docs/scripts.md describes all commands.
//
// Parse checks every line without running any. Run executes a script in a cluster of its own, once for each of its seeds, and reports
// failures as "file:line: command: reason". It reads no files, no clock and no environment: the same script gives the same result.
package scenario
