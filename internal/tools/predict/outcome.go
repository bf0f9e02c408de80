package predict

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/objkinds"
	"github.com/volsim/volsim/internal/core/objname"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

// Kind is the kind of an outcome.
type Kind string

// The kinds of outcomes.
const (
	Changes Kind = "changes" // an object changes
	Stops   Kind = "stops"   // containers of a pod stop
	Loses   Kind = "loses"   // data is deleted
	Warns   Kind = "warns"   // a component emits a Warning Event
)

// Outcome is one effect.
type Outcome struct {
	At    time.Time `json:"at"`
	After Span      `json:"after"` // since the start
	Kind  Kind      `json:"kind"`
	// Object is its name: pod/namespace/name, pv/name.
	Object string `json:"object"`
	What   string `json:"what"`
	// Anyway is set if it also happens without the change.
	Anyway bool `json:"anyway,omitempty"`
	// Loss is set for Loses.
	Loss *Data `json:"-"`
	// Owner is the name of the workload that controls the object; "" if there is none.
	Owner string `json:"-"`
}

func (o *Outcome) id() string { return o.Object + " " + o.What }

func (r *run) outcome(o Outcome) {
	if o.At.IsZero() {
		o.At = r.Now()
	}
	o.After = Span(o.At.Sub(r.start))
	r.outcomes = append(r.outcomes, o)
}

// observe converts the trace entries since the last call into outcomes.
func (r *run) observe() {
	for e := range r.Trace().Since(r.observed) {
		r.observed = e.Seq
		switch e.Type {
		case trace.Write:
			if e.Err == nil && e.Old != e.New && e.Verb != "load" {
				r.written(&e)
			}
		case trace.Storage:
			if e.Verb == "end" && e.Err == nil {
				r.relyOnCall(&e)
			}
			if e.Verb == "end" && e.Err == nil && (e.Call.Verb == string(storage.Delete) || e.Call.Verb == string(storage.Recycle)) {
				r.lost(&e)
			}
		case trace.Emitted:
			if e.Verb == corev1.EventTypeWarning {
				r.warned(&e)
			}
		}
	}
}

// warned records a Warning Event, once.
func (r *run) warned(e *trace.Entry) {
	o := Outcome{At: e.Time, Kind: Warns, Object: objname.Of(e.Object), What: e.Reason + ": " + e.Text}
	if id := o.id(); !r.reportedWarnings[id] {
		r.reportedWarnings[id] = true
		r.outcome(o)
	}
}

// lost records that a storage system deleted or scrubbed a volume, once for each volume.
func (r *run) lost(e *trace.Entry) {
	for _, name := range sortedKeys(r.volumes) {
		pv := r.volumes[name]
		if handleOf(pv) != e.Call.Key || backendOf(pv) != e.Call.Target {
			continue
		}
		r.deleted[name] = true
		loss := dataOf(pv)
		what := "volume and data deleted"
		if e.Call.Verb == string(storage.Recycle) {
			what = "data deleted, volume kept"
		}
		o := Outcome{At: e.Time, Kind: Loses, Object: "pv/" + pv.Name, What: fmt.Sprintf("%s (%s in %s)", what, loss.Handle, loss.Backend),
			Loss: &loss}
		if !r.reportedLosses[o.id()] {
			r.reportedLosses[o.id()] = true
			r.outcome(o)
		}
		return
	}
}

// written records the outcome of a write, if it has one.
func (r *run) written(e *trace.Entry) {
	o := Outcome{At: e.Time, Kind: Changes, Object: objname.Of(e.Object), Owner: ownerOf(cmp.Or(e.New, e.Old))}
	if pv, ok := e.New.(*corev1.PersistentVolume); ok {
		before, _ := e.Old.(*corev1.PersistentVolume)
		r.relyOnSize(before, pv)
		r.volumes[pv.Name] = pv
	}
	if claim, ok := e.New.(*corev1.PersistentVolumeClaim); ok {
		r.workloads.claims[api.KeyOf(claim)] = claim
	}
	switch e.Object.Kind {
	case api.Pod:
		o.What = podChange(e)
		if pod := asPod(e.New); pod != nil && o.What == "is Running" {
			r.relyOnContainers(pod)
		}
		if before, ok := e.Old.(*corev1.Pod); ok && e.New == nil && before != nil && before.Spec.NodeName != "" && !objects.Terminated(before) {
			o.Kind = Stops
		}
		if before, after := asPod(e.Old), asPod(e.New); before != nil && after != nil && running(before) && !running(after) {
			o.Kind = Stops
		}
	case api.PersistentVolumeClaim, api.PersistentVolume:
		o.What = phaseChange(e)
	case api.VolumeAttachment:
		if object, what := attachmentChange(e); what != "" {
			o.Object, o.What = object, what
		} else if api.IsUser(e.Actor) {
			o.What = otherChange(e)
		}
	case api.Node:
		o.What = nodeChange(e)
	case api.CSINode, api.CSIStorageCapacity, api.Event:
		// Components write these all the time; what the user does to them counts.
		if api.IsUser(e.Actor) {
			o.What = otherChange(e)
		}
	default:
		o.What = otherChange(e)
	}
	if o.What == "" && api.IsUser(e.Actor) && !slices.Contains(silentKinds, e.Object.Kind) {
		o.What = fieldChange(e.Old, e.New)
	}
	if o.What != "" {
		r.outcome(o)
	}
	if e.New == nil {
		r.deprived(e.Object)
	}
}

