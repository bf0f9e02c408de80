package binder

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/snapshot"
	"github.com/volsim/volsim/storage"
)

// Explanation says why a claim is where it is: what the controller finds when it looks at it.
type Explanation struct {
	// Claim is the key of the claim, Phase its phase.
	Claim string
	Phase corev1.PersistentVolumeClaimPhase
	// Rule is the rule that decides, and Text says the same in words.
	Rule string
	Text string
	// Volume is the volume that the claim has, or will get; "" if there is none.
	Volume string
	// Next says who has to do what before anything changes; "" when nothing is to be done.
	Next string
	// Refusals has, for a claim that looks for a volume, each volume that it will not get, with the first rule that refused it.
	Refusals []Refusal
}

// String is the explanation in lines for people to read.
func (x Explanation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "claim %s is %s: %s (%s)", x.Claim, x.Phase, x.Text, x.Rule)
	if x.Next != "" {
		fmt.Fprintf(&b, "\nnext: %s", x.Next)
	}
	for _, r := range x.Refusals {
		fmt.Fprintf(&b, "\n  %s", r)
	}
	return b.String()
}

// Explainer explains claims of one snapshot, as long as nothing in it changes.
type Explainer struct {
	*snapshot.Snapshot
	// Brief leaves the refusals out, which cost most.
	Brief bool

	volumes map[string]*corev1.PersistentVolume
	classes map[string]*storagev1.StorageClass
	// waiting are the names of the pods without a node that use a claim, by its key; nil before anybody asked.
	waiting map[string][]string
}

// NewExplainer prepares for explanations of claims of the snapshot.
func NewExplainer(s *snapshot.Snapshot) *Explainer {
	e := &Explainer{
		Snapshot: s,
		volumes:  make(map[string]*corev1.PersistentVolume, len(s.Volumes)),
		classes:  make(map[string]*storagev1.StorageClass, len(s.Classes)),
	}
	for _, pv := range s.Volumes {
		e.volumes[pv.Name] = pv
	}
	for _, class := range s.Classes {
		e.classes[class.Name] = class
	}
	return e
}

// Explain explains one claim of the snapshot; see Explainer.Explain.
func Explain(claim *corev1.PersistentVolumeClaim, s *snapshot.Snapshot) Explanation {
	return NewExplainer(s).Explain(claim)
}

// Explain follows claim sync through its rules, without doing anything.
func (e *Explainer) Explain(claim *corev1.PersistentVolumeClaim) Explanation {
	x := Explanation{Claim: api.KeyOf(claim), Phase: claim.Status.Phase, Volume: claim.Spec.VolumeName}
	switch {
	case isBindCompleted(claim):
		x.explainBound(claim, e)
	case claim.Spec.VolumeName != "":
		x.explainReserving(claim, e)
	default:
		x.explainUnbound(claim, e)
	}
	return x
}

func (x *Explanation) say(rule, text, next string) { x.Rule, x.Text, x.Next = rule, text, next }

const nextSync = "the PersistentVolume controller, at its next sync of the claim"

func (x *Explanation) explainBound(claim *corev1.PersistentVolumeClaim, e *Explainer) {
	pv := e.volumes[claim.Spec.VolumeName]
	switch {
	case claim.Spec.VolumeName == "":
		x.say("BIND-060a", "it was bound, and its volumeName is gone; its data cannot be found again", "")
	case pv == nil:
		x.say("BIND-060b", fmt.Sprintf("it was bound, and volume %q does not exist any more", claim.Spec.VolumeName),
			fmt.Sprintf("somebody has to create a volume named %q again", claim.Spec.VolumeName))
	case pv.Spec.ClaimRef == nil:
		x.say("BIND-060c", fmt.Sprintf("volume %q does not point at it any more, and will be taken again as it is", pv.Name), nextSync)
	case pv.Spec.ClaimRef.UID == claim.UID:
		next := ""
		if claim.Status.Phase != corev1.ClaimBound {
			next = nextSync
		}
		x.say("BIND-060d", fmt.Sprintf("it and volume %q point at each other", pv.Name), next)
	default:
		x.say("BIND-060e", fmt.Sprintf("volume %q belongs to %s", pv.Name, describeClaimRef(pv)),
			"somebody has to clear the claimRef of the volume")
	}
}

func (x *Explanation) explainReserving(claim *corev1.PersistentVolumeClaim, e *Explainer) {
	pv := e.volumes[claim.Spec.VolumeName]
	if pv == nil {
		x.say("BIND-059a", fmt.Sprintf("it asks for volume %q, which does not exist", claim.Spec.VolumeName), "somebody has to create that volume")
		return
	}
	if pv.Spec.ClaimRef == nil {
		if ok, why := Satisfies(claim, pv); !ok {
			want, got := satisfyWantGot(claim, pv)
			x.Refusals = []Refusal{{Volume: pv.Name, Rule: "MATCH-030", Want: want, Got: got}}
			x.say("BIND-059b", fmt.Sprintf("it asks for volume %q, which will not do: %s", pv.Name, why),
				"somebody has to create another claim, or change the volume")
			return
		}
		x.say("BIND-059c", fmt.Sprintf("it asks for volume %q, which is free", pv.Name), nextSync)
		return
	}
	if IsMine(pv, claim) {
		x.say("BIND-059d", fmt.Sprintf("it asks for volume %q, which is reserved for it", pv.Name), nextSync)
		return
	}
	rule := "BIND-059e"
	if _, byController := claim.Annotations[AnnBoundByController]; byController {
		rule = "BIND-059f"
	}
	x.say(rule, fmt.Sprintf("it asks for volume %q, which belongs to %s", pv.Name, describeClaimRef(pv)),
		"somebody has to clear the claimRef of the volume")
}

