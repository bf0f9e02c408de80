package store

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/warnings"
)

// Warned calls fn, and passes to warn the warnings about the writes that fn makes: of each text one, also of writes that turn out to fail
// after validation (API-320). Without it nothing looks for warnings.
func (s *Store) Warned(warn func(text string), fn func()) {
	outer := s.warned
	defer func() { s.warned = outer }()
	s.warned = warned{to: warn}
	fn()
}

// warned is where warnings go to, nil for nowhere, and those that were passed on.
type warned struct {
	to   func(text string)
	seen []string
}

func (w *warned) warn(text string) {
	if w.to != nil && !slices.Contains(w.seen, text) {
		w.seen = append(w.seen, text)
		w.to(text)
	}
}

// warnOf reports the warnings about a valid write to the main resource; old is nil for a new object.
func (t *table[T]) warnOf(obj T, old api.Object) {
	if t.store.warned.to == nil || t.store.asGiven {
		return
	}
	for _, text := range warnings.For(obj, old) {
		t.store.warned.warn(text)
	}
	if t.strategy.Warn != nil {
		before, _ := old.(T)
		for _, text := range t.strategy.Warn(obj, before) {
			t.store.warned.warn(text)
		}
	}
	if t.resource.kind == definitionKind {
		t.store.warnOfDefinition(obj, old)
	}
	if t.resource.custom {
		t.warnOfFinalizers(obj, old)
	}
}

// warnOfFinalizers reports new finalizers of a custom object that have no domain (API-327).
func (t *table[T]) warnOfFinalizers(obj, old api.Object) {
	var known []string
	if old != nil {
		known = old.GetFinalizers()
	}
	for _, name := range addedFinalizers(obj.GetFinalizers(), known) {
		// API-327: another writer could use the same name.
		if name != metav1.FinalizerOrphanDependents && name != metav1.FinalizerDeleteDependents && !hasDomain(name) {
			t.store.warned.warn(fmt.Sprintf("metadata.finalizers: %q: prefer a domain-qualified finalizer name to avoid accidental conflicts with other "+
				"finalizer writers", name))
		}
	}
}
