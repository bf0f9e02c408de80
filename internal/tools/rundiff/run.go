package rundiff

import (
	"time"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/trace"
)

// Run is one of the two that are compared.
type Run struct {
	// Name is what reports call it.
	Name string
	// Objects are those at the end, Events among them.
	Objects []api.Object
	// Trace is what happened; nil if only the objects are known.
	Trace *trace.Trace
	// Start is the virtual time at which Trace begins.
	Start time.Time
	// Failures are the expectations that failed, a line each.
	Failures []string
}

// Of is the run of a cluster that began at start, as far as it has come.
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
