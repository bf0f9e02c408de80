package predict

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/explain"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

// Kind says what sort of thing happens.
type Kind string

// The kinds of outcomes.
const (
	Changes Kind = "changes" // an object changes
	Stops   Kind = "stops"   // containers of a pod stop
	Loses   Kind = "loses"   // data is deleted
	Warns   Kind = "warns"   // somebody complains
)

// Outcome is one thing that happens.
type Outcome struct {
	At    time.Time `json:"at"`
	After Span      `json:"after"` // since the beginning
	Kind  Kind      `json:"kind"`
	// Object names it: pod/namespace/name, pv/name.
	Object string `json:"object"`
	What   string `json:"what"`
	// Anyway is set if it would have happened without the change.
	Anyway bool `json:"anyway,omitempty"`
	// Loss is what is lost, for Loses.
	Loss *Loss `json:"-"`
}

func (o *Outcome) id() string { return o.Object + " " + o.What }

func (r *run) outcome(o Outcome) {
	if o.At.IsZero() {
		o.At = r.Now()
	}
	o.After = Span(o.At.Sub(r.start))
	r.outcomes = append(r.outcomes, o)
}

// observe turns what was traced since the last time into outcomes.
func (r *run) observe() {
	for e := range r.Trace().Since(r.shown) {
		r.shown = e.Seq
		switch e.Type {
		case trace.Write:
			if e.Err == nil && e.Old != e.New && e.Verb != "load" {
				r.written(&e)
			}
		case trace.Storage:
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

// warned notes a complaint, each once.
func (r *run) warned(e *trace.Entry) {
	o := Outcome{At: e.Time, Kind: Warns, Object: explain.Name(e.Object), What: e.Reason + ": " + e.Text}
	if id := o.id(); !r.sawWarn[id] {
		r.sawWarn[id] = true
		r.outcome(o)
	}
}

// lost notes that a storage system deleted a volume, or what is on it. To delete it again is nothing new.
func (r *run) lost(e *trace.Entry) {
	for _, name := range sortedKeys(r.volumes) {
		pv := r.volumes[name]
		if handleOf(pv) != e.Call.Key || backendOf(pv) != e.Call.Target {
			continue
		}
		loss := lossOf(pv)
		what := "its data is deleted with the volume"
		if e.Call.Verb == string(storage.Recycle) {
			what = "its data is removed from the volume"
		}
		o := Outcome{At: e.Time, Kind: Loses, Object: "pv/" + pv.Name, What: fmt.Sprintf("%s (%s of %s)", what, loss.Handle, loss.Backend), Loss: &loss}
		if !r.sawLost[o.id()] {
			r.sawLost[o.id()] = true
			r.outcome(o)
		}
		return
	}
}

// written notes what a write means for people.
func (r *run) written(e *trace.Entry) {
	o := Outcome{At: e.Time, Kind: Changes, Object: explain.Name(e.Object)}
	if pv, ok := e.New.(*corev1.PersistentVolume); ok {
		r.volumes[pv.Name] = pv
	}
	if claim, ok := e.New.(*corev1.PersistentVolumeClaim); ok {
		r.outside.claims[api.KeyOf(claim)] = claim
	}
	switch e.Object.Kind {
	case api.Pod:
		o.What = podChange(e)
		if before, ok := e.Old.(*corev1.Pod); ok && e.New == nil && before != nil && before.Spec.NodeName != "" && !objects.Terminated(before) {
			o.Kind = Stops
		}
		if before, after := asPod(e.Old), asPod(e.New); before != nil && after != nil && running(before) && !running(after) {
			o.Kind = Stops
		}
	case api.PersistentVolumeClaim, api.PersistentVolume:
		o.What = phaseChange(e)
	case api.VolumeAttachment:
		o.Object, o.What = attachmentChange(e)
	case api.Node:
		o.What = nodeChange(e)
		r.outside.nodeWritten(e)
	}
	if o.What != "" {
		r.outcome(o)
	}
}

func asPod(obj api.Object) *corev1.Pod {
	pod, _ := obj.(*corev1.Pod)
	return pod
}

func podChange(e *trace.Entry) string {
	before, after := asPod(e.Old), asPod(e.New)
	switch {
	case after == nil:
		return "is gone"
	case before == nil:
		return "is created"
	case before.Spec.NodeName == "" && after.Spec.NodeName != "":
		return "is placed on node " + after.Spec.NodeName
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

// phaseOf is the phase of a claim or a volume, and what it is bound to.
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
		return "is gone"
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
	return ""
}

// attachmentChange is told of the volume: people do not know attachments by their names.
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
		return "is gone"
	case isReady(before) && !isReady(after):
		return "counts as not ready"
	case !isReady(before) && isReady(after):
		return "is ready"
	}
	return ""
}

func handleOf(pv *corev1.PersistentVolume) string { return storage.Handle(pv) }

// backendOf is the name of the storage system that the volume is in.
func backendOf(pv *corev1.PersistentVolume) string {
	switch {
	case pv.Spec.CSI != nil:
		return pv.Spec.CSI.Driver
	case pv.Annotations[objects.AnnProvisionedBy] != "":
		return pv.Annotations[objects.AnnProvisionedBy]
	case pv.Spec.NFS != nil:
		return "kubernetes.io/nfs"
	}
	return "kubernetes.io/host-path"
}
