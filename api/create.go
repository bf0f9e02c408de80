package api

// CreateOptions changes how an object is created. The zero value is what a client does.
type CreateOptions struct {
	// SkipValidation stores the object even if a real API server would refuse it; defaults and admission still apply.
	// It is for studying what controllers do with objects that should not exist.
	SkipValidation bool
	// DryRun does everything but store the object.
	DryRun bool
}
