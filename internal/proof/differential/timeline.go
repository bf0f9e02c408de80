package differential

import (
	"encoding/json"
	"math/rand/v2"
	"time"

	"github.com/volsim/volsim/api"
)

// timeline is a list of steps that grows, with the time of the next one.
type timeline struct {
	*generator
	now   time.Time
	steps []Step
}

func newTimeline(seed, stream uint64) timeline {
	return timeline{generator: &generator{Rand: rand.New(rand.NewPCG(seed, stream)), made: map[api.Kind][]string{}}}
}

func (g *timeline) add(steps ...Step) {
	for _, step := range steps {
		g.note(step)
	}
	g.steps = append(g.steps, steps...)
}

// wait lets time pass after the last step.
func (g *timeline) wait(seconds int) {
	g.steps[len(g.steps)-1].Wait += time.Duration(seconds) * time.Second
	g.now = g.now.Add(time.Duration(seconds) * time.Second)
}

func (g *timeline) settle() {
	if last := &g.steps[len(g.steps)-1]; !last.Settle {
		last.Settle = true
		g.now = g.now.Add(SettleTime)
	}
}

// patch adds a JSON merge patch.
func (g *timeline) patch(ref api.Ref, sub api.Subresource, change any) {
	g.add(Step{Op: Patch, Ref: ref, Sub: sub, Patch: encode(change)})
}

func encode(change any) string {
	patch, err := json.Marshal(change)
	if err != nil {
		panic(err) // it consists of values of the API
	}
	return string(patch)
}
