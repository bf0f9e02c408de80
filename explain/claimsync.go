package explain

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/claimsync"
	"github.com/volsim/volsim/internal/core/match"
	"github.com/volsim/volsim/internal/core/objects"
)

// claimSync is the next sync of a claim by the PersistentVolume controller, in words.
type claimSync struct {
	// rule decides, and text says why.
	rule, text string
	// todo is the action that the user must take before anything changes; "" if a component acts, or none is needed.
	todo string
	// volume is the volume that the claim has, names or will get; "" if there is none.
	volume string
	// rejections has, for a claim that needs a volume, each volume that it does not get.
	rejections []match.Rejection
}

func (s *claimSync) set(rule, text, todo string) { s.rule, s.text, s.todo = rule, text, todo }

// claimView reads what a decision about a claim depends on from the snapshot. It collects the volumes that the match rejects.
type claimView struct {
	*explainer
	rejections []match.Rejection
}

func (v *claimView) Volume(name string) (*corev1.PersistentVolume, bool) {
	pv, ok := v.volumes[name]
	return pv, ok
}

func (v *claimView) Class(name string) (*storagev1.StorageClass, bool) {
	class, ok := v.classes[name]
	return class, ok
}

func (v *claimView) Classes() []*storagev1.StorageClass { return v.Snapshot.Classes }

func (v *claimView) Match(claim *corev1.PersistentVolumeClaim, delayed bool) (*corev1.PersistentVolume, string, error) {
	key := v.demandOf(claim, delayed)
	d, known := v.matches[key]
	if !known {
		d = match.Best(claim, v.Volumes, match.Options{Delayed: delayed, Explain: !v.brief})
		if key != (demand{}) && d.Err == nil {
			v.matches[key] = d
		}
	}
	v.rejections = d.Rejections
	return d.Volume, d.Rule, d.Err
}

// demand identifies claims for which the search for a volume has the same result.
type demand struct {
	text    string
	delayed bool
}

// demandOf returns the demand of a claim; the zero value if the answer is for this claim only, because a volume is reserved for it.
func (x *explainer) demandOf(claim *corev1.PersistentVolumeClaim, delayed bool) demand {
	if x.reserved[api.KeyOf(claim)] {
		return demand{}
	}
	return demand{match.Demand(claim), delayed}
}

// syncOf puts the controller's decision about the claim (package claimsync) into words.
func (x *explainer) syncOf(claim *corev1.PersistentVolumeClaim) claimSync {
	v := &claimView{explainer: x}
	d := claimsync.Decide(claim, v)
	s := claimSync{volume: claim.Spec.VolumeName, rejections: v.rejections}
	switch {
	case d.Rule == "BIND-057":
		x.provisioning(&s, claim)
	case claim.Spec.VolumeName == "":
		s.unbound(claim, d)
		// PROV-001, API-219: a claim that names no class, not even the empty one, can still get one.
		if _, annotated := claim.Annotations[objects.AnnStorageClass]; s.rule == "BIND-058" && claim.Spec.StorageClassName == nil && !annotated && len(x.classes) > 0 {
			s.todo = "set its storageClassName, make a storage class the default, or " + createFitting
		}
	default:
		s.naming(claim, d)
		if d.Rule == "BIND-059e" || d.Rule == "BIND-059f" || d.Rule == "BIND-060e" {
			x.otherOwner(&s, claim, d.Volume)
		}
	}
	return s
}

// otherOwner corrects what to do about a claim whose volume another claim has: without its claimRef that one would lose it, and its pods their data.
func (x *explainer) otherOwner(s *claimSync, claim *corev1.PersistentVolumeClaim, pv *corev1.PersistentVolume) {
	ref := pv.Spec.ClaimRef
	owner := x.claims[api.Key(ref.Namespace, ref.Name)]
	if owner == nil || owner == claim || owner.Spec.VolumeName != pv.Name || ref.UID != "" && ref.UID != owner.UID {
		return
	}
	s.todo = fmt.Sprintf("delete claim %s, and create it again without volumeName; leave the claimRef of volume %s: claim %s has the volume", api.KeyOf(claim), pv.Name,
		api.KeyOf(owner))
}

// unbound explains a claim that names no volume.
func (s *claimSync) unbound(claim *corev1.PersistentVolumeClaim, d claimsync.Decision) {
	class := objects.ClassOf(claim)
	switch d.Rule {
	case "BIND-052":
		s.set(d.Rule, d.Err.Error(), fmt.Sprintf("create storage class %q again, with a volumeBindingMode", class))
	case "BIND-053":
		s.set(d.Rule, d.Err.Error(), "create another claim")
	case "BIND-054":
		s.volume = d.Volume.Name
		s.set(d.Rule, fmt.Sprintf("volume %s fits (%s)", d.Volume.Name, d.MatchRule), "")
	case "BIND-055":
		s.set(d.Rule, fmt.Sprintf("no volume fits, so it gets the default storage class %q", d.Class.Name), "")
	case "BIND-056":
		s.set(d.Rule, fmt.Sprintf("storage class %q delays binding until the scheduler places a pod that uses the claim", class), "")
	case "BIND-060a":
		s.set(d.Rule, "it was bound, but its volumeName is gone, so its volume is unknown", "")
	default:
		s.set(d.Rule, "no volume fits, and it has no storage class that could create one", createFitting)
	}
}

