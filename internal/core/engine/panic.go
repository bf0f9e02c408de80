package engine

import "github.com/volsim/volsim/internal/core/guard"

// PanicError says that an operation panicked (BIND-095).
type PanicError struct {
	Operation string
	Value     any // what it panicked with
	// Stack holds the functions that were active, the innermost first, one per line as "function file.go:line". Nothing in it
	// differs between runs or machines.
	Stack string
}

// Error names the operation and the value, without the addresses that a printed pointer would show.
func (e *PanicError) Error() string {
	return "operation " + e.Operation + " panicked: " + guard.Text(e.Value)
}

// Unwrap is the value, if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// guarded runs an operation; a panic in it becomes a PanicError. The end of the process by a crash of its actor goes on, and so
// does runtime.Goexit, which is no panic.
func guarded(p *Proc, name string, fn func(*Proc) error) (err error) {
	defer func() {
		switch value := recover().(type) {
		case nil:
		case killed:
			panic(value)
		default:
			// BIND-095: it failed, that is all.
			err = &PanicError{Operation: name, Value: value, Stack: guard.Stack(guardName)}
		}
	}()
	return fn(p)
}

const guardName = "github.com/volsim/volsim/internal/core/engine.guarded"
