package backends

import (
	"fmt"

	"github.com/volsim/volsim/internal/core/guard"
	"github.com/volsim/volsim/storage"
)

// PanicError is the error of a call to a backend that panicked. Its code is Internal.
type PanicError struct {
	Backend string
	Op      storage.Op
	Value   any // the argument of panic
	// Stack lists the active functions of the call, the innermost first, one per line as "function file.go:line". It is the same in all runs
	// and on all computers, and has no functions of the runtime.
	Stack string
}

// Error names the backend, the operation and the value. The text is the same in all runs.
func (e *PanicError) Error() string {
	return fmt.Sprintf("backend %s: %s panicked: %s", e.Backend, e.Op, guard.Text(e.Value))
}

// Unwrap returns the value, if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// BackendPanicked makes [storage.CodeOf] return Internal.
func (e *PanicError) BackendPanicked() {}

// Safely calls a backend and turns a panic into a [PanicError]. No virtual time may pass in the call.
func Safely(backend string, op storage.Op, call func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &PanicError{Backend: backend, Op: op, Value: value, Stack: guard.Stack(guardName)}
		}
	}()
	return call()
}

// ask calls a method that returns a value, of a backend. The value is zero if the method panics.
func ask[T any](b storage.Backend, method storage.Op, call func() T) (value T, err error) {
	err = Safely(b.Name(), method, func() error { value = call(); return nil })
	return value, err
}

const guardName = "github.com/volsim/volsim/internal/core/backends.Safely"
