package schedule

import (
	"errors"
	"maps"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
)

// reservation has the choices for a pod, which are written before the pod is bound to its node.
type reservation struct {
	pod  *corev1.Pod
	node string // on which the pod is assumed to be
	// allBound is true if all claims of the pod are bound, so there is nothing to write and nothing to wait for.
	allBound bool
	// bindings has the volumes and provisions the claims to write. After a write they are replaced by the stored version.
	bindings   []pairing
	provisions []*corev1.PersistentVolumeClaim
	// canceled is the reason why the pod must not be bound, nil if there is none. wake ends the wait for its volumes.
	canceled error
	wake     engine.Signal
}

// errPreempted cancels the binding of a pod that is preempted before it is bound (SCHED-242).
var errPreempted = errors.New("preempted by DefaultPreemption")

// cancel ends the binding of the pod's volumes.
func (r *reservation) cancel(why error) {
	r.canceled = why
	r.wake.Broadcast()
}

// reserve assumes the volumes and claims of a pod as they will be written, so that later cycles respect them (SCHED-130 to SCHED-133). It
// checks neither topology nor capacity again (SCHED-108). After an error nothing is assumed.
func (s *scheduler) reserve(pod *corev1.Pod, node string, claims claimKeys, volumes nodeVolumes) (*reservation, error) {
	// SCHED-108: the choices of the filters are final.
	r := &reservation{pod: pod, node: node}
	// SCHED-130: bound claims need no reservation.
	if s.allBound(claims) {
		r.allBound = true
		return r, nil
	}
	// SCHED-148: a claim that two volumes of the pod name gets two volumes, and both are written.
	for _, b := range volumes.bindings {
		pv, changed := withClaim(b.pv, b.claim)
		// SCHED-132: later cycles see the volume as taken.
		if changed {
			if err := s.volumes.assume(pv); err != nil {
				// SCHED-133: the volume has changed since it was chosen.
				s.unreserve(r)
				return nil, err
			}
		}
		r.bindings = append(r.bindings, pairing{pv, b.claim})
	}
	for _, claim := range volumes.provisions {
		claim = withNode(claim, node)
		// SCHED-132, SCHED-136: from now on, other pods with the claim fit on this node only.
		if err := s.claims.assume(claim); err != nil {
			s.unreserve(r)
			return nil, err
		}
		r.provisions = append(r.provisions, claim)
	}
	return r, nil
}

// allBound reports whether each of the claims is bound (SCHED-130).
func (s *scheduler) allBound(claims claimKeys) bool {
	for _, key := range claims {
		if key == "" {
			continue
		}
		if claim, ok := s.claims.get(key); !ok || !fullyBound(claim) {
			return false
		}
	}
	return true
}

// unreserve removes the assumptions for a pod (SCHED-135).
func (s *scheduler) unreserve(r *reservation) {
	s.restore(r.bindings, r.provisions)
}

func (s *scheduler) restore(bindings []pairing, provisions []*corev1.PersistentVolumeClaim) {
	for _, b := range bindings {
		s.volumes.restore(b.pv)
	}
	for _, claim := range provisions {
		s.claims.restore(claim)
	}
}

// withClaim returns the volume with a claimRef to the claim, and whether that changes it (SCHED-131).
func withClaim(pv *corev1.PersistentVolume, claim *corev1.PersistentVolumeClaim) (bound *corev1.PersistentVolume, changed bool) {
	ref := pv.Spec.ClaimRef
	// SCHED-131: it names the claim already.
	if ref != nil && ref.Name == claim.Name && ref.Namespace == claim.Namespace && ref.UID == claim.UID {
		return pv, false
	}
	b := *pv
	b.Spec.ClaimRef = &corev1.ObjectReference{
		Kind: "PersistentVolumeClaim", APIVersion: "v1",
		Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID, ResourceVersion: claim.ResourceVersion,
	}
	// SCHED-131, SCHED-003: a volume that a user reserved for the claim does not get the annotation.
	if !objects.IsMine(pv, claim) {
		b.Annotations = annotated(pv.Annotations, objects.AnnBoundByController, objects.AnnYes)
	}
	return &b, true
}

// withNode returns the claim with the node selected for it, which starts its provisioning (SCHED-142).
func withNode(claim *corev1.PersistentVolumeClaim, node string) *corev1.PersistentVolumeClaim {
	c := *claim
	// SCHED-001, SCHED-142: the annotation that provisioners wait for.
	c.Annotations = annotated(claim.Annotations, objects.AnnSelectedNode, node)
	return &c
}

func annotated(annotations map[string]string, key, value string) map[string]string {
	all := maps.Clone(annotations)
	if all == nil {
		all = map[string]string{}
	}
	all[key] = value
	return all
}
