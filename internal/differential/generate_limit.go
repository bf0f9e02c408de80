package differential

import (
	"fmt"

	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/store"
)

// GenerateAttachLimit makes up the scenario of a seed with nodes that cannot have as many volumes attached as pods want.
func GenerateAttachLimit(seed uint64) Scenario {
	g := newKubeletGenerator(seed, 14)
	g.limited = true
	return g.scenario()
}

// limit has the driver say how many volumes a node can have, and now and then refuse another one.
func (g *kubeletGenerator) limit(setting *Setting) {
	setting.Limit = pick[int32](g.generator, 0, 1, 2, 3)
	if !g.chance(3) {
		setting.Fail, setting.Code = map[string]string{string(fake.Attach): "no room"}, fake.ResourceExhausted
	}
}

// watchLimit has the driver want its limit to be kept up to date, or not.
func (g *kubeletGenerator) watchLimit() Step {
	return Step{Op: Patch, Ref: store.Ref{Kind: store.CSIDriver, Key: Driver}, Patch: fmt.Sprintf(`{"spec":{"nodeAllocatableUpdatePeriodSeconds":%s}}`, pick(g.generator, "3600", "3600", "null"))}
}
