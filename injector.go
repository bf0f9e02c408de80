package volsim

import (
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/engine"
)

// injector is where the faults of a cluster come from: Faults, and then the injector of the configuration.
func (c *Cluster) injector() api.Injector {
	if c.cfg.Injector == nil {
		return c.Faults
	}
	both := injectors{c.Faults, c.cfg.Injector}
	if foresight, ok := c.cfg.Injector.(engine.Foresight); ok {
		return foreseeing{both, foresight}
	}
	return both
}

// injectors are asked one after the other, until one has a fault.
type injectors struct {
	first  *fake.Faults
	second api.Injector
}

// Inject asks both.
func (both injectors) Inject(call api.Call) api.Fault {
	if fault := both.first.Inject(call); !engine.NoFault(fault) {
		return fault
	}
	return both.second.Inject(call)
}

// foreseeing are injectors of which the second can tell, too, what faults wait for.
type foreseeing struct {
	injectors
	second engine.Foresight
}

// Awaits reports whether one of them has a fault for such calls.
func (both foreseeing) Awaits(call api.Call) bool {
	return both.first.Awaits(call) || both.second.Awaits(call)
}

// OnFault is told of the faults of both.
func (both foreseeing) OnFault(fn func()) {
	both.first.OnFault(fn)
	both.second.OnFault(fn)
}
