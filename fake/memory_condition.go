package fake

import (
	"slices"

	"github.com/volsim/volsim/storage"
)

// SetCondition implements Memory.SetCondition.
func (m *model) SetCondition(id, node, problem string) error {
	v, err := m.find(id)
	if err != nil {
		return err
	}
	if v.conditions == nil {
		v.conditions = map[string]string{}
	}
	v.conditions[node] = problem
	m.store(v)
	return nil
}

// NodeCondition returns what is wrong with the volume on the node, else with the volume itself.
func (m *model) NodeCondition(req storage.NodeRequest) (problem string, err error) {
	if err := m.check(storage.NodeCondition, "ID", req.ID, "Node", req.Node); err != nil {
		return "", err
	}
	v, ok := m.volumes[req.ID]
	if !ok || !slices.ContainsFunc(v.published, func(u Use) bool { return u.Node == req.Node }) {
		return "", m.fail(storage.NotFound, "volume %s is not published on node %s", req.ID, req.Node)
	}
	if problem := v.conditions[req.Node]; problem != "" {
		return problem, nil
	}
	return v.conditions[""], nil
}

// GetCondition returns what is wrong with the volume.
func (m *model) GetCondition(id string) (problem string, err error) {
	if err := m.check(storage.GetCondition, "ID", id); err != nil {
		return "", err
	}
	v, err := m.find(id)
	if err != nil {
		return "", err
	}
	return v.conditions[""], nil
}

// ListConditions returns what is wrong with each volume that the backend has.
func (m *model) ListConditions() (map[string]string, error) {
	if err := m.check(storage.ListConditions); err != nil {
		return nil, err
	}
	problems := map[string]string{}
	for id, v := range m.volumes {
		problems[id] = v.conditions[""]
	}
	return problems, nil
}
