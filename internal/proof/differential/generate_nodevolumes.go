package differential

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/storage"
)

// The generators below extend GenerateKubelet by one feature each.

// GenerateBlock returns the scenario of a seed with block volumes.
func GenerateBlock(seed uint64) Scenario {
	g := newKubeletGenerator(seed, 6)
	g.blocks = map[string]bool{}
	return g.scenario()
}

// GenerateNodeExpand returns the scenario of a seed with volumes, some of them block volumes, that grow while pods use them.
func GenerateNodeExpand(seed uint64) Scenario {
	g := newKubeletGenerator(seed, 7)
	g.growing = true
	if g.chance(4) {
		g.blocks = map[string]bool{}
	}
	return g.scenario()
}

// growingClass allows expansion.
const growingClass = "growing"

// volumeKind returns further options of a claim and its volume.
func (g *kubeletGenerator) volumeKind(claim string) (opts []fake.Option) {
	if g.growing {
		opts = append(opts, fake.InClass(growingClass))
	}
	if g.blocks == nil || g.chance(5) {
		return opts
	}
	g.blocks[claim] = true
	return append(opts, fake.Block())
}

// GenerateInline returns the scenario of a seed with inline CSI volumes.
func GenerateInline(seed uint64) Scenario {
	g := newKubeletGenerator(seed, 8)
	g.inline = true
	return g.scenario()
}

// inlineVolumes adds inline volumes to a pod, or replaces its claims by them.
func (g *kubeletGenerator) inlineVolumes(pod *corev1.Pod) {
	main := &pod.Spec.Containers[0]
	if g.chance(2) {
		pod.Spec.Volumes, main.VolumeMounts = nil, nil
	}
	for _, name := range []string{"scratch", "cache"}[:1+g.IntN(8)/7] {
		driver := Driver
		if g.chance(20) {
			driver = "other.example.com"
		}
		pod.Spec.Volumes = append(pod.Spec.Volumes,
			corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: driver, ReadOnly: new(g.chance(8))}}})
		main.VolumeMounts = append(main.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: "/" + name})
	}
}

// lifecycleModes are the volumeLifecycleModes of the driver.
func (g *kubeletGenerator) lifecycleModes() []storagev1.VolumeLifecycleMode {
	const persistent, inline = storagev1.VolumeLifecyclePersistent, storagev1.VolumeLifecycleEphemeral
	return pick(g.generator, []storagev1.VolumeLifecycleMode{persistent, inline}, []storagev1.VolumeLifecycleMode{persistent, inline},
		[]storagev1.VolumeLifecycleMode{persistent, inline}, []storagev1.VolumeLifecycleMode{inline}, []storagev1.VolumeLifecycleMode{persistent})
}

// GenerateKubeletFaults returns the scenario of a seed in which requests of kubelets fail. Sometimes volumes grow as well.
func GenerateKubeletFaults(seed uint64) Scenario {
	g := newKubeletGenerator(seed, 9)
	g.failing, g.growing = true, g.chance(2)
	return g.scenario()
}

// kubeletFault lets requests of a kubelet about one object fail. One object only, because the order of requests about several is random
// upstream.
func (g *kubeletGenerator) kubeletFault() Step {
	if g.reporting {
		return g.statusFault()
	}
	node, i := pick(g.generator, g.first...), 1+g.IntN(2)
	claim := fmt.Sprintf("default/c%d", i)
	attachment := objects.AttachmentName(fmt.Sprintf("handle%d", i), Driver, node)
	asked := pick(g.generator,
		Rule{Verb: "get", Kind: api.PersistentVolumeClaim, Key: claim}, Rule{Verb: "get", Kind: api.PersistentVolumeClaim, Key: claim},
		Rule{Verb: "get", Kind: api.PersistentVolume, Key: fmt.Sprintf("pv%d", i)},
		Rule{Verb: "get", Kind: api.VolumeAttachment, Key: attachment}, Rule{Verb: "get", Kind: api.VolumeAttachment, Key: attachment},
		Rule{Verb: "get", Kind: api.Node, Key: node}, Rule{Verb: "patch-status", Kind: api.Node, Key: node},
		Rule{Verb: "patch-status", Kind: api.PersistentVolumeClaim, Key: claim})
	if g.growing && g.chance(2) {
		asked = Rule{Verb: "patch-status", Kind: api.PersistentVolumeClaim, Key: claim}
	}
	asked.Actor, asked.Times = actors.Kubelet(node), pick(g.generator, 1, 1, 2, 3, 8)
	if asked.Verb != "get" {
		asked.Lost, asked.Conflict = g.chance(4), g.chance(3)
	}
	return Step{Op: Fault, Rule: asked}
}

// GenerateOwnClaims returns the scenario of a seed with generic ephemeral volumes.
func GenerateOwnClaims(seed uint64) Scenario {
	g := newKubeletGenerator(seed, 10)
	g.own = true
	return g.scenario()
}

// ownClaim adds a generic ephemeral volume to a pod. Only one, because the order of several volumes is random upstream.
func (g *kubeletGenerator) ownClaim(opts []fake.Option) []fake.Option {
	return append(opts[:1+g.IntN(2)],
		fake.Ephemeral("own", "1Gi", pick(g.generator, growingClass, growingClass, growingClass, growingClass, growingClass, "unserved")))
}

