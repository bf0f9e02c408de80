package backendtest

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/storage"
)

// Option sets a property of the check.
type Option func(*config)

type config struct {
	static string
	source *corev1.PersistentVolumeSource
}

// Static sets the volume that every new backend already has. A backend that cannot create volumes is checked with it; the default is
// "backendtest-static". The source, which in-tree plugins read, can be nil.
func Static(id string, source *corev1.PersistentVolumeSource) Option {
	return func(c *config) { c.static, c.source = id, source }
}

// T has the methods of *testing.T that the checks need.
type T interface {
	Helper()
	Errorf(format string, args ...any)
}

// Run calls newBackend for each check, which is a subtest. All backends must be alike.
func Run(t *testing.T, newBackend func() storage.Backend, opts ...Option) {
	t.Helper()
	if newBackend == nil {
		t.Fatal("Run(nil); pass a function that returns a new backend")
	}
	for _, c := range checksFor(newBackend, opts) {
		t.Run(c.name, func(t *testing.T) { c.verify(t, newBackend) })
	}
}

// check is one part of the contract.
type check struct {
	name  string
	needs []storage.Op               // operations that the backend must support; if it does not, the check is skipped
	only  func(storage.Backend) bool // another condition; nil is none
	run   func(s *subject) error
}

// bound is a check with the options of Run.
type bound struct {
	check
	config config
}

// checksFor returns the checks that apply to the backend.
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
		t.Errorf("%s: the function returned a nil backend", c.name)
		return
	}
	if err := backends.Safely("under test", storage.Op(c.name), func() error { return c.run(s) }); err != nil {
		t.Errorf("%s: %v", c.name, err)
	}
}
