package fake

// Describe returns the text of the rule in Unused.
func (r *Rule) Describe() string { return r.describe() }

// Writers returns the publications through which the volume can be written.
func (m *Memory) Writers(id string) []Use {
	v, ok := m.model.volumes[id]
	if !ok {
		return nil
	}
	return m.model.writers(v)
}
