package schedule

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
)

// waitForVolumes waits until the claims of a pod are bound. It checks once a second, but skips checks before which nothing has changed:
// they would find the same. Settle does not wait for such a wait.
func (s *scheduler) waitForVolumes(p *engine.Process, r *reservation) error {
	start := s.now()
	expired := false
	// SCHED-167: the wait ends with an error after BindTimeout.
	deadline := s.actor.Background(s.cfg.BindTimeout, "timeout of the binding of "+api.KeyOf(r.pod), func(*engine.Process) {
		expired = true
		r.wake.Broadcast()
	})
	defer deadline.Stop()
	for {
		// SCHED-006, SCHED-168: checks come at whole seconds after the start, not at the start.
		for next := s.now().Add(bindPollInterval - s.now().Sub(start)%bindPollInterval); s.now().Before(next) && r.canceled == nil; {
			r.wake.Wait(p, next.Sub(s.now()))
		}
		if r.canceled != nil {
			return r.canceled
		}
		if expired || s.now().Sub(start) >= s.cfg.BindTimeout {
			return context.DeadlineExceeded
		}
		// SCHED-150 to SCHED-165: one check.
		if done, err := s.bound(r); done || err != nil {
			// SCHED-164: bound, or a final error.
			return err
		}
		refs := s.awaitedBy(r)
		s.watching.add(refs, &r.wake)
		r.wake.Wait(p, 0)
		s.watching.drop(refs, &r.wake)
		if expired {
			return context.DeadlineExceeded
		}
	}
}

// bound reports whether the claims of a pod are bound. An error is final. The checks come in the order of the rules, and the first that
// does not hold ends them (SCHED-165). It reads the informers, not the assumed versions.
func (s *scheduler) bound(r *reservation) (bool, error) {
	node, ok := s.inf.nodes.Get(r.node)
	if !ok {
		// SCHED-150: the node was deleted.
		return false, fmt.Errorf("failed to get node %q: %w", r.node, noNode(r.node))
	}
	if _, ok := s.inf.pods.Get(api.KeyOf(r.pod)); !ok {
		// SCHED-151, SCHED-166: the pod was deleted; a deletionTimestamp does not count.
		return false, fmt.Errorf("pod does not exist any more: %w", noPod(r.pod.Name))
	}
	for _, b := range r.bindings {
		if done, err := s.volumeBound(b, node); !done {
			return false, err
		}
	}
	for _, claim := range r.provisions {
		if done, err := s.claimProvisioned(claim, node); !done {
			return false, err
		}
	}
	// SCHED-164, SCHED-166: a claim may be bound to another volume than the chosen one.
	return true, nil
}

// volumeBound checks a volume that was chosen for a claim (SCHED-152 to SCHED-156).
func (s *scheduler) volumeBound(b pairing, node *corev1.Node) (bool, error) {
	// SCHED-152: volume and claim have to exist.
	pv, ok := s.inf.volumes.Get(b.pv.Name)
	if !ok {
		return false, fmt.Errorf("failed to check binding: %w", notFound("", "persistentvolumes", b.pv.Name))
	}
	claim, ok := s.inf.claims.Get(api.KeyOf(b.claim))
	if !ok {
		return false, fmt.Errorf("failed to check binding: %w", notFound("", "persistentvolumeclaims", api.KeyOf(b.claim)))
	}
	// SCHED-153: the informer has not delivered the write yet.
	if older(pv, b.pv) {
		return false, nil
	}
	// SCHED-154: the node affinity of the volume changed.
	if !objects.AdmitsNode(pv, node.Labels) {
		return false, outOfReach(pv, node)
	}
	// SCHED-155: the volume was released from the claim.
	if pv.Spec.ClaimRef == nil || pv.Spec.ClaimRef.UID == "" {
		return false, fmt.Errorf("ClaimRef got reset for pv %q", pv.Name)
	}
	// SCHED-156: the claim decides.
	return fullyBound(claim), nil
}

