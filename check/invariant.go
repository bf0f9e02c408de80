package check

import (
	"fmt"
	"slices"
	"time"

	"github.com/volsim/volsim/trace"
)

// Invariant is something that is true of every cluster whose controllers, kubelets and drivers do what they should.
type Invariant struct {
	// Name identifies it: "one-writer".
	Name string
	// Says is the invariant as a sentence.
	Says string
	// Rules are the IDs of the rules that bring it about.
	Rules []string
	// Except is what it does not cover, because Kubernetes does not promise it, each with the reason.
	Except []string
	// Within is how long something may take to become true, where that is what the invariant is about. Zero: it holds at every moment.
	// A copy with another Within may be given to Config instead.
	Within time.Duration
	// Watch begins to watch one cluster that is still empty.
	Watch func(inv Invariant, w *World) Watcher
}

// Watcher is what an invariant wants to hear of. Fields may be nil. The World is up to date when they are called.
type Watcher struct {
	// Called gets each call to a storage backend that ended, failed or not; one that takes time also as it begins.
	Called func(e trace.Entry)
	// Written gets each API write that changed an object.
	Written func(e trace.Entry)
	// Changed gets each volume of which something changed: who uses it, or who wants it.
	Changed func(id VolumeID)
	// Passed is called when the clock has moved, and before violations are read.
	Passed func()
}

// All lists every invariant there is here, in a fixed order.
func All() []Invariant {
	return []Invariant{
		oneWriter, oneAttachment,
		attachFirst, stageFirst, unpublishFirst, unmountFirst, inUseFirst, publishToOwner,
		nothingLeft, podsGo,
		noLeak, oneCreate, wantedDataStays, usedDataStays,
		boundOnce, boundBothWays, protected, knownPhases,
		grownFirst, allocatedEnough,
	}
}

// Named are the invariants of these names, in this order. A name that does not exist is an error.
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
			return nil, fmt.Errorf("check: there is no invariant %q: there are %q", name, known)
		}
		picked = append(picked, all[i])
	}
	return picked, nil
}

// Without is All but for the invariants of these names. A name that does not exist is an error.
func Without(names ...string) ([]Invariant, error) {
	if _, err := Named(names...); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(All(), func(inv Invariant) bool { return slices.Contains(names, inv.Name) }), nil
}
