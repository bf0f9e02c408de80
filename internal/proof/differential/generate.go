package differential

import (
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
)

// Generate returns the scenario of a seed.
func Generate(seed uint64) Scenario {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 1)), made: map[api.Kind][]string{}}
	moves := []func() Step{
		g.createVolume, g.createVolume, g.createClaim, g.createClaim, g.createClaim, g.createClaim, g.createClass,
		g.deleteClaim, g.deleteVolume, g.deleteClaim, g.createPod, g.podStep, g.podStep, g.storage, g.storage,
		g.patchVolume, g.patchVolume, g.patchClaim, g.resizeClaim, g.resizeClaim, g.patchClass, g.createNode, g.advance,
	}
	if g.chance(3) {
		moves = append(moves, g.fault, g.fault)
	}
	s := Scenario{Lead: 18500*time.Millisecond + time.Duration(g.IntN(10))*time.Second}
	// A scenario uses one or two classes, which exist from the beginning, like some volumes.
	for range 1 + g.IntN(2) {
		g.classes = append(g.classes, pick(g, "", "", "static", "fast", "fast", "late", "external", "external", "unserved"))
	}
	for _, name := range g.classes {
		if class := g.named(name); class != nil && !g.chance(8) {
			s.Steps = append(s.Steps, Step{Op: Create, Object: class})
		}
	}
	if g.chance(6) {
		s.Steps = append(s.Steps, Step{Op: Create, Object: g.named("default")})
	}
	for range g.IntN(3) {
		s.Steps = append(s.Steps, g.createVolume())
	}
	s.Steps = append(s.Steps, g.createClaim())
	for _, step := range s.Steps {
		g.note(step)
	}
	for range 4 + g.IntN(8) {
		step := moves[g.IntN(len(moves))]()
		g.note(step)
		if step.Settle = g.chance(2); !step.Settle {
			step.Wait += time.Duration(pick(g, 0, 0, 1, 4, 16, 40)) * time.Second
		}
		s.Steps = append(s.Steps, step)
	}
	s.Steps[len(s.Steps)-1].Settle = true
	return s
}

type generator struct {
	*rand.Rand
	classes []string              // names that the scenario uses
	made    map[api.Kind][]string // what was created so far
}

// existing returns an object that was created, most of the time.
func (g *generator) existing(kind api.Kind, otherwise string) string {
	if made := g.made[kind]; len(made) > 0 && !g.chance(10) {
		return pick(g, made...)
	}
	return otherwise
}

// note records what a step creates.
func (g *generator) note(step Step) {
	if step.Op != Create {
		return
	}
	ref := api.RefTo(step.Object)
	if !slices.Contains(g.made[ref.Kind], ref.Key) {
		g.made[ref.Kind] = append(g.made[ref.Kind], ref.Key)
	}
}

func pick[T any](g *generator, from ...T) T { return from[g.IntN(len(from))] }

// chance returns true once in n times.
func (g *generator) chance(oneIn int) bool { return g.IntN(oneIn) == 0 }

func (g *generator) modes() []string {
	return pick(g, []string{"RWO"}, []string{"RWO"}, []string{"RWO"}, []string{"RWO"}, []string{"RWO"}, []string{"RWO", "ROX"},
		[]string{"RWX"}, []string{"RWO", "RWX"}, []string{"RWOP"})
}

func (g *generator) class() string {
	if g.chance(8) || len(g.classes) == 0 {
		return pick(g, "", "static", "fast", "late", "external", "unserved")
	}
	return pick(g, g.classes...)
}

func (g *generator) claim() string {
	return pick(g, "default/c1", "default/c1", "default/c1", "default/c2", "default/c2", "other/c1")
}

// known returns a claim that was created.
func (g *generator) known() string { return g.existing(api.PersistentVolumeClaim, "default/c1") }

// volume returns a volume that a user created or that was provisioned.
func (g *generator) volume() api.Ref {
	name := g.existing(api.PersistentVolume, "pv1")
	if len(g.made[api.PersistentVolume]) == 0 || g.chance(3) {
		name = Provisioned + g.known()
	}
	return api.Ref{Kind: api.PersistentVolume, Key: name}
}

func (g *generator) policy() corev1.PersistentVolumeReclaimPolicy {
	return pick(g, corev1.PersistentVolumeReclaimRetain, corev1.PersistentVolumeReclaimDelete, corev1.PersistentVolumeReclaimRecycle)
}
