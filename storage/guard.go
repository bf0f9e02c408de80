package storage

import "fmt"
import "github.com/volsim/volsim/internal/core/guard"

// PanicError says that a backend panicked. Its code is Internal.
type PanicError struct {
	Backend string
	Op      Op
	Value   any // what it panicked with
	// Stack holds the functions that were active, the innermost first, one per line as "function file.go:line". It has nothing
	// that differs between runs or machines, and neither the runtime's functions nor those outside the backend's call.
	Stack string
}

// Error names the backend, the operation and the value, without anything that differs between runs.
func (e *PanicError) Error() string {
	return fmt.Sprintf("backend %s: %s panicked: %s", e.Backend, e.Op, guard.Text(e.Value))
}

// Unwrap is the value, if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Safely makes a call to a backend; should it panic, the panic becomes a [PanicError]. The call must be the backend's alone: no
// virtual time may pass in it.
func Safely(backend string, op Op, call func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &PanicError{Backend: backend, Op: op, Value: value, Stack: guard.Stack(guardName)}
		}
	}()
	return call()
}

const guardName = "github.com/volsim/volsim/storage.Safely"
