package evidence

import (
	"cmp"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/intree"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/snapshots"
)

// reader has the objects of a dump, by key, and the evidence found so far.
type reader struct {
	now         time.Time
	claims      []*corev1.PersistentVolumeClaim
	pods        []*corev1.Pod
	nodes       []*corev1.Node
	attachments []*storagev1.VolumeAttachment
	leases      []*coordinationv1.Lease
	volumes     map[string]*corev1.PersistentVolume
	classes     map[string]*storagev1.StorageClass
	drivers     map[string]*storagev1.CSIDriver
	csiNodes    map[string]*storagev1.CSINode
	events      map[api.Ref][]*corev1.Event

	// signs are the drivers that show that they are installed, by what shows it. lastMade is when a driver last made a volume.
	signs    map[string]string
	lastMade map[string]time.Time
	// lastWord is when the provisioner of a driver last wrote an Event about a failure.
	lastWord map[string]time.Time
	// lastResized is when the resizer of a driver last wrote an Event.
	lastResized map[string]time.Time
	// largest is the size of the largest volume of a driver.
	largest map[string]resource.Quantity
	// snapshots are the VolumeSnapshots and their contents, and snapshotClasses their classes.
	snapshots       []api.Object
	snapshotClasses map[string]*snapshots.Class
	found           []Assumption
	// full has the drivers without room: an error about one claim that counts for all.
	full []Assumption
}

func newReader(objs []api.Object, now time.Time) *reader {
	r := &reader{now: now, volumes: map[string]*corev1.PersistentVolume{}, classes: map[string]*storagev1.StorageClass{},
		drivers: map[string]*storagev1.CSIDriver{}, csiNodes: map[string]*storagev1.CSINode{}, events: map[api.Ref][]*corev1.Event{},
		signs: map[string]string{}, lastMade: map[string]time.Time{}, lastWord: map[string]time.Time{},
		largest: map[string]resource.Quantity{}, snapshotClasses: map[string]*snapshots.Class{},
		lastResized: map[string]time.Time{}}
	for _, obj := range objs {
		switch obj := obj.(type) {
		case *corev1.PersistentVolumeClaim:
			r.claims = append(r.claims, obj)
		case *corev1.Pod:
			r.pods = append(r.pods, obj)
		case *corev1.Node:
			r.nodes = append(r.nodes, obj)
		case *storagev1.VolumeAttachment:
			r.attachments = append(r.attachments, obj)
		case *coordinationv1.Lease:
			r.leases = append(r.leases, obj)
		case *corev1.PersistentVolume:
			// MIG-001: an in-tree volume is read as a volume of the CSI driver that replaced its plugin.
			if pv, err := intree.Volume(obj); err == nil {
				obj = pv
			}
			r.volumes[obj.Name] = obj
			r.made(obj)
			r.sized(obj)
		case *storagev1.StorageClass:
			r.classes[obj.Name] = obj
		case *storagev1.CSIDriver:
			r.drivers[obj.Name] = obj
			r.signs[obj.Name] = "its CSIDriver exists"
		case *storagev1.CSINode:
			r.csiNodes[obj.Name] = obj
			for _, driver := range obj.Spec.Drivers {
				r.signs[driver.Name] = "it is registered on node " + obj.Name
			}
		case *corev1.Event:
			about := &obj.InvolvedObject
			ref := api.Ref{Kind: api.Kind(about.Kind), Key: api.Key(about.Namespace, about.Name)}
			r.events[ref] = append(r.events[ref], obj)
			if driver, ok := strings.CutPrefix(source(obj), "external-resizer "); ok && lastTime(obj).After(r.lastResized[driver]) {
				r.lastResized[driver] = lastTime(obj)
			}
			if driver, _, ok := strings.Cut(source(obj), "_"); ok {
				r.signs[driver] = "it has written Events"
				if at := lastTime(obj); obj.Reason == "ProvisioningFailed" && at.After(r.lastWord[driver]) {
					r.lastWord[driver] = at
				}
			}
		default:
			r.keepSnapshot(obj)
		}
	}
	return r
}

// made records a volume that a driver has created.
func (r *reader) made(pv *corev1.PersistentVolume) {
	driver := pv.Annotations[objects.AnnProvisionedBy]
	if driver == "" {
		return
	}
	r.signs[driver] = "it has created volume " + pv.Name
	if at := pv.CreationTimestamp.Time; at.After(r.lastMade[driver]) {
		r.lastMade[driver] = at
	}
}

// about returns the Events about an object that match accepts, oldest first.
func (r *reader) about(obj api.Object, match func(*corev1.Event) bool) []*corev1.Event {
	var all []*corev1.Event
	for _, event := range r.events[api.RefTo(obj)] {
		if uid := event.InvolvedObject.UID; (uid == "" || obj.GetUID() == "" || uid == obj.GetUID()) && match(event) {
			all = append(all, event)
		}
	}
	slices.SortStableFunc(all, func(a, b *corev1.Event) int { return lastTime(a).Compare(lastTime(b)) })
	return all
}

// total returns how often Events happened, and the first and the last time.
func total(events []*corev1.Event) (count int, since, last time.Time) {
	for _, event := range events {
		n := int(event.Count)
		if event.Series != nil {
			n = int(event.Series.Count)
		}
		count += max(n, 1)
		if at := firstTime(event); !at.IsZero() && (since.IsZero() || at.Before(since)) {
			since = at
		}
		if at := lastTime(event); at.After(last) {
			last = at
		}
	}
	return count, since, last
}

func firstTime(event *corev1.Event) time.Time {
	switch {
	case !event.FirstTimestamp.IsZero():
		return event.FirstTimestamp.Time
	case !event.EventTime.IsZero():
		return event.EventTime.Time
	case !event.CreationTimestamp.IsZero():
		return event.CreationTimestamp.Time
	}
	return lastTime(event)
}

func lastTime(event *corev1.Event) time.Time {
	switch {
	case event.Series != nil && !event.Series.LastObservedTime.IsZero():
		return event.Series.LastObservedTime.Time
	case !event.LastTimestamp.IsZero():
		return event.LastTimestamp.Time
	case !event.EventTime.IsZero():
		return event.EventTime.Time
	}
	return event.CreationTimestamp.Time
}

// source returns the component that wrote an Event.
func source(event *corev1.Event) string {
	return cmp.Or(event.Source.Component, event.ReportingController)
}

func hasReason(reasons ...string) func(*corev1.Event) bool {
	return func(event *corev1.Event) bool { return slices.Contains(reasons, event.Reason) }
}

// fromOutside accepts Events that the PersistentVolume controller did not write: the simulation reproduces its own errors.
func fromOutside(match func(*corev1.Event) bool) func(*corev1.Event) bool {
	return func(event *corev1.Event) bool { return match(event) && source(event) != actors.PersistentVolume }
}

// driverOf returns the driver that has to create a volume for the claim; "" for an in-tree plugin, and without a class.
func (r *reader) driverOf(claim *corev1.PersistentVolumeClaim) string {
	class := r.classes[objects.ClassOf(claim)]
	if class == nil {
		return ""
	}
	if migrated, ok := objects.MigratedDriver(class.Provisioner); ok {
		return migrated
	}
	if strings.HasPrefix(class.Provisioner, backends.InTreePrefix) {
		return ""
	}
	return class.Provisioner
}
