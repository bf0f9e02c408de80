package apiserver

import "flag"

// The flags of the comparisons, which this package does not use: go test ./... passes them to all packages.
func init() {
	for _, name := range []string{"seeds", "runs", "shuffle", "latency", "shrink", "first", "pairs", "changes", "objects"} {
		flag.String(name, "", "see the tests of the folder above")
	}
}
