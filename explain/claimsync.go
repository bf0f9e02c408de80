package explain

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/match"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/storage"
)

// claimSync is what the PersistentVolume controller would do at the next sync of a claim.
type claimSync struct {
	// rule decides, and text says why.
	rule, text string
	// todo is what a person has to do before anything changes; "" if a component acts, or nothing is to be done.
	todo string
	// volume is the volume that the claim has, or will get; "" if there is none.
	volume string
	// rejections has, for a claim that needs a volume, each volume that it will not get.
	rejections []match.Rejection
}

// syncOf follows the sync of a claim through its rules, without doing anything.
func (x *explainer) syncOf(claim *corev1.PersistentVolumeClaim) claimSync {
	s := claimSync{volume: claim.Spec.VolumeName}
	_, completed := claim.Annotations[objects.AnnBindCompleted]
	switch {
	case completed:
		s.bound(claim, x)
	case claim.Spec.VolumeName != "":
		s.reserving(claim, x)
	default:
		s.unbound(claim, x)
	}
	return s
}

func (s *claimSync) set(rule, text, todo string) { s.rule, s.text, s.todo = rule, text, todo }

// bound is a claim that was bound once.
func (s *claimSync) bound(claim *corev1.PersistentVolumeClaim, x *explainer) {
	name := claim.Spec.VolumeName
	pv := x.volumes[name]
	switch {
	case name == "":
		s.set("BIND-060a", "it was bound, but its volumeName is gone, so its volume is unknown", "")
	case pv == nil:
		s.set("BIND-060b", fmt.Sprintf("it was bound to volume %s, which no longer exists", name),
			fmt.Sprintf("create volume %s again, with the same storage behind it", name))
	case pv.Spec.ClaimRef == nil:
		s.set("BIND-060c", fmt.Sprintf("volume %s lost its claimRef and will be bound to the claim again", name), "")
	case pv.Spec.ClaimRef.UID == claim.UID:
		s.set("BIND-060d", fmt.Sprintf("it is bound to volume %s", name), "")
	default:
		s.set("BIND-060e", fmt.Sprintf("its volume %s is %s", name, match.DescribeOwner(pv, claim)), clearClaimRef(pv))
	}
}

// reserving is a claim that names its volume and was never bound.
func (s *claimSync) reserving(claim *corev1.PersistentVolumeClaim, x *explainer) {
	name := claim.Spec.VolumeName
	pv := x.volumes[name]
	switch {
	case pv == nil:
		s.set("BIND-059a", fmt.Sprintf("it names volume %s, which does not exist", name), "create volume "+name)
	case pv.Spec.ClaimRef == nil:
		if ok, _, rejection := match.Named(claim, pv); !ok {
			s.rejections = []match.Rejection{rejection}
			s.set("BIND-059b", fmt.Sprintf("it names volume %s, which does not fit", name), "create another claim, or change the volume")
			return
		}
		s.set("BIND-059c", fmt.Sprintf("it names volume %s, which is free", name), "")
	case objects.IsMine(pv, claim):
		s.set("BIND-059d", fmt.Sprintf("it names volume %s, which is reserved for it", name), "")
	default:
		rule := "BIND-059e"
		if _, byController := claim.Annotations[objects.AnnBoundByController]; byController {
			rule = "BIND-059f"
		}
		s.set(rule, fmt.Sprintf("it names volume %s, which is %s", name, match.DescribeOwner(pv, claim)), clearClaimRef(pv))
	}
}

func clearClaimRef(pv *corev1.PersistentVolume) string {
	return fmt.Sprintf("remove the claimRef of volume %s", pv.Name)
}

// createFitting is the remedy where no component creates a volume.
const createFitting = "create a volume that fits"

// unbound is a claim that names no volume.
func (s *claimSync) unbound(claim *corev1.PersistentVolumeClaim, x *explainer) {
	name := objects.ClassOf(claim)
	class := x.classes[name]
	delayed, err := objects.IsDelayed(class)
	if err != nil {
		s.set("BIND-052", err.Error(), fmt.Sprintf("create storage class %q again, with a volumeBindingMode", name))
		return
	}
	d := match.Best(claim, x.Volumes, match.Options{Delayed: delayed, Explain: !x.brief})
	s.rejections = d.Rejections
	if d.Err != nil {
		s.set("BIND-053", d.Err.Error(), "create another claim")
		return
	}
	if d.Volume != nil {
		s.volume = d.Volume.Name
		s.set("BIND-054", fmt.Sprintf("volume %s fits (%s)", d.Volume.Name, d.Rule), "")
		return
	}
	if !objects.HasClass(claim) {
		if chosen := objects.DefaultClass(x.Classes); chosen != nil {
			s.set("BIND-055", fmt.Sprintf("no volume fits, so it gets the default storage class %q", chosen.Name), "")
			return
		}
	}
	_, nodeSelected := claim.Annotations[objects.AnnSelectedNode]
	switch {
	case delayed && !nodeSelected:
		s.set("BIND-056", fmt.Sprintf("storage class %q delays binding until the scheduler places a pod that uses the claim", name), "")
	case name == "":
		s.set("BIND-058", "no volume fits, and it has no storage class that could create one", createFitting)
	case x.DisableProvisioning:
		s.set("PROV-020", "no volume fits, and dynamic provisioning is disabled", createFitting)
	case class == nil:
		s.set("PROV-021", fmt.Sprintf("no volume fits, and its storage class %q does not exist", name),
			fmt.Sprintf("create storage class %q, or a volume that fits", name))
	case class.Provisioner == noProvisioner:
		s.set("PROV-024", fmt.Sprintf("no volume fits, and storage class %q does not create volumes", name), createFitting)
	case x.noPlugin(class.Provisioner):
		s.set("PROV-024", fmt.Sprintf("no volume fits, and no plugin %s can create one", class.Provisioner), createFitting)
	default:
		s.set("BIND-057", fmt.Sprintf("no volume fits; %s has to create one", class.Provisioner), "")
	}
}

// noProvisioner is the provisioner of classes whose volumes an administrator creates.
const noProvisioner = "kubernetes.io/no-provisioner"

// noPlugin reports whether the name is that of an in-tree plugin that cannot provision or does not exist (PROV-024).
func (x *explainer) noPlugin(name string) bool {
	if !strings.HasPrefix(name, storage.InTreePrefix) {
		return false
	}
	if _, migrated := objects.MigratedDriver(name); migrated || x.Backends == nil {
		return false
	}
	_, err := x.Backends.ProvisionableByName(name)
	return err != nil
}
