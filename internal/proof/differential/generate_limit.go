package differential

import (
	"fmt"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/storage"
)

// GenerateAttachLimit returns the scenario of a seed with nodes that can attach fewer volumes than pods request.
func GenerateAttachLimit(seed uint64) Scenario {
	g := newKubeletGenerator(seed, 14)
	g.limited = true
	return g.scenario()
}

// limit sets the driver's attach limit, and sometimes makes it refuse another volume.
func (g *kubeletGenerator) limit(setting *Setting) {
	setting.Limit = pick[int32](g.generator, 0, 1, 2, 3)
	if !g.chance(3) {
		setting.Fail, setting.Code = map[string]string{string(storage.Attach): "no room"}, storage.ResourceExhausted
	}
}

// watchLimit sets or removes nodeAllocatableUpdatePeriodSeconds of the CSIDriver.
func (g *kubeletGenerator) watchLimit() Step {
	return Step{Op: Patch, Ref: api.Ref{Kind: api.CSIDriver, Key: Driver},
		Patch: fmt.Sprintf(`{"spec":{"nodeAllocatableUpdatePeriodSeconds":%s}}`, pick(g.generator, "3600", "10", "11", "60", "null"))}
}

// limitPeriod is that period for a new driver, in seconds.
func (g *kubeletGenerator) limitPeriod() *int64 {
	return new(pick[int64](g.generator, 3600, 3600, 10, 10, 17))
}

// changeCSINode deletes a CSINode, or changes its entry for the driver.
func (g *kubeletGenerator) changeCSINode() Step {
	ref := api.Ref{Kind: api.CSINode, Key: g.node()}
	if g.chance(2) {
		return Step{Op: Delete, Ref: ref}
	}
	driver := fmt.Sprintf(`{"name":%q,"nodeID":%q,"topologyKeys":null,"allocatable":{"count":9}}`, Driver, ref.Key)
	other := fmt.Sprintf(`{"name":"other.example.com","nodeID":%q,"topologyKeys":null}`, ref.Key)
	return Step{Op: Patch, Ref: ref, Patch: fmt.Sprintf(`{"spec":{"drivers":[%s]}}`, pick(g.generator, driver, driver+","+other, other, ""))}
}
