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
	return injectors{c.Faults, c.cfg.Injector}
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

// Active implements engine.FaultPredictor.
func (both injectors) Active(actor string) bool {
	predictor, ok := both.second.(engine.FaultPredictor)
	return !ok || both.first.Active(actor) || predictor.Active(actor)
}
