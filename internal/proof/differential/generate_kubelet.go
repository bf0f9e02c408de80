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
	"github.com/volsim/volsim/internal/core/kubeletdefs"
	"github.com/volsim/volsim/storage"
)

// GenerateKubelet returns the scenario of a seed about pods on nodes with kubelets.
func GenerateKubelet(seed uint64) Scenario { return newKubeletGenerator(seed, 5).scenario() }

func newKubeletGenerator(seed, stream uint64) *kubeletGenerator {
	return &kubeletGenerator{generator: &generator{Rand: rand.New(rand.NewPCG(seed, stream)), made: map[api.Kind][]string{}}}
}

// scenario generates a scenario with the generator's extra features.
func (g *kubeletGenerator) scenario() Scenario {
	s := Scenario{Lead: 18500*time.Millisecond + time.Duration(g.IntN(10))*time.Second, Attach: true, Kubelets: true}
	if g.chance(3) || g.inline || g.groups && g.chance(2) || g.limited {
		s.Steps = append(s.Steps, g.nodeDriverObject())
	}
	// The second node may come later, with pods assigned to it before.
	g.first = []string{"n1", "n2"}[:2-g.IntN(8)/7]
	for _, name := range g.first {
		s.Steps = append(s.Steps, Step{Op: Create, Object: managedNode(name), Wait: time.Duration(g.IntN(3)) * time.Second})
	}
	if g.growing || g.own {
		s.Steps = append(s.Steps, Step{Op: Create, Object: fake.Class(growingClass, Driver, fake.Expandable())})
	}
	for i := range 2 {
		modes := fake.Modes(g.modes()...)
		name, claim := fmt.Sprintf("pv%d", i+1), fmt.Sprintf("default/c%d", i+1)
		kind := g.volumeKind(claim)
		opts := append([]fake.Option{g.source(name, fmt.Sprintf("handle%d", i+1)), modes,
			fake.Policy(corev1.PersistentVolumeReclaimRetain)}, kind...)
		if g.chance(20) {
			opts = append(opts, fake.FromNodes("n2"))
		}
		pv := fake.Volume(name, "1Gi", append(opts, g.volumeGroup()...)...)
		if g.attributes || g.groups {
			g.setAttributes(pv)
		}
		volume := Step{Op: Create, Object: pv, Wait: 2 * time.Second}
		if g.chance(14) {
			continue // a claim without a volume, unless that comes later
		}
		s.Steps = append(s.Steps, volume,
			Step{Op: Create, Object: fake.Claim(claim, "1Gi", append(kind, fake.VolumeName(name), modes)...), Wait: 20 * time.Second})
	}
	rare := []func() Step{g.nodeDriverObject, g.advance, g.deleteAttached, g.boundVolume, g.unbind, g.changeNode}
	if g.groups {
		rare = append(rare, g.changeGroupPolicy, g.changeGroupPolicy)
	}
	if g.limited {
		rare = append(rare, g.watchLimit, g.watchLimit)
	}
	down := "" // a node whose kubelet is down
	for i := range 6 + g.IntN(12) {
		if g.growing && i > 0 && g.chance(3) {
			s.Steps = append(s.Steps, g.growVolume()...)
		}
		if g.plain && g.chance(2) {
			s.Steps = append(s.Steps, g.files())
		}
		if g.limited && g.chance(2) {
			s.Steps = append(s.Steps, g.nodeStorage())
		}
		if g.limited && g.chance(8) {
			s.Steps = append(s.Steps, g.changeCSINode())
		}
		if g.failing && i > 0 && g.chance(3) {
			s.Steps = append(s.Steps, g.kubeletFault())
		}
		var step Step
		switch n := g.IntN(20); {
		case i == 0 || n < 7, g.groups && n < 9:
			step = g.startPod()
		case n < 11:
			step = g.deletePod()
			if g.own && g.chance(3) {
				// Delete like the garbage collector, which does not run, or like a user who is too early.
				step = Step{Op: Delete, Ref: api.Ref{Kind: api.PersistentVolumeClaim, Key: g.existing(api.Pod, "default/p0") + "-own"}}
			}
		case n < 16:
			step = g.nodeStorage()
		case n < 18:
			step = g.power(&down)
		default:
			step = pick(g.generator, rare...)()
		}
		g.note(step)
		if step.Settle = g.chance(2); !step.Settle {
			step.Wait += time.Duration(pick(g.generator, 0, 1, 4, 12, 16, 40, 70, 200)) * time.Second
		}
		s.Steps = append(s.Steps, step)
	}
	s.Steps[len(s.Steps)-1].Settle = true
	return s
}

type kubeletGenerator struct {
	*generator
	first []string // nodes that exist from the beginning
	// blocks are the claims for block volumes; nil for none.
	blocks map[string]bool
	// growing: volumes grow; inline: pods have inline CSI volumes; failing: kubelet requests fail.
	growing, inline, failing bool
	// reporting: the failing requests are about pods, and others write their statuses.
	reporting bool
	// own: pods have generic ephemeral volumes; attributes: volumes have attributes, file system types and mount options.
	own, attributes bool
	// plain: pods have volumes without a driver, such as emptyDirs.
	plain bool
	// groups: pods set fsGroup.
	groups bool
	// limited: nodes can attach fewer volumes than pods request.
	limited bool
}

