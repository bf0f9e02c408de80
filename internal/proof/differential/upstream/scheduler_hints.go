package upstream

import (
	"context"
	"fmt"
	_ "unsafe" // for go:linkname

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/proof/differential/harness"
)

//go:linkname buildQueueingHintMap k8s.io/kubernetes/pkg/scheduler.buildQueueingHintMap
func buildQueueingHintMap(ctx context.Context, es []fwk.EnqueueExtensions) (queue.QueueingHintMap, error)

// resources are the kinds that plugins register for by name.
var resources = map[api.Kind]fwk.EventResource{
	api.PersistentVolume: fwk.PersistentVolume, api.PersistentVolumeClaim: fwk.PersistentVolumeClaim, api.StorageClass: fwk.StorageClass,
	api.CSINode: fwk.CSINode, api.CSIDriver: fwk.CSIDriver, api.CSIStorageCapacity: fwk.CSIStorageCapacity,
	api.VolumeAttachment: fwk.VolumeAttachment, api.Node: fwk.Node,
}

// Requeues reports whether a plugin that rejected a pod requeues it when an object changes. old is nil for a new object, now for a
// deleted one.
func (s *Scheduler) Requeues(plugin string, pod *corev1.Pod, old, now api.Object) (bool, error) {
	if s.hints == nil {
		var err error
		if s.hints, err = buildQueueingHintMap(s.ctx, s.real.Profiles[corev1.DefaultSchedulerName].EnqueueExtensions()); err != nil {
			return false, err
		}
	}
	events, err := eventsOf(old, now)
	if err != nil {
		return false, err
	}
	// The hints test the interface for nil, so a nil pointer must become nil.
	var before, after any
	if old != nil {
		before = old
	}
	if now != nil {
		after = now
	}
	for _, event := range events {
		for registered, hints := range s.hints {
			if !framework.MatchClusterEvents(registered, event) {
				continue
			}
			for _, hint := range hints {
				if hint.PluginName != plugin {
					continue
				}
				// An error requeues the pod.
				if answer, err := hint.QueueingHintFn(harness.Discard, pod, before, after); answer == fwk.Queue || err != nil {
					return true, nil
				}
			}
		}
	}
	return false, nil
}

// eventsOf returns the scheduler's events for a change.
func eventsOf(old, now api.Object) ([]fwk.ClusterEvent, error) {
	action, obj := fwk.Update, now
	switch {
	case old == nil:
		action = fwk.Add
	case now == nil:
		action, obj = fwk.Delete, old
	}
	kind := api.KindOf(obj)
	switch {
	case kind == api.Pod && action == fwk.Delete:
		return []fwk.ClusterEvent{framework.EventAssignedPodDelete}, nil
	case kind == api.Pod && action == fwk.Add:
		return []fwk.ClusterEvent{framework.EventAssignedPodAdd}, nil
	case kind == api.Pod:
		return framework.PodSchedulingPropertiesChange(now.(*corev1.Pod), old.(*corev1.Pod)), nil
	case kind == api.Node && action == fwk.Update:
		return framework.NodeSchedulingPropertiesChange(now.(*corev1.Node), old.(*corev1.Node)), nil
	case resources[kind] == "":
		return nil, fmt.Errorf("changes of a %s are not asked about", kind)
	}
	return []fwk.ClusterEvent{{Resource: resources[kind], ActionType: action}}, nil
}
