package conformance_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/conformance"
)

func TestNodeDev(t *testing.T) {
	scenarios, err := conformance.ReadLines[conformance.NodeScenario]("testdata/node.jsonl.gz")
	require.NoError(t, err)
	passed := 0
	only := os.Getenv("ONLY")
	for _, s := range scenarios {
		if only != "" && only != s.Name {
			continue
		}
		got, err := s.Play(conformance.Options{})
		if err != nil {
			fmt.Printf("%s: %v\n", s.Name, err)
			continue
		}
		diffs := s.Check(got)
		if len(diffs) == 0 {
			passed++
			continue
		}
		fmt.Printf("FAIL %s: %d diffs\n", s.Name, len(diffs))
		n := 3
		if only != "" {
			n = 100
		}
		for i, d := range diffs {
			if i < n {
				fmt.Println("    ", d)
			}
		}
	}
	fmt.Printf("passed %d of %d\n", passed, len(scenarios))
}
