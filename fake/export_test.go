package fake

// Describe returns the text of the rule in Unused.
func (r *Rule) Describe() string { return r.describe() }
