package fake

import (
	"maps"
	"slices"

	"github.com/volsim/volsim/storage"
)

// Modify gives the volume the parameters, besides those that it was given before. Those that are not [Mutable] are code
// InvalidArgument, and then none is changed.
func (m *model) Modify(id string, parameters map[string]string) error {
	if err := m.check(storage.Modify, "ID", id); err != nil {
		return err
	}
	v, err := m.use(id)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		if m.mutable != nil && !slices.Contains(m.mutable, name) {
			return m.refuse(storage.InvalidArgument, "the parameter %s of volume %s cannot be changed, only %v", name, id, m.mutable)
		}
	}
	if v.modified == nil {
		v.modified = map[string]string{}
	}
	maps.Copy(v.modified, parameters)
	m.keep(v)
	return nil
}