func (x *Explanation) explainUnbound(claim *corev1.PersistentVolumeClaim, e *Explainer) {
	class := e.classes[ClassOf(claim)]
	delayed, err := IsDelayed(class)
	if err != nil {
		x.say("BIND-052", err.Error(), "somebody has to repair the class")
		return
	}
	d := Match(claim, e.Volumes, Options{Delayed: delayed, Explain: !e.Brief})
	x.Refusals = d.Refusals
	if d.Err != nil {
		x.say("BIND-053", d.Err.Error(), "somebody has to create another claim")
		return
	}
	if d.Volume != nil {
		x.Volume = d.Volume.Name
		x.say("BIND-054", fmt.Sprintf("volume %q fits (%s)", d.Volume.Name, d.Rule), nextSync)
		return
	}
	if !HasClass(claim) {
		if chosen := DefaultClass(e.Classes); chosen != nil {
			x.say("BIND-055", fmt.Sprintf("no volume fits, so it gets the default class %q", chosen.Name), nextSync)
			return
		}
	}
	_, nodeSelected := claim.Annotations[AnnSelectedNode]
	switch {
	case delayed && !nodeSelected:
		x.explainWaiting(claim, e)
	case ClassOf(claim) == "":
		x.say("BIND-058", "no volume fits, and it asks for no class that could make one", "somebody has to create a volume that fits")
	case e.DisableProvisioning:
		x.say("PROV-020", "no volume fits, and dynamic provisioning is switched off", "somebody has to create a volume that fits")
	case class == nil:
		x.say("PROV-021", fmt.Sprintf("no volume fits, and its class %q does not exist", ClassOf(claim)), "somebody has to create the class, or a volume that fits")
	case class.Provisioner == noProvisioner:
		x.say("PROV-024", fmt.Sprintf("no volume fits, and its class %q makes none", class.Name), "somebody has to create a volume that fits")
	case e.noPlugin(class.Provisioner):
		x.say("PROV-024", fmt.Sprintf("no volume fits, and no plugin is there that makes them under the name %s", class.Provisioner), "somebody has to create a volume that fits")
	default:
		x.say("BIND-057", fmt.Sprintf("no volume fits; %s is to make one", class.Provisioner), "provisioner "+class.Provisioner)
	}
}

// satisfyWantGot spells the two values of the test of MATCH-030 that a volume failed.
func satisfyWantGot(claim *corev1.PersistentVolumeClaim, pv *corev1.PersistentVolume) (want, got string) {
	capacity, request := capacityOf(pv), requestOf(claim)
	// MATCH-030: in the order of Satisfies.
	switch {
	case pv.DeletionTimestamp != nil:
		return "no deletionTimestamp", "deletionTimestamp " + pv.DeletionTimestamp.UTC().Format(time.RFC3339)
	case capacity.Value() < request.Value():
		return "capacity of at least " + request.String(), "capacity " + capacity.String()
	case ClassOfVolume(pv) != ClassOf(claim):
		return fmt.Sprintf("storageClassName %q", ClassOf(claim)), fmt.Sprintf("storageClassName %q", ClassOfVolume(pv))
	case objects.ValueOf(pv.Spec.VolumeAttributesClassName) != objects.ValueOf(claim.Spec.VolumeAttributesClassName):
		return fmt.Sprintf("volumeAttributesClassName %q", objects.ValueOf(claim.Spec.VolumeAttributesClassName)),
			fmt.Sprintf("volumeAttributesClassName %q", objects.ValueOf(pv.Spec.VolumeAttributesClassName))
	case volumeModeMismatch(claim, pv):
		return "volumeMode " + string(objects.VolumeModeOf(claim.Spec.VolumeMode)), "volumeMode " + string(objects.VolumeModeOf(pv.Spec.VolumeMode))
	}
	return "access modes " + describeModes(claim.Spec.AccessModes), describeModes(pv.Spec.AccessModes)
}

// noProvisioner is the provisioner of classes whose volumes are made by hand.
const noProvisioner = "kubernetes.io/no-provisioner"

// noPlugin reports whether the name is that of an in-tree plugin that cannot provision, or is not there (PROV-024).
func (e *Explainer) noPlugin(name string) bool {
	if !strings.HasPrefix(name, storage.InTreePrefix) {
		return false
	}
	if _, migrated := MigratedDriver(name); migrated || e.Backends == nil {
		return false
	}
	_, err := e.Backends.ProvisionableByName(name)
	return err != nil
}

func (x *Explanation) explainWaiting(claim *corev1.PersistentVolumeClaim, e *Explainer) {
	names := e.waitingPods(api.KeyOf(claim))
	_, text := waitingFor(names)
	next := "the scheduler has to place a pod that uses it"
	if len(names) == 0 {
		next = "somebody has to create a pod that uses it, for the scheduler to place"
	}
	x.say("BIND-056", text, next)
}

// waitingPods are the names of the pods without a node that use the claim.
func (e *Explainer) waitingPods(claim string) []string {
	if e.waiting == nil {
		e.waiting = map[string][]string{}
		for _, pod := range e.Pods {
			if pod.Spec.NodeName != "" || objects.Terminated(pod) {
				continue
			}
			for _, key := range objects.ClaimsOf(pod) {
				e.waiting[key] = append(e.waiting[key], pod.Name)
			}
		}
	}
	return e.waiting[claim]
}
