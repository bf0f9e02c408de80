package schedule

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
)

// bind runs the binding cycle of a pod whose node was chosen (SCHED-027 to SCHED-029).
func (s *scheduler) bind(p *engine.Process, item *queuedPod, r *reservation) {
	err := s.preBind(p, item, r)
	if err == nil {
		err = s.bindPod(p, item.key, r)
	}
	if err == nil {
		// SCHED-029: the Event comes after the binding.
		s.events.Event(p, r.pod, corev1.EventTypeNormal, "Scheduled", "Successfully assigned "+r.pod.Namespace+"/"+r.pod.Name+" to "+r.node)
		return
	}
	// SCHED-169, SCHED-135: assumptions are removed, written objects stay.
	s.unreserve(r)
	if s.pods.isAssumed(item.key) && s.pods.pods[item.key].pod.UID == r.pod.UID {
		s.pods.remove(item.key)
	}
	// SCHED-169, SCHED-277: others may fit now.
	s.podGone(onNode(r.pod, r.node), nil)
	s.fail(p, item, err, new(""))
}

// preBind writes the pod's volumes and waits until its claims are bound (SCHED-028, SCHED-140 to SCHED-167).
func (s *scheduler) preBind(p *engine.Process, item *queuedPod, r *reservation) error {
	if r.allBound {
		return nil
	}
	// SCHED-028: the nomination shows which node was chosen. An error does not matter.
	patched, _ := s.patchStatus(p, item.pod, nil, &r.node)
	item.set(patched)
	key := api.KeyOf(r.pod)
	if s.preBinding == nil {
		s.preBinding = map[string]*reservation{}
	}
	s.preBinding[key] = r
	defer func() {
		if s.preBinding[key] == r {
			delete(s.preBinding, key)
		}
	}()
	err := s.writeVolumes(p, r)
	if err == nil {
		if err = s.waitForVolumes(p, r); err != nil {
			// SCHED-144: the text of the error.
			err = fmt.Errorf("binding volumes: %w", err)
		}
	}
	if r.canceled != nil {
		// SCHED-242: preemption precedes any other error.
		err = r.canceled
	}
	if err != nil {
		// SCHED-144: the text of the error.
		return fmt.Errorf("running PreBind plugin %q: %w", volumeBinding, err)
	}
	return nil
}

// writeVolumes writes the reserved volumes, then the claims (SCHED-140). The first error ends it: what was written stays, and the
// assumptions of the rest are removed (SCHED-143).
func (s *scheduler) writeVolumes(p *engine.Process, r *reservation) error {
	// SCHED-140, SCHED-141: the PersistentVolume controller binds the claims of these volumes.
	for i := range r.bindings {
		if r.canceled != nil {
			s.restore(r.bindings[i:], r.provisions)
			return r.canceled
		}
		pv, err := s.api.Volumes.Update(p, r.bindings[i].pv)
		if err != nil {
			// SCHED-143: the rest is not written.
			s.restore(r.bindings[i:], r.provisions)
			return err
		}
		r.bindings[i].pv = pv
	}
	for i := range r.provisions {
		if r.canceled != nil {
			s.restore(nil, r.provisions[i:])
			return r.canceled
		}
		claim, err := s.api.Claims.Update(p, r.provisions[i])
		if err != nil {
			s.restore(nil, r.provisions[i:])
			return err
		}
		// SCHED-142: the wait compares with the stored version.
		r.provisions[i] = claim
	}
	return nil
}

// bindPod binds the pod to its node.
func (s *scheduler) bindPod(p *engine.Process, key string, r *reservation) error {
	// SCHED-029, SCHED-239: by a Binding, which names the uid of the pod.
	_, err := s.api.Bind(p, key, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.pod.Namespace, Name: r.pod.Name, UID: r.pod.UID},
		Target:     corev1.ObjectReference{Kind: string(api.Node), Name: r.node},
	})
	if err != nil {
		// SCHED-170: the text of the error.
		return fmt.Errorf("running Bind plugin %q: %w", "DefaultBinder", err)
	}
	return nil
}
