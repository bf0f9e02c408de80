package explore

import "flag"

// deep makes the tests search as far as continuous integration does: go test ./internal/tools/explore -args -deep. Without it they search
// fewer cases, and assert the same of them.
var deep = flag.Bool("deep", false, "search as far as continuous integration does, which takes a minute")

// searches returns how many cases a test searches: all with -deep, else few.
func searches(few, all int) int {
	if *deep {
		return all
	}
	return few
}