// growVolume grows a claim and its volume, like a user and the driver's resizer, up to the node's part. Some resizers stop earlier, or
// write no status.
func (g *kubeletGenerator) growVolume() []Step {
	i := 1 + g.IntN(2)
	claim, volume := api.Ref{Kind: api.PersistentVolumeClaim, Key: fmt.Sprintf("default/c%d", i)},
		api.Ref{Kind: api.PersistentVolume, Key: fmt.Sprintf("pv%d", i)}
	size := pick(g.generator, "2Gi", "2Gi", "3Gi", "5Gi")
	status := "NodeResizePending"
	if g.chance(4) {
		status = pick(g.generator, "NodeResizeInProgress", "NodeResizeInProgress", "NodeResizeInfeasible", "ControllerResizeInProgress")
	}
	notes := fmt.Sprintf(`{"status":{"allocatedResources":{"storage":%q},"allocatedResourceStatuses":{"storage":%q},"conditions":[{"type":"FileSystemResizePending","status":"True","message":"on the node"}]}}`, size, status)
	switch g.IntN(10) {
	case 0: // an old resizer
		notes = `{"status":{"conditions":[{"type":"FileSystemResizePending","status":"True","message":"on the node"}]}}`
	case 1: // a resizer that leaves nothing to the node
		notes = fmt.Sprintf(`{"status":{"capacity":{"storage":%q},"allocatedResources":{"storage":%q},"allocatedResourceStatuses":null,"conditions":null}}`, size, size)
	}
	var steps []Step
	if g.chance(3) {
		code := pick(g.generator, "", "", storage.FailedPrecondition, storage.OutOfRange, storage.DeadlineExceeded, storage.Unavailable)
		steps = append(steps,
			Step{Op: Storage, Backend: Driver, Setting: Setting{Fail: map[string]string{string(storage.NodeExpand): "cannot grow"}, Code: code}})
	}
	steps = append(steps, []Step{
		{Op: Patch, Ref: claim, Patch: fmt.Sprintf(`{"spec":{"resources":{"requests":{"storage":%q}}}}`, size)},
		{Op: Patch, Ref: volume, Patch: fmt.Sprintf(`{"spec":{"capacity":{"storage":%q}}}`, size)},
		{Op: Patch, Ref: claim, Sub: api.Status, Patch: notes},
	}...)
	if g.chance(3) {
		steps[len(steps)-1-g.IntN(2)].Wait = time.Duration(pick(g.generator, 1, 15, 70)) * time.Second
	}
	return steps
}

// use lets a pod use a claim of namespace default, in its volume mode most of the time.
func (g *kubeletGenerator) use(claim string) fake.Option {
	block := g.blocks["default/"+claim]
	if g.blocks != nil && g.chance(25) {
		block = !block
	}
	if block {
		return fake.BlockClaims(claim)
	}
	return fake.Claims(claim)
}

// readOnly makes a pod's claims read-only.
func (g *kubeletGenerator) readOnly(pod *corev1.Pod) {
	for i := range pod.Spec.Volumes {
		if claim := pod.Spec.Volumes[i].PersistentVolumeClaim; claim != nil {
			claim.ReadOnly = true
		}
	}
}

// GenerateNodeVolumes returns the scenario of a seed with a mix of all features, and drivers with limited capabilities.
func GenerateNodeVolumes(seed uint64) Scenario {
	g := newKubeletGenerator(seed, 11)
	g.growing, g.inline, g.failing, g.own = g.chance(2), g.chance(3), g.chance(3), g.chance(3)
	if g.chance(2) {
		g.blocks = map[string]bool{}
	}
	g.attributes = true
	cannot := pick(g.generator, nil, nil, []storage.Op{storage.Stage}, []storage.Op{storage.NodeExpand},
		[]storage.Op{storage.Stage, storage.NodeExpand})
	s := g.scenario()
	s.Cannot = cannot
	return s
}

// setAttributes sets attributes that a volume passes to the driver.
func (g *kubeletGenerator) setAttributes(pv *corev1.PersistentVolume) {
	if pv.Spec.CSI == nil {
		return
	}
	if g.chance(2) {
		pv.Spec.CSI.VolumeAttributes = map[string]string{"tier": "gold", "csi.storage.k8s.io/pod.name": "mine"}
	}
	if pv.Spec.VolumeMode != nil && *pv.Spec.VolumeMode == corev1.PersistentVolumeFilesystem && g.chance(2) {
		pv.Spec.CSI.FSType, pv.Spec.MountOptions = pick(g.generator, "xfs", "ext4"), []string{"noatime"}
	}
}

// GeneratePodStatus returns the scenario of a seed in which a kubelet's requests about pods fail, and in which another writer changes their
// statuses.
func GeneratePodStatus(seed uint64) Scenario {
	g := newKubeletGenerator(seed, 15)
	g.failing, g.reporting = true, true
	return g.scenario()
}

// statusFault lets requests of a kubelet about one pod fail, or changes the status of a pod.
func (g *kubeletGenerator) statusFault() Step {
	ref := api.Ref{Kind: api.Pod, Key: g.existing(api.Pod, "default/p0")}
	if g.chance(3) {
		return Step{Op: Patch, Ref: ref, Sub: api.Status, Patch: pick(g.generator, `{"status":{"phase":"Unknown"}}`, `{"status":{"phase":"Pending"}}`,
			`{"status":{"conditions":[{"type":"Ready","status":"False"}]}}`, `{"status":{"conditions":null}}`)}
	}
	asked := Rule{Actor: actors.Kubelet(pick(g.generator, g.first...)), Verb: pick(g.generator, "get", "patch-status", "patch-status", "delete"),
		Kind: api.Pod, Key: ref.Key, Times: pick(g.generator, 1, 1, 2, 3, 8)}
	if asked.Verb != "get" {
		asked.Lost, asked.Conflict = g.chance(4), g.chance(3)
	}
	return Step{Op: Fault, Rule: asked}
}
