package differential

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/binder"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/reclaim"
	"github.com/volsim/volsim/store"
)

// Generate makes up the scenario of a seed.
func Generate(seed uint64) Scenario {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 1)), made: map[store.Kind][]string{}}
	moves := []func() Step{
		g.createVolume, g.createVolume, g.createClaim, g.createClaim, g.createClaim, g.createClaim, g.createClass,
		g.deleteClaim, g.deleteVolume, g.deleteClaim, g.createPod, g.podStep, g.podStep, g.storage, g.storage,
		g.patchVolume, g.patchVolume, g.patchClaim, g.createNode, g.advance,
	}
	if g.chance(3) {
		moves = append(moves, g.fault, g.fault)
	}
	s := Scenario{Lead: 18500*time.Millisecond + time.Duration(g.IntN(10))*time.Second}
	// A scenario is about one class or two, which are there from the beginning, and so are some volumes.
	for range 1 + g.IntN(2) {
		g.classes = append(g.classes, pick(g, "", "", "static", "fast", "fast", "late", "external", "external", "nobody"))
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
	classes []string                // that the scenario is about
	made    map[store.Kind][]string // what was created so far
}

// existing is something that was created, most of the time.
func (g *generator) existing(kind store.Kind, otherwise string) string {
	if made := g.made[kind]; len(made) > 0 && !g.chance(10) {
		return pick(g, made...)
	}
	return otherwise
}

// note remembers what a step creates.
func (g *generator) note(step Step) {
	if step.Op != Create {
		return
	}
	ref := store.RefTo(step.Object)
	if !slices.Contains(g.made[ref.Kind], ref.Key) {
		g.made[ref.Kind] = append(g.made[ref.Kind], ref.Key)
	}
}

func pick[T any](g *generator, from ...T) T { return from[g.IntN(len(from))] }

// chance is true once in so many times.
func (g *generator) chance(oneIn int) bool { return g.IntN(oneIn) == 0 }

func (g *generator) modes() []string {
	return pick(g, []string{"RWO"}, []string{"RWO"}, []string{"RWO"}, []string{"RWO"}, []string{"RWO"}, []string{"RWO", "ROX"}, []string{"RWX"}, []string{"RWO", "RWX"}, []string{"RWOP"})
}

func (g *generator) class() string {
	if g.chance(8) || len(g.classes) == 0 {
		return pick(g, "", "static", "fast", "late", "external", "nobody")
	}
	return pick(g, g.classes...)
}

func (g *generator) claim() string {
	return pick(g, "default/c1", "default/c1", "default/c1", "default/c2", "default/c2", "other/c1")
}

// known is a claim that was created.
func (g *generator) known() string { return g.existing(store.PersistentVolumeClaim, "default/c1") }

// volume is one that an administrator made or that was provisioned.
func (g *generator) volume() store.Ref {
	name := g.existing(store.PersistentVolume, "pv1")
	if len(g.made[store.PersistentVolume]) == 0 || g.chance(3) {
		name = Provisioned + g.known()
	}
	return store.Ref{Kind: store.PersistentVolume, Key: name}
}

func (g *generator) policy() corev1.PersistentVolumeReclaimPolicy {
	return pick(g, corev1.PersistentVolumeReclaimRetain, corev1.PersistentVolumeReclaimDelete, corev1.PersistentVolumeReclaimRecycle)
}

func (g *generator) createVolume() Step {
	name := pick(g, "pv1", "pv2", "pv3")
	opts := []fake.Option{fake.Modes(g.modes()...), fake.InClass(g.class()), fake.Policy(g.policy())}
	switch g.IntN(4) {
	case 0:
		opts = append(opts, fake.NFSSource("nfs.example.com", "/"+name))
	case 1:
		opts = append(opts, fake.CSISource(pick(g, Driver, "other.example.com"), name))
	}
	if g.chance(4) {
		opts = append(opts, fake.ForClaim(g.claim()))
	}
	if g.chance(8) {
		opts = append(opts, fake.Block())
	}
	if g.chance(3) {
		opts = append(opts, fake.Labels("tier", "gold"))
	}
	if g.chance(8) {
		opts = append(opts, fake.Annotations("pv.kubernetes.io/provisioned-by", pick(g, InTree, NFS, Driver, "kubernetes.io/aws-ebs", "other.example.com")))
	}
	if g.chance(10) {
		opts = append(opts, fake.Annotations("pv.kubernetes.io/bound-by-controller", "yes"))
	}
	if g.chance(12) {
		opts = append(opts, fake.Finalizers("example.com/hold"))
	}
	return Step{Op: Create, Object: fake.Volume(name, pick(g, "1Gi", "5Gi", "5Gi", "10Gi", "1500M"), opts...)}
}

