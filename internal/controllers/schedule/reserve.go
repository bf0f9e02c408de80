package schedule

import (
	"errors"
	"maps"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
)

// reservation is what was decided for a pod, and has to be written before it is bound to its node.
type reservation struct {
	pod *corev1.Pod // assumed to be on its node
	// allBound says that the pod's claims have their volumes; then nothing is written and nothing waited for.
	allBound bool
	// bindings are volumes as they are to be written, provisions claims. After the write they are as the server stored them.
	bindings   []pairing
	provisions []*corev1.PersistentVolumeClaim
	// canceled says why the pod is not to be bound after all; nil if it is. wake ends the wait for its volumes.
	canceled error
	wake     engine.Signal
}

// errPreempted is why a pod is not bound that has to go for another one before (SCHED-242).
var errPreempted = errors.New("preempted by DefaultPreemption")

// cancel ends the binding of the pod's volumes.
func (r *reservation) cancel(why error) {
	r.canceled = why
	r.wake.Broadcast()
}

func (r *reservation) node() string { return r.pod.Spec.NodeName }

// reserve assumes the volumes and claims of a pod as they will be when it is bound, so that later cycles count on them
// (SCHED-130 to SCHED-133). What the filters found is taken as it is: neither topology nor capacity is looked at again (SCHED-108). After
// an error nothing is assumed.
func (s *scheduler) reserve(pod *corev1.Pod, volumes nodeVolumes) (*reservation, error) {
	// SCHED-108: what is in volumes was found to be right, and that is that.
	r := &reservation{pod: pod}
	// SCHED-130
	if s.allBound(pod) {
		r.allBound = true
		return r, nil
	}
	// SCHED-148: a claim that two volumes name has two pairs, and both volumes are written.
	for _, b := range volumes.bindings {
		pv, changed := withClaim(b.pv, b.claim)
		// SCHED-132
		if changed {
			if err := s.volumes.assume(pv); err != nil {
				// SCHED-133
				s.unreserve(r)
				return nil, err
			}
		}
		r.bindings = append(r.bindings, pairing{pv, b.claim})
	}
	for _, claim := range volumes.provisions {
		claim = withNode(claim, pod.Spec.NodeName)
		// SCHED-132, SCHED-136: others that use the claim are bound to the same node from now on.
		if err := s.claims.assume(claim); err != nil {
			s.unreserve(r)
			return nil, err
		}
		r.provisions = append(r.provisions, claim)
	}
	return r, nil
}

// allBound reports whether each claim of the pod has its volume (SCHED-130).
func (s *scheduler) allBound(pod *corev1.Pod) bool {
	for _, key := range objects.ClaimsOf(pod) {
		if claim, ok := s.claims.get(key); !ok || !fullyBound(claim) {
			return false
		}
	}
	return true
}

// unreserve takes back what was assumed for a pod (SCHED-135).
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

// withClaim is the volume as it is written to bind it to the claim, and whether that is a change (SCHED-131).
func withClaim(pv *corev1.PersistentVolume, claim *corev1.PersistentVolumeClaim) (bound *corev1.PersistentVolume, changed bool) {
	ref := pv.Spec.ClaimRef
	// SCHED-131
	if ref != nil && ref.Name == claim.Name && ref.Namespace == claim.Namespace && ref.UID == claim.UID {
		return pv, false
	}
	b := *pv
	b.Spec.ClaimRef = &corev1.ObjectReference{
		Kind: "PersistentVolumeClaim", APIVersion: "v1",
		Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID, ResourceVersion: claim.ResourceVersion,
	}
	// SCHED-131, SCHED-003: what a user reserved is not the scheduler's doing.
	if !objects.IsMine(pv, claim) {
		b.Annotations = annotated(pv.Annotations, objects.AnnBoundByController, objects.AnnYes)
	}
	return &b, true
}

// withNode is the claim as it is written to have it provisioned for the node (SCHED-142).
func withNode(claim *corev1.PersistentVolumeClaim, node string) *corev1.PersistentVolumeClaim {
	c := *claim
	// SCHED-001, SCHED-142
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
