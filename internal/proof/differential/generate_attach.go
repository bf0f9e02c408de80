package differential

import (
	"fmt"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/storage"
)

// GenerateAttach returns the scenario of a seed about nodes and attachments. There are no kubelets: steps report volumes in use.
func GenerateAttach(seed uint64) Scenario {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 4)), made: map[api.Kind][]string{}}
	s := Scenario{Lead: 18500*time.Millisecond + time.Duration(g.IntN(10))*time.Second, Attach: true}
	for _, name := range []string{"n1", "n2"} {
		s.Steps = append(s.Steps, Step{Op: Create, Object: managedNode(name)})
	}
	for i := range 2 {
		modes := fake.Modes(g.modes()...)
		// Volumes and claims are created bound, so binding does not race.
		s.Steps = append(s.Steps,
			Step{Op: Create, Object: fake.Volume(fmt.Sprintf("pv%d", i+1), "1Gi", fake.CSISource(Driver, fmt.Sprintf("handle%d", i+1)),
				modes), Wait: 2 * time.Second},
			Step{Op: Create, Object: fake.Claim(fmt.Sprintf("default/c%d", i+1), "1Gi", fake.VolumeName(fmt.Sprintf("pv%d", i+1)), modes),
				Wait: 20 * time.Second})
	}
	moves := []func() Step{
		g.runPod, g.runPod, g.runPod, g.runPod, g.podStep, g.podStep, g.podStep, g.reportUse, g.reportUse, g.reportUse,
		g.nodeStep, g.attachStorage, g.attachStorage, g.driverObject, g.advance, g.deleteAttached,
	}
	for range 3 + g.IntN(7) {
		step := moves[g.IntN(len(moves))]()
		g.note(step)
		if step.Settle = g.chance(2); !step.Settle {
			step.Wait += time.Duration(pick(g, 0, 1, 4, 16, 40, 400)) * time.Second
		}
		s.Steps = append(s.Steps, step)
	}
	s.Steps[len(s.Steps)-1].Settle = true
	return s
}

// managedNode returns a node whose volumes the attach/detach controller attaches.
func managedNode(name string) *corev1.Node {
	return fake.Node(name, fake.Annotations("volumes.kubernetes.io/controller-managed-attach-detach", "true"))
}

func (g *generator) node() string { return pick(g, "n1", "n1", "n2") }

func (g *generator) runPod() Step {
	opts := []fake.Option{fake.Claims(pick(g, "c1", "c1", "c2"))}
	if !g.chance(8) {
		opts = append(opts, fake.OnNode(g.node()))
	}
	return Step{Op: Create, Object: fake.Pod(g.newPod(), opts...)}
}

// reportUse writes which volumes a node reports as mounted.
func (g *generator) reportUse() Step {
	used := pick(g, ``, `"kubernetes.io/csi/`+Driver+`^handle1"`, `"kubernetes.io/csi/`+Driver+`^handle1"`,
		`"kubernetes.io/csi/`+Driver+`^handle2"`)
	return Step{Op: Patch, Ref: api.Ref{Kind: api.Node, Key: g.node()}, Sub: api.Status, Patch: `{"status":{"volumesInUse":[` + used + `]}}`}
}

func (g *generator) nodeStep() Step {
	name := g.node()
	ref := api.Ref{Kind: api.Node, Key: name}
	switch g.IntN(5) {
	case 0:
		return Step{Op: Delete, Ref: ref}
	case 1:
		return Step{Op: Create, Object: managedNode(name)}
	case 2:
		return Step{Op: Patch, Ref: ref, Patch: `{"spec":{"taints":[{"key":"node.kubernetes.io/out-of-service","effect":"NoExecute"}]}}`}
	case 3:
		return Step{Op: Patch, Ref: ref, Sub: api.Status,
			Patch: `{"status":{"conditions":[{"type":"Ready","status":"` + pick(g, "True", "False", "Unknown") + `"}]}}`}
	}
	return Step{Op: Patch, Ref: ref, Patch: `{"spec":{"taints":null}}`}
}

func (g *generator) attachStorage() Step {
	step := Step{Op: Storage, Backend: Driver}
	ops := []string{string(storage.Attach), string(storage.Detach)}
	if g.chance(2) {
		step.Setting.Fail = map[string]string{pick(g, ops...): "broken"}
	}
	if g.chance(2) {
		step.Setting.Delay = map[string]time.Duration{pick(g, ops...): time.Duration(pick(g, 1, 3, 7, 20, 40)) * time.Second}
	}
	return step
}

// driverObject creates or changes the CSIDriver, which says whether the driver attaches.
func (g *generator) driverObject() Step {
	if g.chance(2) {
		return Step{Op: Delete, Ref: api.Ref{Kind: api.CSIDriver, Key: Driver}}
	}
	return Step{Op: Create,
		Object: &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: Driver},
			Spec: storagev1.CSIDriverSpec{AttachRequired: new(g.chance(2))}}}
}

func (g *generator) deleteAttached() Step {
	kind, key := api.PersistentVolumeClaim, pick(g, "default/c1", "default/c2")
	if g.chance(2) {
		kind, key = api.PersistentVolume, pick(g, "pv1", "pv2")
	}
	return Step{Op: Delete, Ref: api.Ref{Kind: kind, Key: key}}
}
