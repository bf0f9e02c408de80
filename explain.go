package volsim

import (
	"fmt"

	"github.com/volsim/volsim/binder"
)

// Explain says why the claim of that key (namespace/name) is in the phase it is in: the rule that decides, every volume that was
// considered with the first rule that refused it, and who has to act next. A claim that does not exist is an error for which
// apierrors.IsNotFound holds.
func (c *Cluster) Explain(claim string) (binder.Explanation, error) {
	s := c.engine.Store()
	obj, err := s.Claims.Get(claim)
	if err != nil {
		return binder.Explanation{}, fmt.Errorf("explain %s: %w", claim, err)
	}
	return binder.Explain(obj.DeepCopy(), binder.World{
		Volumes:             s.Volumes.List(),
		Classes:             s.Classes.List(),
		Pods:                s.Pods.List(),
		DisableProvisioning: c.cfg.DisableProvisioning,
	}), nil
}
