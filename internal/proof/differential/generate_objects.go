package differential

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/objects"
)

func (g *generator) createVolume() Step {
	name := pick(g, "pv1", "pv2", "pv3")
	opts := []fake.Option{fake.Modes(g.modes()...), fake.InClass(g.class()), fake.Policy(g.policy())}
	switch g.IntN(4) {
	case 0:
		opts = append(opts, fake.NFSSource("nfs.example.com", "/"+name))
	case 1:
		opts = append(opts, fake.CSISource(pick(g, Driver, "other.example.com"), name))
	}
	switch g.IntN(16) {
	case 0, 1, 2, 3:
		opts = append(opts, fake.ForClaim(g.claim()))
	case 4:
		opts = append(opts, fake.ForClaim(g.claim(), "of-another"))
	}
	if g.chance(12) {
		opts = append(opts, fake.MountOptions("ro"))
	}
	if g.chance(12) {
		opts = append(opts, fake.FromNodes(pick(g, "n1", "n2")))
	}
	if g.chance(8) {
		opts = append(opts, fake.Block())
	}
	if g.chance(3) {
		opts = append(opts, fake.Labels("tier", "gold"))
	}
	if g.chance(8) {
		opts = append(opts, fake.Annotations("pv.kubernetes.io/provisioned-by",
			pick(g, InTree, NFS, Driver, "kubernetes.io/aws-ebs", "other.example.com")))
	}
	if g.chance(10) {
		opts = append(opts, fake.Annotations("pv.kubernetes.io/bound-by-controller", "yes"))
	}
	if g.chance(12) {
		opts = append(opts, fake.Finalizers("example.com/hold"))
	}
	pv := fake.Volume(name, pick(g, "1Gi", "5Gi", "5Gi", "10Gi", "1500M"), opts...)
	if pv.Spec.CSI != nil && g.chance(4) {
		pv.Spec.VolumeAttributesClassName = new("gold")
	}
	return Step{Op: Create, Object: pv}
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
	if g.chance(12) {
		opts = append(opts, fake.Finalizers("example.com/hold"))
	}
	claim := fake.Claim(g.claim(), pick(g, "1Gi", "1Gi", "2Gi", "5Gi", "1500M", "20Gi"), opts...)
	switch g.IntN(24) {
	case 0:
		claim.Spec.VolumeAttributesClassName = new("gold")
	case 1:
		g.populate(claim)
	case 2:
		claim.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier",
			Operator: pick(g, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist)}}}
	case 3:
		claim.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
	}
	return Step{Op: Create, Object: claim}
}

// populate sets a data source of a claim that the CSI driver does not provision; what the sidecar does with it is not compared.
func (g *generator) populate(claim *corev1.PersistentVolumeClaim) {
	if class := claim.Spec.StorageClassName; class == nil || *class == "external" {
		return
	}
	if g.chance(2) {
		claim.Spec.DataSource = &corev1.TypedLocalObjectReference{Kind: "PersistentVolumeClaim", Name: "c2"}
		return
	}
	claim.Spec.DataSourceRef = &corev1.TypedObjectReference{APIGroup: new("snapshot.storage.k8s.io"), Kind: "VolumeSnapshot", Name: "s"}
}

// named returns the class of that name; nil if there is none.
func (g *generator) named(name string) *storagev1.StorageClass {
	var opts []fake.Option
	if g.chance(3) {
		opts = append(opts, fake.Policy(pick(g, corev1.PersistentVolumeReclaimRetain, corev1.PersistentVolumeReclaimDelete)))
	}
	if !g.chance(3) {
		opts = append(opts, fake.Expandable())
	}
	if g.chance(10) {
		opts = append(opts, fake.MountOptions("ro"))
	}
	switch name {
	case "fast":
		return fake.Class(name, InTree, opts...)
	case "late":
		return fake.Class(name, InTree, append(opts, fake.WaitForFirstConsumer())...)
	case "external":
		return fake.Class(name, Driver, opts...)
	case "unserved":
		return fake.Class(name, pick(g, "unserved.example.com", "kubernetes.io/no-provisioner", NFS, "kubernetes.io/aws-ebs"), opts...)
	case "default", "default2":
		return fake.Class(name, pick(g, InTree, Driver), append(opts, fake.Default())...)
	}
	return nil
}

func (g *generator) createClass() Step {
	name := pick(g, "fast", "late", "external", "unserved", "default", "default2")
	if g.chance(4) {
		return Step{Op: Delete, Ref: api.Ref{Kind: api.StorageClass, Key: name}}
	}
	return Step{Op: Create, Object: g.named(name)}
}

func (g *generator) deleteClaim() Step {
	return Step{Op: Delete, Ref: api.Ref{Kind: api.PersistentVolumeClaim, Key: g.known()}}
}

func (g *generator) deleteVolume() Step { return Step{Op: Delete, Ref: g.volume()} }

func (g *generator) createNode() Step {
	if g.chance(4) {
		return Step{Op: Delete, Ref: api.Ref{Kind: api.Node, Key: "n1"}}
	}
	return Step{Op: Create, Object: fake.Node("n1")}
}

func (g *generator) podRef() api.Ref {
	return api.Ref{Kind: api.Pod, Key: g.existing(api.Pod, "default/p0")}
}

func (g *generator) createPod() Step {
	_, claim := objects.SplitKey(g.known())
	opts := []fake.Option{fake.Claims(claim)}
	if g.chance(2) {
		opts = append(opts, fake.OnNode("n1"))
	}
	if g.chance(4) {
		opts = append(opts, fake.Ephemeral("tmp", "1Gi", g.class()))
	}
	return Step{Op: Create, Object: fake.Pod(g.newPod(), opts...)}
}

// podStep generates a step about a pod, if there is one.
func (g *generator) podStep() Step {
	switch {
	case len(g.made[api.Pod]) == 0:
		return g.createPod()
	case g.chance(12):
		return Step{Op: Patch, Ref: g.podRef(), Patch: `{"metadata":{"finalizers":` + pick(g, `null`, `["example.com/hold"]`) + `}}`}
	case g.chance(2):
		return g.changePod()
	}
	return g.deletePod()
}

func (g *generator) newPod() string { return fmt.Sprintf("default/p%d", g.IntN(3)) }

func (g *generator) changePod() Step {
	return Step{Op: Patch, Ref: g.podRef(), Sub: api.Status, Patch: `{"status":{"phase":"` + pick(g, "Running", "Succeeded", "Failed") + `"}}`}
}

func (g *generator) deletePod() Step { return Step{Op: Delete, Ref: g.podRef(), Force: !g.chance(3)} }