// ownerOf returns the name of the object that controls another one; "" if there is none.
func ownerOf(obj api.Object) string {
	owner := metav1.GetControllerOfNoCopy(obj)
	if owner == nil {
		return ""
	}
	group, _, found := strings.Cut(owner.APIVersion, "/")
	if !found {
		group = ""
	}
	return objname.Of(api.Ref{Kind: api.Kind(objkinds.Name(group, owner.Kind)), Key: api.Key(obj.GetNamespace(), owner.Name)})
}

func asPod(obj api.Object) *corev1.Pod {
	pod, _ := obj.(*corev1.Pod)
	return pod
}

func podChange(e *trace.Entry) string {
	before, after := asPod(e.Old), asPod(e.New)
	switch {
	case after == nil:
		return "is deleted"
	case before == nil:
		return "is created"
	case before.Spec.NodeName == "" && after.Spec.NodeName != "":
		return "is scheduled to node " + after.Spec.NodeName
	case before.DeletionTimestamp != nil && running(before) && !running(after):
		return "has stopped"
	case before.Status.Phase != after.Status.Phase:
		return fmt.Sprintf("is %s", after.Status.Phase)
	case before.DeletionTimestamp == nil && after.DeletionTimestamp != nil:
		return "is being deleted"
	case running(before) && !running(after):
		return "has stopped"
	}
	return ""
}

// phaseOf returns the phase of a claim or a volume and, for a claim, its volume.
func phaseOf(obj api.Object) (phase, other string) {
	switch obj := obj.(type) {
	case *corev1.PersistentVolumeClaim:
		return string(obj.Status.Phase), obj.Spec.VolumeName
	case *corev1.PersistentVolume:
		return string(obj.Status.Phase), ""
	}
	return "", ""
}

func phaseChange(e *trace.Entry) string {
	switch {
	case e.New == nil:
		return "is deleted"
	case e.Old == nil:
		return "is created"
	}
	before, _ := phaseOf(e.Old)
	after, other := phaseOf(e.New)
	switch {
	case before != after && after == string(corev1.ClaimBound) && other != "":
		return "is Bound to volume " + other
	case before != after:
		return "is " + after
	case e.Old.GetDeletionTimestamp() == nil && e.New.GetDeletionTimestamp() != nil:
		return "is being deleted"
	}
	switch before := e.Old.(type) {
	case *corev1.PersistentVolumeClaim:
		return claimChange(before, e.New.(*corev1.PersistentVolumeClaim))
	case *corev1.PersistentVolume:
		return volumeChange(before, e.New.(*corev1.PersistentVolume))
	}
	return ""
}

// claimChange describes a change of the size or the class of a claim that keeps its phase.
func claimChange(before, after *corev1.PersistentVolumeClaim) string {
	switch from, to := before.Status.Capacity.Storage(), after.Status.Capacity.Storage(); {
	case to.Cmp(*from) > 0 && !from.IsZero():
		return fmt.Sprintf("grows from %s to %s", from, to)
	case before.Spec.Resources.Requests.Storage().Cmp(*after.Spec.Resources.Requests.Storage()) != 0:
		return fmt.Sprintf("requests %s instead of %s", after.Spec.Resources.Requests.Storage(), before.Spec.Resources.Requests.Storage())
	case resizes(after) != resizes(before) && resizes(after) != "":
		return resizes(after)
	case before.Spec.StorageClassName == nil && after.Spec.StorageClassName != nil:
		return "gets storage class " + *after.Spec.StorageClassName
	}
	if from, to := objects.ValueOf(before.Status.CurrentVolumeAttributesClassName),
		objects.ValueOf(after.Status.CurrentVolumeAttributesClassName); from != to && to != "" {
		return "is modified to VolumeAttributesClass " + to
	}
	return ""
}

