package engine

import "github.com/volsim/volsim/internal/core/guard"

// PanicError reports that an operation panicked (BIND-095).
type PanicError struct {
	Operation string
	Value     any // what it panicked with
	// Stack lists the active functions, innermost first, one per line as "function file.go:line". It is the same in all runs and on all
	// machines.
	Stack string
}

// Error names the operation and the value, without memory addresses.
func (e *PanicError) Error() string {
	return "operation " + e.Operation + " panicked: " + guard.Text(e.Value)
}

// Unwrap is the value, if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// guarded runs an operation and turns a panic into a PanicError. The unwinding of a killed process and runtime.Goexit go on.
func guarded(p *Process, name string) (err error) {
	defer func() {
		switch value := recover().(type) {
		case nil:
		case killed:
			panic(value)
		default:
			// BIND-095: a panic is an error of the operation.
			err = &PanicError{Operation: name, Value: value, Stack: guard.Stack(guardName)}
		}
	}()
	if p.rest != nil {
		return p.goesOnThen()
	}
	return p.code(p)
}

const guardName = "github.com/volsim/volsim/internal/core/engine.guarded"
