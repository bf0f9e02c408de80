package rundiff

import (
	"time"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/trace"
)

// Run is a run to compare.
type Run struct {
	// Name identifies the run in reports.
	Name string
	// Objects are the objects at the end, including Events.
	Objects []api.Object
	// Trace is the trace; nil if only the objects are known.
	Trace *trace.Trace
	// Start is the virtual time at which Trace begins.
	Start time.Time
	// Failures lists the failed expectations, one line each.
	Failures []string
}

// Of returns the run of a cluster that started at start, up to now.
func Of(name string, c *volsim.Cluster, start time.Time) Run {
	run := Run{Name: name, Trace: c.Trace(), Start: start}
	addAll(&run, c.Classes.List())
	addAll(&run, c.AttributesClasses.List())
	addAll(&run, c.CSIDrivers.List())
	addAll(&run, c.Nodes.List())
	addAll(&run, c.CSINodes.List())
	addAll(&run, c.Capacities.List())
	addAll(&run, c.Volumes.List())
	addAll(&run, c.Claims.List())
	addAll(&run, c.Pods.List())
	addAll(&run, c.Attachments.List())
	addAll(&run, c.Events())
	return run
}

func addAll[T api.Object](run *Run, objs []T) {
	for _, obj := range objs {
		run.Objects = append(run.Objects, obj)
	}
}
