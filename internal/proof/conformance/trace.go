package conformance

import (
	"fmt"

	"github.com/volsim/volsim/trace"
)

// Traces runs all scenarios of a recording in order, and yields the trace of each run. An error names the file, and the scenario that
// cannot run.
func Traces(file string, each func(name string, trace *trace.Trace)) error {
	nodes, err := AboutNodes(file)
	if err != nil {
		return err
	}
	if nodes {
		scenarios, err := ReadLines[NodeScenario](file)
		if err != nil {
			return err
		}
		for _, s := range scenarios {
			var p nodeRunner
			if _, err := p.run(s, Options{}); err != nil {
				return fmt.Errorf("%s: scenario %s: %w", file, s.Name, err)
			}
			each(s.Name, p.cluster.Trace())
		}
		return nil
	}
	scenarios, err := ReadLines[Scenario](file)
	if err != nil {
		return err
	}
	for _, s := range scenarios {
		var p runner
		if _, err := p.run(s, Options{}); err != nil {
			return fmt.Errorf("%s: scenario %s: %w", file, s.Name, err)
		}
		each(s.Name, p.cluster.Trace())
	}
	return nil
}