// claimProvisioned checks a claim that was given to a provisioner (SCHED-157 to SCHED-163).
func (s *scheduler) claimProvisioned(written *corev1.PersistentVolumeClaim, node *corev1.Node) (bool, error) {
	claim, ok := s.inf.claims.Get(api.KeyOf(written))
	if !ok {
		// SCHED-157: the claim was deleted.
		return false, fmt.Errorf("failed to check provisioning pvc: %w", notFound("", "persistentvolumeclaims", api.KeyOf(written)))
	}
	// SCHED-158: the informer has not delivered the write yet.
	if older(claim, written) {
		return false, nil
	}
	// SCHED-159: all annotations are gone.
	if len(claim.Annotations) == 0 {
		return false, fmt.Errorf("selectedNode annotation reset for PVC %q", claim.Name)
	}
	// SCHED-160: a provisioner removes the annotation to give up.
	if claim.Annotations[objects.AnnSelectedNode] != node.Name {
		return false, fmt.Errorf("provisioning failed for PVC %q", claim.Name)
	}
	if name := claim.Spec.VolumeName; name != "" {
		pv, ok := s.inf.volumes.Get(name)
		if !ok {
			// SCHED-161: the informer has not delivered the volume yet.
			return false, nil
		}
		// SCHED-162: the provisioned volume has to be reachable.
		if !objects.AdmitsNode(pv, node.Labels) {
			return false, outOfReach(pv, node)
		}
	}
	// SCHED-163: the claim decides.
	return fullyBound(claim), nil
}

func outOfReach(pv *corev1.PersistentVolume, node *corev1.Node) error {
	// SCHED-154: an invalid term is reported instead of the mismatch.
	why := unreadable(pv.Spec.NodeAffinity.Required.NodeSelectorTerms)
	if why == nil {
		why = errors.New("no matching NodeSelectorTerms")
	}
	return fmt.Errorf("pv %q node affinity doesn't match node %q: %w", pv.Name, node.Name, why)
}

// unreadable returns the errors of terms that cannot match any node, such as a label compared with a text by Gt; nil if there are none.
func unreadable(terms []corev1.NodeSelectorTerm) error {
	operators := map[corev1.NodeSelectorOperator]selection.Operator{corev1.NodeSelectorOpGt: selection.GreaterThan,
		corev1.NodeSelectorOpLt: selection.LessThan}
	var errs []error
	for i := range terms {
		for j, r := range terms[i].MatchExpressions {
			operator, compares := operators[r.Operator]
			if !compares {
				continue // validation by the API server covers the other operators
			}
			path := field.NewPath("nodeSelectorTerms").Index(i).Child("matchExpressions").Index(j)
			if _, err := labels.NewRequirement(r.Key, operator, r.Values, field.WithPath(path)); err != nil {
				errs = append(errs, err)
			}
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return utilerrors.Flatten(utilerrors.NewAggregate(errs))
}

// older reports whether a version of an object is older than another.
func older(a, b api.Object) bool {
	version := func(obj api.Object) uint64 {
		v, err := strconv.ParseUint(obj.GetResourceVersion(), 10, 64)
		if err != nil {
			return 0 // the store writes numbers
		}
		return v
	}
	return version(a) < version(b)
}

// awaitedBy returns the objects whose change may end the wait for a pod's volumes, in order and each once.
func (s *scheduler) awaitedBy(r *reservation) []api.Ref {
	refs := []api.Ref{api.RefTo(r.pod), {Kind: api.Node, Key: r.node}}
	for _, b := range r.bindings {
		refs = append(refs, api.RefTo(b.pv), api.RefTo(b.claim))
	}
	for _, claim := range r.provisions {
		refs = append(refs, api.RefTo(claim))
		if now, ok := s.inf.claims.Get(api.KeyOf(claim)); ok && now.Spec.VolumeName != "" {
			refs = append(refs, api.Ref{Kind: api.PersistentVolume, Key: now.Spec.VolumeName})
		}
	}
	slices.SortFunc(refs, func(a, b api.Ref) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Key, b.Key)) })
	return slices.Compact(refs)
}

// watching knows who waits for a change of an object.
type watching map[api.Ref][]*engine.Signal

func (w *watching) add(refs []api.Ref, signal *engine.Signal) {
	if *w == nil {
		*w = watching{}
	}
	for _, ref := range refs {
		(*w)[ref] = append((*w)[ref], signal)
	}
}

func (w watching) drop(refs []api.Ref, signal *engine.Signal) {
	for _, ref := range refs {
		rest := slices.DeleteFunc(w[ref], func(other *engine.Signal) bool { return other == signal })
		if len(rest) == 0 {
			delete(w, ref)
		} else {
			w[ref] = rest
		}
	}
}

// changed wakes the waits for the object.
func (w watching) changed(obj api.Object) {
	if len(w) == 0 {
		return
	}
	for _, signal := range w[api.RefTo(obj)] {
		signal.Broadcast()
	}
}
