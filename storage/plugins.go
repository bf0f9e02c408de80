package storage

import "errors"
import "fmt"
import "strings"
import corev1 "k8s.io/api/core/v1"

// ErrNoPluginMatched is the answer of every lookup by source when no in-tree plugin is in charge of it (RECL-035).
var ErrNoPluginMatched = errors.New("no volume plugin matched")

// ByName is the in-tree plugin of that name. CSI drivers are not found: they are no plugins of the controllers.
func (s *Set) ByName(name string) (Backend, error) {
	at, found := s.find(name)
	if !found || !s.entries[at].inTree {
		// PROV-024, RECL-032
		return nil, fmt.Errorf("no volume plugin matched name: %s", name)
	}
	return s.entries[at].backend, nil
}

// ProvisionableByName is the in-tree plugin of that name, a [Creator]. PROV-024 has the errors.
func (s *Set) ProvisionableByName(name string) (Backend, error) {
	// PROV-024: a plugin that is there but cannot provision is another error.
	return able(Create, "no provisionable volume plugin matched")(s.ByName(name))
}

// DeletableByName is the in-tree plugin of that name, a [Deleter] (RECL-030). RECL-032 has the errors.
func (s *Set) DeletableByName(name string) (Backend, error) {
	// RECL-030, RECL-032
	return able(Delete, noDeletable)(s.ByName(name))
}

// DeletableBySource is the in-tree plugin in charge of the source, a [Deleter]. The error is the last part of that in RECL-035.
func (s *Set) DeletableBySource(source *corev1.PersistentVolumeSource) (Backend, error) {
	// RECL-035: exactly one plugin must support the source, and be able to delete.
	return able(Delete, noDeletable)(s.BySource(source))
}

// RecyclableBySource is the in-tree plugin in charge of the source, a [Recycler]. Whatever the error, the controller reports
// its own text (RECL-064).
func (s *Set) RecyclableBySource(source *corev1.PersistentVolumeSource) (Backend, error) {
	// RECL-064
	return able(Recycle, "no recyclable volume plugin matched")(s.BySource(source))
}

// ExpandableBySource is the in-tree plugin in charge of the source, if it is an [Expander]; nil without an error if there is none
// (EXP-014).
func (s *Set) ExpandableBySource(source *corev1.PersistentVolumeSource) (Backend, error) {
	b, err := s.BySource(source)
	// EXP-014: others may expand it, so that is no error.
	if errors.Is(err, ErrNoPluginMatched) || err == nil && !Can(b, Expand) {
		return nil, nil
	}
	return b, err
}

const noDeletable = "no deletable volume plugin matched"

// able narrows the answer of a lookup to plugins that can do op.
func able(op Op, otherwise string) func(Backend, error) (Backend, error) {
	return func(b Backend, err error) (Backend, error) {
		switch {
		case err != nil:
			return nil, err
		case !Can(b, op):
			return nil, errors.New(otherwise)
		}
		return b, nil
	}
}

// BySource is the one in-tree plugin that supports the source. None is [ErrNoPluginMatched], several are an error that names
// them, sorted (SIM: upstream names them in no order), and so is a plugin that panics when asked.
func (s *Set) BySource(source *corev1.PersistentVolumeSource) (Backend, error) {
	var match Backend
	var names []string
	for _, e := range s.entries {
		plugin, ok := e.backend.(Supporter)
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