func (g *kubeletGenerator) startPod() Step {
	opts := []fake.Option{fake.OnNode(g.node())}
	for _, claim := range pick(g.generator, []string{"c1"}, []string{"c1"}, []string{"c1"}, []string{"c2"}, []string{"c2"},
		[]string{"c1", "c2"}, []string{"c1", "c2"}, []string{"c3"}) {
		opts = append(opts, g.use(claim))
	}
	if g.own {
		opts = g.ownClaim(opts)
	}
	if g.chance(5) {
		opts = append(opts, fake.Annotations(kubeletdefs.AnnRunFor, pick(g.generator, "5s", "50s", "200s"), kubeletdefs.AnnExitPhase,
			pick(g.generator, "Succeeded", "Failed")))
	}
	pod := fake.Pod(g.newPod(), opts...)
	if g.growing && g.chance(3) {
		g.readOnly(pod)
	}
	if g.inline {
		g.inlineVolumes(pod)
	}
	if g.plain {
		g.plainVolumes(pod)
	}
	if g.groups {
		g.setGroup(pod)
	}
	return Step{Op: Create, Object: pod}
}

// nodeStorage changes how the driver behaves, on nodes and otherwise.
func (g *kubeletGenerator) nodeStorage() Step {
	step := Step{Op: Storage, Backend: Driver}
	op := func() string {
		if g.growing && g.chance(3) {
			return string(storage.NodeExpand)
		}
		return string(pick(g.generator, storage.Attach, storage.Detach, storage.Stage, storage.Stage, storage.Publish, storage.Publish,
			storage.Unpublish, storage.Unpublish, storage.Unstage, storage.Unstage))
	}
	if fail := op(); !g.chance(3) {
		step.Setting.Fail = map[string]string{fail: "broken"}
		step.Setting.Code = pick(g.generator, "", "", storage.DeadlineExceeded, storage.InvalidArgument, storage.Unavailable)
		if fail == string(storage.NodeExpand) && g.chance(3) {
			step.Setting.Code = storage.FailedPrecondition
		}
	}
	if g.chance(2) {
		// No multiple of the loops' period, so that nothing ends at the instant of a pass.
		step.Setting.Delay = map[string]time.Duration{op(): time.Duration(pick(g.generator, 1, 3, 7, 20, 40, 125))*time.Second +
			30*time.Millisecond}
	}
	if g.limited {
		g.limit(&step.Setting)
	}
	return step
}

// power stops a kubelet, or starts the one that is down.
func (g *kubeletGenerator) power(down *string) Step {
	step := Step{Op: Power, Node: g.node(), Machine: pick(g.generator, StopKubelet, StopKubelet, PowerOff, Reboot)}
	switch {
	case *down != "":
		step.Node, step.Machine, *down = *down, pick(g.generator, Start, Start, Start, Reboot), ""
	case step.Machine != Reboot:
		*down = step.Node
	}
	return step
}

// nodeDriverObject creates or changes the CSIDriver: attachRequired, requiresRepublish.
func (g *kubeletGenerator) nodeDriverObject() Step {
	if g.chance(3) {
		return Step{Op: Delete, Ref: api.Ref{Kind: api.CSIDriver, Key: Driver}}
	}
	driver := &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: Driver},
		Spec: storagev1.CSIDriverSpec{AttachRequired: new(!g.chance(3)), RequiresRepublish: new(g.chance(3))}}
	if g.limited && !g.chance(4) {
		driver.Spec.NodeAllocatableUpdatePeriodSeconds = g.limitPeriod()
	}
	if g.groups && !g.chance(4) {
		driver.Spec.FSGroupPolicy = new(g.groupPolicy())
	}
	if g.inline {
		driver.Spec.VolumeLifecycleModes, driver.Spec.PodInfoOnMount = g.lifecycleModes(), new(g.chance(2))
	}
	return Step{Op: Create, Object: driver}
}

// boundVolume creates a volume or claim that may be missing.
func (g *kubeletGenerator) boundVolume() Step {
	i := 1 + g.IntN(2)
	if g.chance(2) {
		return Step{Op: Create, Object: fake.Claim(fmt.Sprintf("default/c%d", i), "1Gi", fake.VolumeName(fmt.Sprintf("pv%d", i)))}
	}
	return Step{Op: Create,
		Object: fake.Volume(fmt.Sprintf("pv%d", i), "1Gi", fake.CSISource(Driver, fmt.Sprintf("handle%d", i)),
			fake.Policy(corev1.PersistentVolumeReclaimRetain))}
}

// unbind removes the link between a claim and its volume.
func (g *kubeletGenerator) unbind() Step {
	volume, claim := api.Ref{Kind: api.PersistentVolume, Key: pick(g.generator, "pv1", "pv2")},
		api.Ref{Kind: api.PersistentVolumeClaim, Key: pick(g.generator, "default/c1", "default/c2")}
	return pick(g.generator,
		Step{Op: Patch, Ref: volume, Patch: `{"spec":{"claimRef":null}}`},
		Step{Op: Patch, Ref: volume, Patch: `{"metadata":{"finalizers":null}}`},
		Step{Op: Patch, Ref: claim, Patch: `{"metadata":{"finalizers":null}}`},
		Step{Op: Patch, Ref: claim, Patch: `{"metadata":{"finalizers":["example.com/hold"]}}`},
	)
}

// changeNode deletes a node, or sets its out-of-service taint.
func (g *kubeletGenerator) changeNode() Step {
	name := g.node()
	ref := api.Ref{Kind: api.Node, Key: name}
	switch g.IntN(4) {
	case 0:
		return Step{Op: Delete, Ref: ref}
	case 1:
		return Step{Op: Create, Object: managedNode(name)}
	case 2:
		return Step{Op: Patch, Ref: ref, Patch: `{"spec":{"taints":[{"key":"node.kubernetes.io/out-of-service","effect":"NoExecute"}]}}`}
	}
	return Step{Op: Patch, Ref: ref, Patch: `{"spec":{"taints":null}}`}
}
