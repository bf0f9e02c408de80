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
	// Tried is the result of Try for an equal object. The object is not validated again if no object of another kind was written since. The
	// default is that it was not tried.
	Tried Tried
	// Admit changes the new object after its fields got their manager, or rejects it. Nil does nothing.
	Admit func(obj api.Object) error
	// PodPriority sets the priority of a pod without a class to 0, as an API server does; default false: it stays unset.
	PodPriority bool
}

// Tried says that the API server would accept an object, in the state that the store had then. Other kinds may change what admission makes of the
// object; objects of its own kind do not.
type Tried struct {
	accepted        bool
	version, writes uint64 // of the store, and of the objects of that kind
}

// UpdateOptions changes how an object is updated. The zero value is the default of clients.
type UpdateOptions struct {
	// SkipValidation stores the object even if an API server would reject it as Invalid; default false. Conflicts, defaults and
	// admission still apply.
	SkipValidation bool
	// Patched: the object is the stored one with a patch applied, so another uid is an invalid change and not a Conflict; default false.
	Patched bool
	// Owned: the object was made for this call alone; default false. The store owns it from then on, whatever the result is.
	Owned bool
}
