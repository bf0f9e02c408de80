package backendtest

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/storage"
)

// Option changes how a backend is checked.
type Option func(*config)

type config struct {
	static string
	source *corev1.PersistentVolumeSource
}

// Static names a volume that every new backend has: what cannot create volumes is checked with it. Without this option it is
// "backendtest-static". The source, which in-tree plugins may look at, can be nil.
func Static(id string, source *corev1.PersistentVolumeSource) Option {
	return func(c *config) { c.static, c.source = id, source }
}

// T is what the checks need of a *testing.T.
type T interface {
	Helper()
	Errorf(format string, args ...any)
}

// Run checks backends that newBackend makes: a fresh one for every check, all of them alike. Each check is a subtest.
func Run(t *testing.T, newBackend func() storage.Backend, opts ...Option) {
	t.Helper()
	if newBackend == nil {
		t.Fatal("Run(nil): it needs a function that makes a backend")
	}
	for _, c := range checksFor(newBackend, opts) {
		t.Run(c.name, func(t *testing.T) { c.verify(t, newBackend) })
	}
}

// check is one promise.
type check struct {
	name  string
	needs []storage.Op               // what the backend must be able to do for the check to apply
	only  func(storage.Backend) bool // what else it must be; nil is nothing
	run   func(s *subject) error
}

// bound is a check with the options of a run.
type bound struct {
	check
	config config
}

// checksFor are the checks that apply to such a backend.
func checksFor(newBackend func() storage.Backend, opts []Option) []bound {
	cfg := config{static: "backendtest-static"}
	for _, opt := range opts {
		opt(&cfg)
	}
	var apply []bound
	probe := newBackend()
next:
	for _, c := range checks() {
		for _, op := range c.needs {
			if !backends.Can(probe, op) {
				continue next
			}
		}
		if c.only != nil && !c.only(probe) {
			continue
		}
		apply = append(apply, bound{c, cfg})
	}
	return apply
}

func checks() []check {
	all := general
	for _, more := range [][]check{volumes, mounts, data} {
		all = append(all[:len(all):len(all)], more...)
	}
	return all
}

func (c bound) verify(t T, newBackend func() storage.Backend) {
	t.Helper()
	s := &subject{newBackend: newBackend, b: newBackend(), config: c.config}
	if s.b == nil {
		t.Errorf("%s: the function made a nil backend", c.name)
		return
	}
	if err := backends.Safely("under test", storage.Op(c.name), func() error { return c.run(s) }); err != nil {
		t.Errorf("%s: %v", c.name, err)
	}
}
