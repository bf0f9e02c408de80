package engine

import (
	"fmt"

	"github.com/volsim/volsim/internal/core/guard"
)

// Panic is the panic of a process: its value, and the stack of the process. The function that runs the engine, which has another stack, panics
// with it. The engine can go on. The panic of an operation is an error instead; see PanicError.
type Panic struct {
	Value any
	Stack string // as in PanicError
}

// Error is the value and the stack, as the runtime prints them of a program that ends.
func (p *Panic) Error() string { return fmt.Sprintf("%v\n\n%s", p.Value, p.Stack) }

// Unwrap is the value, if it is an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// panicOf is a panic with its value and stack. One that goes from one coroutine to another keeps its stack.
func panicOf(value any, stack string) *Panic {
	if p, ok := value.(*Panic); ok {
		return p
	}
	return &Panic{value, stack}
}

const (
	loopRecoveringName = "github.com/volsim/volsim/internal/core/engine.(*coroutine).loopRecovering"
	resumeInPlaceName  = "github.com/volsim/volsim/internal/core/engine.(*coroutine).resumeInPlace"
)

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
	if p.then != nil {
		return p.runThen()
	}
	return p.code(p)
}

const guardName = "github.com/volsim/volsim/internal/core/engine.guarded"
