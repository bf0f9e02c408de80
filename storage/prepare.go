package storage

// Preparer is an in-tree plugin that may refuse to provision before it is asked to: "Failed to create provisioner" (PROV-044).
type Preparer interface {
	Prepare(CreateRequest) error
}

// PrepareCreate asks a [Preparer]; any other backend has nothing against it.
func PrepareCreate(b Backend, req CreateRequest) error {
	preparer, ok := b.(Preparer)
	if !ok {
		return nil
	}
	return Safely(b.Name(), "Prepare", func() error { return preparer.Prepare(req) })
}
