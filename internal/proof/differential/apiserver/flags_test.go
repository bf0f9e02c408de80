package apiserver

import "flag"

// The flags of the comparisons, of which this package has none: go test ./... gives them to all packages.
func init() {
	for _, name := range []string{"seeds", "runs", "shuffle", "latency", "shrink", "first", "pairs", "changes", "objects"} {
		flag.String(name, "", "see the tests of the folder above")
	}
}