// resizes describes what is left of an expansion; "" is nothing.
func resizes(claim *corev1.PersistentVolumeClaim) string {
	for _, c := range claim.Status.Conditions {
		switch {
		case c.Status != corev1.ConditionTrue:
		case c.Type == corev1.PersistentVolumeClaimFileSystemResizePending:
			return "waits for its file system to be expanded on a node"
		case c.Type == corev1.PersistentVolumeClaimResizing:
			return "is being expanded"
		}
	}
	return ""
}

// volumeChange describes a change of a volume that keeps its phase.
func volumeChange(before, after *corev1.PersistentVolume) string {
	switch from, to := before.Spec.Capacity.Storage(), after.Spec.Capacity.Storage(); {
	case to.Cmp(*from) != 0:
		return fmt.Sprintf("grows from %s to %s", from, to)
	case before.Spec.PersistentVolumeReclaimPolicy != after.Spec.PersistentVolumeReclaimPolicy:
		return fmt.Sprintf("has reclaim policy %s instead of %s", after.Spec.PersistentVolumeReclaimPolicy,
			before.Spec.PersistentVolumeReclaimPolicy)
	case before.Spec.ClaimRef != nil && after.Spec.ClaimRef == nil:
		return "is no longer reserved for a claim"
	}
	return ""
}

// silentKinds are kinds whose objects tell users nothing that their owners do not tell.
var silentKinds = []api.Kind{"ControllerRevision.apps", "Lease.coordination.k8s.io", "Endpoints", "EndpointSlice.discovery.k8s.io"}

// otherChange describes that an object of another kind comes, goes or is scaled.
func otherChange(e *trace.Entry) string {
	switch {
	case slices.Contains(silentKinds, e.Object.Kind):
	case e.New == nil:
		return "is deleted"
	case e.Old == nil:
		return "is created"
	case e.Old.GetDeletionTimestamp() == nil && e.New.GetDeletionTimestamp() != nil:
		return "is being deleted"
	default:
		from, scales := replicas(e.Old)
		if to, _ := replicas(e.New); scales && from != to {
			return fmt.Sprintf("is scaled from %d to %d", from, to)
		}
	}
	return ""
}

// replicas returns spec.replicas of a workload.
func replicas(obj api.Object) (n int64, ok bool) {
	doc, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return 0, false
	}
	n, ok, err = unstructured.NestedInt64(doc, "spec", "replicas")
	return n, ok && err == nil
}

// attachmentChange returns an outcome of the volume, because names of VolumeAttachments mean nothing to users.
func attachmentChange(e *trace.Entry) (object, what string) {
	before, _ := e.Old.(*storagev1.VolumeAttachment)
	after, _ := e.New.(*storagev1.VolumeAttachment)
	switch {
	case after == nil && before != nil:
		return "pv/" + objects.ValueOf(before.Spec.Source.PersistentVolumeName), "is detached from node " + before.Spec.NodeName
	case before != nil && after != nil && !before.Status.Attached && after.Status.Attached:
		return "pv/" + objects.ValueOf(after.Spec.Source.PersistentVolumeName), "is attached to node " + after.Spec.NodeName
	}
	return "", ""
}

func nodeChange(e *trace.Entry) string {
	before, _ := e.Old.(*corev1.Node)
	after, _ := e.New.(*corev1.Node)
	switch {
	case before == nil:
		return "is created"
	case after == nil:
		return "is deleted"
	case isReady(before) && !isReady(after):
		return "becomes NotReady"
	case !isReady(before) && isReady(after):
		return "becomes Ready"
	case !before.Spec.Unschedulable && after.Spec.Unschedulable:
		return "is cordoned"
	case before.Spec.Unschedulable && !after.Spec.Unschedulable:
		return "is uncordoned"
	}
	return ""
}

func handleOf(pv *corev1.PersistentVolume) string { return backends.Handle(pv) }

// backendOf returns the name of the storage system of the volume.
func backendOf(pv *corev1.PersistentVolume) string {
	switch {
	case objects.CSIOf(pv) != nil:
		return objects.CSIOf(pv).Driver
	case pv.Annotations[objects.AnnProvisionedBy] != "":
		return pv.Annotations[objects.AnnProvisionedBy]
	case pv.Spec.NFS != nil:
		return "kubernetes.io/nfs"
	}
	return "kubernetes.io/host-path"
}

func isReady(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}
