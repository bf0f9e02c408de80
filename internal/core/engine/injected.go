package engine

import (
	"strings"

	"github.com/volsim/volsim/api"
)

// InjectorFunc is an Injector that cannot say which calls its faults match.
type InjectorFunc func(api.Call) api.Fault

// Inject calls f.
func (f InjectorFunc) Inject(call api.Call) api.Fault { return f(call) }

// NoFault reports whether the fault changes nothing.
func NoFault(f api.Fault) bool { return f.Delay <= 0 && f.Err == nil && !f.Crash }

// FaultText describes a fault for the trace.
func FaultText(f api.Fault) string {
	var parts []string
	if f.Delay > 0 {
		parts = append(parts, "delay "+f.Delay.String())
	}
	if f.Err != nil {
		lost := ""
		if f.Effect {
			lost = " (it took effect)"
		}
		parts = append(parts, "error "+f.Err.Error()+lost)
	}
	if f.Crash {
		parts = append(parts, "crash, restart after "+f.Restart.String())
	}
	return strings.Join(parts, ", ")
}
