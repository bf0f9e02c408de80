package check

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/volsim/volsim/trace"
)

// Invariant is a statement that holds in every cluster whose controllers, kubelets and drivers work correctly. All lists those of this
// package. To define one, set Name, Description and Watch:
//
//	check.Invariant{
//		Name:        "no-lost-claims",
//		Description: "no claim is ever Lost",
//		Watch: func(v *check.View) check.Watcher {
//			return check.Watcher{Written: func(e trace.Entry) {
//				if claim, ok := e.New.(*corev1.PersistentVolumeClaim); ok && claim.Status.Phase == corev1.ClaimLost {
//					v.Report("claim "+e.Object.Key+" is Lost", e)
//				}
//			}}
//		},
//	}
type Invariant struct {
	// Name identifies it, such as "one-writer". It is unique within a Config.
	Name string
	// Description states the invariant as a sentence.
	Description string
	// Rules are the IDs of the rules that ensure it; empty is allowed.
	Rules []string
	// Exceptions lists what the invariant does not cover because Kubernetes does not promise it, each with the reason.
	Exceptions []string
	// Within is how long something may take to become true, for an invariant that has a time limit; zero: it holds at every moment. The time
	// of an invariant of All can be changed in a copy.
	Within time.Duration
	// Watch starts watching one cluster, which is still empty. It is nil for the invariants of All.
	Watch func(v *View) Watcher

	watch func(inv *watched, s *state) Watcher
}

// watched holds the facts about one invariant.
type watched struct {
	Name   string
	Within time.Duration
	watch  uintptr // identifies Invariant.watch; zero for an invariant that is not of this package
}

// watchedOf returns the facts about an invariant.
func watchedOf(inv *Invariant) watched {
	w := watched{Name: inv.Name, Within: inv.Within}
	if inv.watch != nil {
		w.watch = reflect.ValueOf(inv.watch).Pointer()
	}
	return w
}

// Watcher has the functions that are called as things happen; nil functions are skipped. The View is up to date when they are called.
type Watcher struct {
	// Called is called with each storage call that ended, failed or not, and with the begin of calls that take time.
	Called func(e trace.Entry)
	// Written is called with each API write that changed an object.
	Written func(e trace.Entry)
	// Passed is called when virtual time has advanced, and before violations are returned.
	Passed func(now time.Time)

	// called and written are like Called and Written. The entry is valid during the call.
	called, written func(e *trace.Entry)
	// due are the deadlines that are checked in place of Passed.
	due *deadlines
	// changed is called with each volume whose uses, or the pods that need it, changed.
	changed func(id volumeID)
	// forget makes the watcher that of an empty cluster; nil: it remembers nothing.
	forget func()
}

// All returns the invariants of this package, in a fixed order.
func All() []Invariant {
	return []Invariant{
		oneWriter, oneAttachment,
		attachFirst, stageFirst, unpublishFirst, unmountFirst, inUseFirst, publishToOwner,
		nothingLeft, podsGo,
		noLeak, oneCreate, wantedDataStays, usedDataStays,
		noOrphanedContent, restoredData,
		boundOnce, boundBothWays, protected, knownPhases, oneIdentity,
		expandedFirst, allocatedEnough,
	}
}

// Named returns the invariants of All with these names, in this order. It returns an error for an unknown name.
func Named(names ...string) ([]Invariant, error) {
	all := All()
	picked := make([]Invariant, 0, len(names))
	for _, name := range names {
		i := slices.IndexFunc(all, func(inv Invariant) bool { return inv.Name == name })
		if i < 0 {
			known := make([]string, len(all))
			for j, inv := range all {
				known[j] = inv.Name
			}
			return nil, fmt.Errorf("check: unknown invariant %q; known are %q", name, known)
		}
		picked = append(picked, all[i])
	}
	return picked, nil
}
