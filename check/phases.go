package check

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/trace"
)

var knownPhases = Invariant{
	Name:        "known-phase-changes",
	Description: "the phases of claims, PersistentVolumes and pods change only along known transitions",
	Rules:       []string{"BIND-074", "BIND-077", "BIND-078", "BIND-079", "MNT-388", "MNT-374"},
	Exceptions: []string{"phases that users write",
		"a phase Failed that pod GC wrote: the kubelet, which has not seen it yet, writes its own again"},
	watch: func(inv *watched, s *state) Watcher {
		var failedByGC map[types.UID]bool
		return Watcher{forget: func() { clear(failedByGC) }, written: func(e *trace.Entry) {
			ways, known := phaseWays[e.Object.Kind]
			if !known || e.Old == nil || e.New == nil || api.IsUser(e.Actor) || e.Old.GetUID() != e.New.GetUID() {
				return
			}
			from, to := phaseOf(e.Old), phaseOf(e.New)
			if from == to {
				return
			}
			// MNT-374: only pod GC fails a pod without its kubelet.
			uid := e.New.GetUID()
			byGC := failedByGC[uid]
			delete(failedByGC, uid)
			if e.Actor == actors.PodGC {
				set(&failedByGC, uid, true)
			}
			if byGC || slices.Contains(ways[from], to) {
				return
			}
			v := Violation{
				Objects: []api.Ref{e.Object},
				Text:    fmt.Sprintf("%s changes from phase %q to phase %q", e.Object, from, to),
			}
			v.Forced, v.Witness = s.userEdit(e.Object)
			v.Witness = append(v.Witness, *e)
			s.report(inv, v)
		}}
	},
}

// phaseWays has the possible next phases of each phase.
var phaseWays = map[api.Kind]map[string][]string{
	api.PersistentVolume: {
		"":          {"Pending", "Available", "Bound", "Released"},
		"Pending":   {"Available", "Bound", "Released"},
		"Available": {"Bound", "Released"},
		"Bound":     {"Released", "Available"},
		"Released":  {"Available", "Bound", "Failed"},
		"Failed":    {"Available", "Bound"},
	},
	api.PersistentVolumeClaim: {
		"":        {"Pending", "Bound", "Lost"},
		"Pending": {"Bound", "Lost"},
		"Bound":   {"Lost"},
		"Lost":    {"Bound"},
	},
	api.Pod: {
		"":        {"Pending", "Running", "Succeeded", "Failed"},
		"Pending": {"Running", "Succeeded", "Failed"},
		"Running": {"Succeeded", "Failed"},
	},
}

func phaseOf(obj api.Object) string {
	switch obj := obj.(type) {
	case *corev1.PersistentVolume:
		return string(obj.Status.Phase)
	case *corev1.PersistentVolumeClaim:
		return string(obj.Status.Phase)
	case *corev1.Pod:
		return string(obj.Status.Phase)
	}
	return ""
}