func (g *generator) createClaim() Step {
	opts := []fake.Option{fake.Modes(g.modes()...)}
	if g.chance(7) {
		opts = append(opts, fake.NoClass())
	} else {
		opts = append(opts, fake.InClass(g.class()))
	}
	if g.chance(5) {
		opts = append(opts, fake.VolumeName(pick(g, "pv1", "pv2", "pv3")))
	}
	if g.chance(8) {
		opts = append(opts, fake.Block())
	}
	if g.chance(8) {
		opts = append(opts, fake.Selector("tier", "gold"))
	}
	if g.chance(12) {
		opts = append(opts, fake.Annotations("volume.beta.kubernetes.io/storage-class", g.class()))
	}
	if g.chance(12) {
		opts = append(opts, fake.Annotations("pv.kubernetes.io/bound-by-controller", "yes"))
	}
	return Step{Op: Create, Object: fake.Claim(g.claim(), pick(g, "1Gi", "1Gi", "2Gi", "5Gi", "1500M", "20Gi"), opts...)}
}

// named is the class of that name; nil for names that no class has.
func (g *generator) named(name string) *storagev1.StorageClass {
	var opts []fake.Option
	if g.chance(3) {
		opts = append(opts, fake.Policy(pick(g, corev1.PersistentVolumeReclaimRetain, corev1.PersistentVolumeReclaimDelete)))
	}
	switch name {
	case "fast":
		return fake.Class(name, InTree, opts...)
	case "late":
		return fake.Class(name, InTree, append(opts, fake.WaitForFirstConsumer())...)
	case "external":
		return fake.Class(name, Driver, opts...)
	case "nobody":
		return fake.Class(name, pick(g, "nobody.example.com", "kubernetes.io/no-provisioner", NFS, "kubernetes.io/aws-ebs"), opts...)
	case "default":
		return fake.Class(name, pick(g, InTree, Driver), append(opts, fake.Default())...)
	}
	return nil
}

func (g *generator) createClass() Step {
	name := pick(g, "fast", "late", "external", "nobody", "default")
	if g.chance(4) {
		return Step{Op: Delete, Ref: store.Ref{Kind: store.StorageClass, Key: name}}
	}
	return Step{Op: Create, Object: g.named(name)}
}

func (g *generator) deleteClaim() Step {
	return Step{Op: Delete, Ref: store.Ref{Kind: store.PersistentVolumeClaim, Key: g.known()}}
}

func (g *generator) deleteVolume() Step { return Step{Op: Delete, Ref: g.volume()} }

func (g *generator) createNode() Step {
	if g.chance(4) {
		return Step{Op: Delete, Ref: store.Ref{Kind: store.Node, Key: "n1"}}
	}
	return Step{Op: Create, Object: fake.Node("n1")}
}

func (g *generator) podRef() store.Ref {
	return store.Ref{Kind: store.Pod, Key: g.existing(store.Pod, "default/p0")}
}

func (g *generator) createPod() Step {
	_, claim := store.SplitKey(g.known())
	opts := []fake.Option{fake.Claims(claim)}
	if g.chance(2) {
		opts = append(opts, fake.OnNode("n1"))
	}
	return Step{Op: Create, Object: fake.Pod(g.newPod(), opts...)}
}

// podStep is about a pod, if there is one.
func (g *generator) podStep() Step {
	switch {
	case len(g.made[store.Pod]) == 0:
		return g.createPod()
	case g.chance(2):
		return g.changePod()
	}
	return g.deletePod()
}

func (g *generator) newPod() string { return fmt.Sprintf("default/p%d", g.IntN(3)) }

func (g *generator) changePod() Step {
	return Step{Op: Patch, Ref: g.podRef(), Sub: store.Status, Patch: `{"status":{"phase":"` + pick(g, "Running", "Succeeded", "Failed") + `"}}`}
}

