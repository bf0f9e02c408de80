package reclaim

import (
	"fmt"

	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
)

// New is for package volsim: callers use volsim.New.
// It adds the controller of that name: actors.PVProtection, PVCProtection, Ephemeral or RecyclerPodRunner. Only the last
// uses the backends; a nil set has none, and then every recycler pod fails. Workers are as many as in kube-controller-manager.
func New(e *engine.Engine, name string, set *backends.Set) (*engine.Actor, error) {
	switch name {
	case actors.PVProtection:
		return newPVProtection(e)
	case actors.PVCProtection:
		return newPVCProtection(e)
	case actors.Ephemeral:
		return newEphemeral(e)
	case actors.RecyclerPodRunner:
		return newPodRunner(e, set)
	}
	return nil, fmt.Errorf("reclaim: start %q: no such controller", name)
}
