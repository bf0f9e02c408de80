package workload

import "time"

// expectationsEnd is how long a controller waits for its informer to deliver what it did (WORK-008).
const expectationsEnd = 5 * time.Minute

// Expectations counts the creations and deletions of pods that a controller has begun and its informer has not delivered (WORK-008).
type Expectations struct{ byKey map[string]*expected }

type expected struct {
	creations, deletions int
	// deleted are the uids of the pods of the deletions.
	deleted map[string]bool
	since   time.Time
}

// NewExpectations returns Expectations without any.
func NewExpectations() *Expectations { return &Expectations{map[string]*expected{}} }

// Creations replaces the expectations of a key by n creations.
func (e *Expectations) Creations(key string, n int, now time.Time) {
	e.byKey[key] = &expected{creations: n, since: now}
}

// Deletions replaces the expectations of a key by the deletions of pods with these uids.
func (e *Expectations) Deletions(key string, uids []string, now time.Time) {
	x := &expected{deletions: len(uids), deleted: map[string]bool{}, since: now}
	for _, uid := range uids {
		x.deleted[uid] = true
	}
	e.byKey[key] = x
}

// Set replaces the expectations of a key by creations and deletions of any pods.
func (e *Expectations) Set(key string, creations, deletions int, now time.Time) {
	e.byKey[key] = &expected{creations: creations, deletions: deletions, since: now}
}

// AnyDeleted counts a deletion that the informer delivered, or that failed. A pod may count several times: when its deletion begins, when it
// changes, and when it is gone.
func (e *Expectations) AnyDeleted(key string) {
	if x := e.byKey[key]; x != nil {
		x.deletions--
	}
}

// Created counts a creation that the informer delivered, or that failed.
func (e *Expectations) Created(key string) {
	if x := e.byKey[key]; x != nil {
		x.creations--
	}
}

// Deleted counts the deletion of a pod that the informer delivered, or that failed. Each pod counts once.
func (e *Expectations) Deleted(key, uid string) {
	if x := e.byKey[key]; x != nil && x.deleted[uid] {
		delete(x.deleted, uid)
		x.deletions--
	}
}

// Forget removes what is expected for a key.
func (e *Expectations) Forget(key string) { delete(e.byKey, key) }

// Met reports whether nothing is expected for a key.
func (e *Expectations) Met(key string, now time.Time) bool {
	x := e.byKey[key]
	// WORK-008: after five minutes the controller no longer waits.
	return x == nil || x.creations <= 0 && x.deletions <= 0 || now.Sub(x.since) > expectationsEnd
}