func (g *generator) deletePod() Step { return Step{Op: Delete, Ref: g.podRef(), Force: !g.chance(3)} }

func (g *generator) storage() Step {
	step := Step{Op: Storage, Backend: pick(g, InTree, InTree, Driver, NFS)}
	ops := []string{string(fake.Create), string(fake.Delete), string(fake.Recycle)}
	if g.chance(2) {
		step.Setting.Fail = map[string]string{pick(g, ops...): "broken"}
	}
	if g.chance(2) {
		step.Setting.Delay = map[string]time.Duration{pick(g, ops...): time.Duration(pick(g, 1, 3, 7, 20, 40)) * time.Second}
	}
	step.Setting.InUse = g.chance(6) && step.Backend == InTree
	return step
}

func (g *generator) patchVolume() Step {
	patch := pick(g,
		`{"spec":{"claimRef":null}}`,
		`{"spec":{"claimRef":{"uid":null}}}`,
		`{"spec":{"claimRef":{"namespace":"default","name":"c1"}}}`,
		`{"spec":{"claimRef":{"namespace":"default","name":"c2","uid":"`+uidOf+`default/c2!"}}}`,
		`{"spec":{"persistentVolumeReclaimPolicy":"`+string(g.policy())+`"}}`,
		`{"spec":{"persistentVolumeReclaimPolicy":"`+string(g.policy())+`"}}`,
		`{"metadata":{"finalizers":null}}`,
		`{"metadata":{"labels":{"tier":"gold"}}}`,
		`{"metadata":{"annotations":{"pv.kubernetes.io/bound-by-controller":null}}}`,
		`{"metadata":{"annotations":{"pv.kubernetes.io/provisioned-by":null}}}`,
		`{"metadata":{"annotations":{"pv.kubernetes.io/migrated-to":"`+Driver+`"}}}`,
		`{"spec":{"storageClassName":"`+g.class()+`"}}`,
		`{"spec":{"capacity":{"storage":"`+pick(g, "1Gi", "5Gi", "30Gi")+`"}}}`,
	)
	return Step{Op: Patch, Ref: g.volume(), Patch: patch}
}

func (g *generator) patchClaim() Step {
	patch := pick(g,
		`{"metadata":{"annotations":{"pv.kubernetes.io/bind-completed":null}}}`,
		`{"metadata":{"annotations":{"pv.kubernetes.io/bound-by-controller":null}}}`,
		`{"metadata":{"annotations":{"volume.kubernetes.io/selected-node":"n1"}}}`,
		`{"metadata":{"annotations":{"volume.kubernetes.io/selected-node":"n1"}}}`,
		`{"metadata":{"annotations":{"volume.kubernetes.io/selected-node":null}}}`,
		`{"metadata":{"annotations":{"volume.kubernetes.io/storage-provisioner":"kubernetes.io/aws-ebs"}}}`,
		`{"metadata":{"annotations":{"pv.kubernetes.io/migrated-to":"`+Driver+`"}}}`,
		`{"metadata":{"finalizers":null}}`,
		`{"metadata":{"finalizers":["example.com/hold"]}}`,
		`{"spec":{"volumeName":"`+pick(g, "pv1", "pv2")+`"}}`,
		`{"spec":{"storageClassName":"fast"}}`,
		`{"spec":{"resources":{"requests":{"storage":"20Gi"}}}}`,
	)
	return Step{Op: Patch, Ref: store.Ref{Kind: store.PersistentVolumeClaim, Key: g.known()}, Patch: patch}
}

func (g *generator) fault() Step {
	r := Rule{Actor: pick(g, binder.ActorName, binder.ActorName, reclaim.PVProtectionName, reclaim.PVCProtectionName, reclaim.ProvisionerName(Driver)), Times: 1 + g.IntN(3)}
	r.Verb = pick(g, "update", "update", "update-status", "create", "delete", "get", "patch")
	r.Kind = pick(g, store.PersistentVolume, store.PersistentVolumeClaim)
	r.Lost = g.chance(4)
	r.Conflict = g.chance(3)
	return Step{Op: Fault, Rule: r}
}

func (g *generator) advance() Step {
	return Step{Op: Advance, Wait: time.Duration(pick(g, 1, 8, 15, 31, 75)) * time.Second}
}
