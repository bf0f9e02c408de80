package explain

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/attach"
	"github.com/volsim/volsim/internal/controllers/schedule"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/storage"
)

// World is what explanations are drawn from: the objects as the API server has them. It reads them only.
type World struct {
	schedule.World
	AttributesClasses []*storagev1.VolumeAttributesClass
	// Events are where components left their last errors; without them an explanation says less.
	Events []*corev1.Event
	// Now is the time that waits are counted from.
	Now time.Time
	// Backends are the storage systems there are; nil is none that is known.
	Backends *storage.Set
	// DisableProvisioning is that of the PersistentVolume controller.
	DisableProvisioning bool
	// Silent tells whether the kubelet of a node is down or cut off, whatever the Node says; nil believes the Node.
	Silent func(node string) bool
	// DetachWanted tells since when the attach/detach controller has wanted to detach a volume from a node, if it knows; nil, and
	// false, have it begin to count now, as after its restart.
	DetachWanted func(volume corev1.UniqueVolumeName, node string) (since time.Time, ok bool)
}

// WorldOf is the world that a store holds.
func WorldOf(s *store.Store, now time.Time) World {
	return World{
		World: schedule.World{
			Pods:        s.Pods.List(),
			Nodes:       s.Nodes.List(),
			Volumes:     s.Volumes.List(),
			Claims:      s.Claims.List(),
			Classes:     s.Classes.List(),
			Drivers:     s.CSIDrivers.List(),
			CSINodes:    s.CSINodes.List(),
			Capacities:  s.Capacities.List(),
			Attachments: s.Attachments.List(),
		},
		AttributesClasses: s.AttributesClasses.List(),
		Events:            s.Events.List(),
		Now:               now,
	}
}

func (w *World) backends() *storage.Set {
	if w.Backends == nil {
		return &storage.Set{}
	}
	return w.Backends
}

// alive reports whether the kubelet of the node can be counted on.
func (w *World) alive(node *corev1.Node) bool {
	return attach.Healthy(node) && (w.Silent == nil || !w.Silent(node.Name))
}

func timeOf(event *corev1.Event) time.Time {
	switch {
	case !event.LastTimestamp.IsZero():
		return event.LastTimestamp.Time
	case event.Series != nil:
		return event.Series.LastObservedTime.Time
	case !event.EventTime.IsZero():
		return event.EventTime.Time
	}
	return event.CreationTimestamp.Time
}

// reasoned accepts Events of that reason.
func reasoned(reason string) func(*corev1.Event) bool {
	return func(event *corev1.Event) bool { return event.Reason == reason }
}
