package fake

import (
	"maps"
	"slices"

	"github.com/volsim/volsim/storage"
)

// Modify sets parameters of the volume. Parameters that are not [Mutable] give code InvalidArgument, and then none is set.
func (m *model) Modify(req storage.ModifyRequest) error {
	id, parameters := req.ID, req.Parameters
	if err := m.check(storage.Modify, "ID", id); err != nil {
		return err
	}
	v, err := m.find(id)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		if m.mutable != nil && !slices.Contains(m.mutable, name) {
			return m.fail(storage.InvalidArgument, "the parameter %s of volume %s cannot be changed, only %v", name, id, m.mutable)
		}
	}
	if v.modified == nil {
		v.modified = map[string]string{}
	}
	maps.Copy(v.modified, parameters)
	m.store(v)
	return nil
}
