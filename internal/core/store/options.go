package store

import "github.com/volsim/volsim/api"

// CreateOptions changes how an object is created. The zero value is the default of clients.
type CreateOptions struct {
	// SkipValidation stores the object even if an API server would reject it as Invalid; default false. Defaults and admission still
	// apply. Use it to study what controllers do with objects that should not exist.
	SkipValidation bool
	// DryRun does everything except storing the object; default false.
	DryRun bool
	// Owned: the object was made for this call alone. The store owns it from then on, whatever the result is; default false: it is copied.
	Owned bool
	// Tried is the result of Prepare for the object, or of Try for an equal one. While it holds, the object is not completed and validated
	// again, or not validated again. The default is that it was not tried. An object whose Prepare no longer holds must not be created.
	Tried Tried
	// Admit changes the new object after its fields got their manager, or rejects it. Nil does nothing.
	Admit func(obj api.Object) error
}

// Tried says that the API server would accept an object, in the state that the store had then. It holds until an object that admission may
// read is written: one of another kind, other than a volume, a claim or a pod.
type Tried struct {
	accepted bool
	key      string // of an object that is complete; see Prepare
	read     uint64 // see table.mayRead
}

// Key returns the key of the object of Prepare; "" for Try.
func (t Tried) Key() string { return t.key }

// UpdateOptions changes how an object is updated. The zero value is the default of clients.
type UpdateOptions struct {
	// SkipValidation stores the object even if an API server would reject it as Invalid; default false. Conflicts, defaults and
	// admission still apply.
	SkipValidation bool
	// Patched: the object is the stored one with a patch applied, so another uid is an invalid change and not a Conflict; default false.
	Patched bool
	// Owned: the object was made for this call alone; default false. The store owns it from then on, whatever the result is.
	Owned bool
	// Absent, if set, creates the object with these options if there is none; by default, nil, that is the error NotFound.
	Absent *CreateOptions
}
