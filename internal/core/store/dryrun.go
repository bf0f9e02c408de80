package store

// DryRun calls fn. Writes that fn makes return what they would return otherwise, and their errors, but store nothing: the objects get no
// new resourceVersion, and watches see nothing.
func (s *Store) DryRun(fn func()) {
	outer := s.dry
	s.dry = true
	defer func() { s.dry = outer }()
	fn()
}
