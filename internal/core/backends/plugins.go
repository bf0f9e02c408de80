package backends

import (
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/storage"
)

// ErrNoPluginMatched is the error of every lookup by source when no in-tree plugin supports the source (RECL-035).
var ErrNoPluginMatched = errors.New("no volume plugin matched")

// ByName returns the in-tree plugin with that name. It does not find CSI drivers, because they are not compiled into the controllers.
func (s *Set) ByName(name string) (storage.Backend, error) {
	at, found := s.find(name)
	if !found || !s.entries[at].inTree {
		// PROV-024, RECL-032: no such plugin.
		if s.unknown == nil || s.unknown.name != name {
			s.unknown = &unknownPlugin{name}
		}
		return nil, s.unknown
	}
	return s.entries[at].backend, nil
}

// unknownPlugin is the error for the name of a plugin that does not exist.
type unknownPlugin struct{ name string }

func (e *unknownPlugin) Error() string { return "no volume plugin matched name: " + e.name }

// ProvisionableByName returns the in-tree plugin with that name if it can create volumes. PROV-024 lists the errors.
func (s *Set) ProvisionableByName(name string) (storage.Backend, error) {
	// PROV-024: a plugin that exists but cannot provision is another error.
	return able(storage.Create, "no provisionable volume plugin matched")(s.ByName(name))
}

// DeletableByName returns the in-tree plugin with that name if it can delete volumes (RECL-030). RECL-032 lists the errors.
func (s *Set) DeletableByName(name string) (storage.Backend, error) {
	// RECL-030, RECL-032: a plugin that cannot delete is another error.
	return able(storage.Delete, noDeletable)(s.ByName(name))
}

// DeletableBySource returns the in-tree plugin that supports the source if it can delete volumes. RECL-035 lists the errors.
func (s *Set) DeletableBySource(source *corev1.PersistentVolumeSource) (storage.Backend, error) {
	// RECL-035: exactly one plugin must support the source, and be able to delete.
	return able(storage.Delete, noDeletable)(s.BySource(source))
}

// RecyclableBySource returns the in-tree plugin that supports the source if it can recycle volumes. The controller replaces all errors by
// its own text (RECL-064).
func (s *Set) RecyclableBySource(source *corev1.PersistentVolumeSource) (storage.Backend, error) {
	// RECL-064: the plugin must be able to recycle.
	return able(storage.Recycle, "no recyclable volume plugin matched")(s.BySource(source))
}

// ExpandableBySource returns the in-tree plugin that supports the source if it can expand volumes; nil without an error if there is none
// (EXP-014).
func (s *Set) ExpandableBySource(source *corev1.PersistentVolumeSource) (storage.Backend, error) {
	b, err := s.BySource(source)
	// EXP-014: no plugin is no error, because a CSI driver may expand the volume.
	if errors.Is(err, ErrNoPluginMatched) || err == nil && !Can(b, storage.Expand) {
		return nil, nil
	}
	return b, err
}

const noDeletable = "no deletable volume plugin matched"

// able returns a function that replaces the result of a lookup by an error unless the plugin can do op.
func able(op storage.Op, otherwise string) func(storage.Backend, error) (storage.Backend, error) {
	return func(b storage.Backend, err error) (storage.Backend, error) {
		switch {
		case err != nil:
			return nil, err
		case !Can(b, op):
			return nil, errors.New(otherwise)
		}
		return b, nil
	}
}

// BySource returns the one in-tree plugin that supports the source. The error is [ErrNoPluginMatched] for none; for several it lists
// their names, sorted (SIM: upstream lists them in random order). It also returns an error if a plugin panics.
func (s *Set) BySource(source *corev1.PersistentVolumeSource) (storage.Backend, error) {
	var match storage.Backend
	var names []string
	for _, e := range s.entries {
		plugin, ok := e.backend.(InTreePlugin)
		if !ok {
			continue
		}
		supports := false
		if err := Safely(e.name, "Supports", func() error { supports = plugin.Supports(source); return nil }); err != nil {
			return nil, err
		}
		if supports {
			match = e.backend
			names = append(names, e.name)
		}
	}
	switch len(names) {
	case 0:
		return nil, ErrNoPluginMatched
	case 1:
		return match, nil
	}
	return nil, fmt.Errorf("multiple volume plugins matched: %s", strings.Join(names, ","))
}
