package backends

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/storage"
)

// Set contains the backends of a cluster by name. In-tree plugins are compiled into the controllers; CSI drivers are external to
// them. The zero value is a cluster without storage.
type Set struct {
	entries []entry        // sorted by name
	unknown *unknownPlugin // the last error of ByName: the next one is often about the same name
}

type entry struct {
	name    string
	backend storage.Backend
	inTree  bool
}

// longestDriverName is the limit of CSI.
const longestDriverName = 63

// NewSet returns a set. It returns an error that names the backend for a nil backend, a name that is empty, taken, too long for a CSI
// driver, or the one that means the API server in faults, for an operation that is implemented in part, and for a fake.Memory with invalid
// options.
func NewSet(backends ...storage.Backend) (*Set, error) {
	s := &Set{}
	for i, b := range backends {
		if b == nil {
			return nil, fmt.Errorf("backend %d of %d is nil: remove it", i+1, len(backends))
		}
		e := entry{backend: b}
		if err := Safely(fmt.Sprint(i+1), "Name", func() error { e.name = b.Name(); e.inTree = IsInTree(b); return nil }); err != nil {
			return nil, fmt.Errorf("backend %d of %d (%T) does not return its name: %w", i+1, len(backends), b, err)
		}
		if err := e.check(); err != nil {
			return nil, fmt.Errorf("backend %d of %d (%T): %w", i+1, len(backends), b, err)
		}
		at, found := s.find(e.name)
		if found {
			return nil, fmt.Errorf("backend %d of %d (%T): there is another backend named %q; choose another name", i+1, len(backends), b, e.name)
		}
		s.entries = slices.Insert(s.entries, at, e)
	}
	return s, nil
}

// Take makes the backends part of a cluster. It is an error if a fake.Memory has volumes of another one.
func (s *Set) Take() error {
	for _, e := range s.entries {
		if owned, ok := e.backend.(interface{ Take() error }); ok {
			if err := owned.Take(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e entry) check() error {
	switch {
	case e.name == "":
		return errors.New("its name is empty; name it like a CSI driver (disk.example.com) or an in-tree plugin (kubernetes.io/disk)")
	case e.name == api.APIServer:
		return fmt.Errorf("the name %q means the API server in faults; choose another name", e.name)
	case !e.inTree && len(e.name) > longestDriverName:
		return fmt.Errorf("the name %q has %d characters; the name of a CSI driver may have %d", e.name, len(e.name), longestDriverName)
	}
	if err := errors.Join(checkMethods(e.backend), checkCapabilities(e.backend)); err != nil {
		return err
	}
	if checked, ok := e.backend.(interface{ Err() error }); ok {
		return checked.Err()
	}
	return nil
}

func (s *Set) find(name string) (int, bool) {
	return slices.BinarySearchFunc(s.entries, name, func(e entry, name string) int { return strings.Compare(e.name, name) })
}

// All iterates over the backends, in-tree or not, in the order of their names.
func (s *Set) All() iter.Seq2[string, storage.Backend] {
	return func(yield func(string, storage.Backend) bool) {
		for _, e := range s.entries {
			if !yield(e.name, e.backend) {
				return
			}
		}
	}
}

// Get returns the backend of that name, in-tree or not.
func (s *Set) Get(name string) (storage.Backend, bool) {
	at, found := s.find(name)
	if !found {
		return nil, false
	}
	return s.entries[at].backend, true
}

// Has reports whether there is a backend of that name that can do op.
func (s *Set) Has(name string, op storage.Op) bool {
	b, ok := s.Get(name)
	return ok && Can(b, op)
}

// Driver returns the CSI driver of that name.
func (s *Set) Driver(name string) (storage.Backend, bool) {
	at, found := s.find(name)
	if !found || s.entries[at].inTree {
		return nil, false
	}
	return s.entries[at].backend, true
}