// createFitting is the remedy where no component creates a volume.
const createFitting = "create a volume that fits"

// provisioning explains a claim for which a volume is created.
func (x *explainer) provisioning(s *claimSync, claim *corev1.PersistentVolumeClaim) {
	name := objects.ClassOf(claim)
	class := x.classes[name]
	switch d := claimsync.Provision(class, x.DisableProvisioning, objects.MigratedDriver, x.backends()); {
	case d.Rule == "PROV-020":
		s.set(d.Rule, "no volume fits, and dynamic provisioning is disabled", createFitting)
	case d.Rule == "PROV-021":
		todo := fmt.Sprintf("create storage class %q, or a volume that fits", name)
		if x.Evidence.Lacks("storageclasses") {
			todo = "add the storageclasses to the dump: kubectl get storageclasses -o yaml"
		}
		s.set(d.Rule, fmt.Sprintf("no volume fits, and its storage class %q %s", name, x.missing("storageclasses")), todo)
	case d.Rule == "PROV-024" && class.Provisioner == noProvisioner && claim.Annotations[objects.AnnSelectedNode] != "":
		// PROV-011, SCHED-070: with the annotation neither the controller nor the scheduler matches the claim with a free volume.
		s.set("PROV-011", fmt.Sprintf("storage class %q does not create volumes, and because of annotation %s (node %s) the scheduler chooses none", name,
			objects.AnnSelectedNode, claim.Annotations[objects.AnnSelectedNode]), "remove the annotation: "+unselect(claim))
	case d.Rule == "PROV-024" && class.Provisioner == noProvisioner:
		s.set(d.Rule, fmt.Sprintf("no volume fits, and storage class %q does not create volumes", name), createFitting)
	case d.Rule == "PROV-024" && x.Backends != nil:
		s.set(d.Rule, fmt.Sprintf("no volume fits, and no plugin %s can create one", class.Provisioner), createFitting)
	default:
		s.set("BIND-057", fmt.Sprintf("no volume fits, so %s creates one", class.Provisioner), "")
	}
}

// unselect returns the command that lets the scheduler choose another node for a claim.
func unselect(claim *corev1.PersistentVolumeClaim) string {
	return fmt.Sprintf("kubectl annotate pvc %s %s- -n %s", claim.Name, objects.AnnSelectedNode, claim.Namespace)
}

// noProvisioner is the provisioner of classes whose volumes an administrator creates.
const noProvisioner = "kubernetes.io/no-provisioner"

// naming explains a claim that names its volume.
func (s *claimSync) naming(claim *corev1.PersistentVolumeClaim, d claimsync.Decision) {
	name := claim.Spec.VolumeName
	switch d.Rule {
	case "BIND-059a":
		s.set(d.Rule, fmt.Sprintf("it names volume %s, which does not exist", name), "create volume "+name)
	case "BIND-059b":
		s.rejections = []match.Rejection{d.Rejection}
		s.set(d.Rule, fmt.Sprintf("it names volume %s, which does not fit", name), "create another claim, or change the volume")
	case "BIND-059c":
		s.set(d.Rule, fmt.Sprintf("it names volume %s, which is free", name), "")
	case "BIND-059d":
		s.set(d.Rule, fmt.Sprintf("it names volume %s, which is reserved for it", name), "")
	case "BIND-059e", "BIND-059f":
		s.set(d.Rule, fmt.Sprintf("it names volume %s, which is %s", name, match.DescribeOwner(d.Volume, claim)), clearClaimRef(name))
	case "BIND-060b":
		s.set(d.Rule, fmt.Sprintf("it was bound to volume %s, which no longer exists", name),
			fmt.Sprintf("create volume %s again, with the same storage behind it; if that is gone too, delete the claim, and restore a backup to a new one", name))
	case "BIND-060c":
		s.set(d.Rule, fmt.Sprintf("volume %s lost its claimRef and will be bound to the claim again", name), "")
	case "BIND-060d":
		s.set(d.Rule, fmt.Sprintf("it is bound to volume %s", name), "")
	case "BIND-060e":
		s.set(d.Rule, fmt.Sprintf("its volume %s is %s", name, match.DescribeOwner(d.Volume, claim)), clearClaimRef(name))
	}
}

func clearClaimRef(volume string) string {
	return fmt.Sprintf("remove the claimRef of volume %s", volume)
}
