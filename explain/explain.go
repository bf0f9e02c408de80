package explain

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/snapshot"
	"github.com/volsim/volsim/internal/core/store"
)

// Explainer explains objects of a snapshot. It may be asked again and again, as long as nothing in the snapshot changes. What it returns may
// share memory with what it returns later: it is not to be modified.
type Explainer struct {
	snapshot *snapshot.Snapshot
	ix       *index
}

// Brief is an explainer of the same snapshot that leaves candidates out: for looking at many objects.
func (ex *Explainer) Brief() *Explainer {
	ix := *ex.ix
	ix.brief, ix.searches = true, map[*corev1.PersistentVolumeClaim]search{}
	return &Explainer{snapshot: ex.snapshot, ix: &ix}
}

// New returns an Explainer of a snapshot.
func New(s snapshot.Snapshot) *Explainer { return &Explainer{snapshot: &s, ix: newIndex(&s)} }

// Object explains one object of a snapshot; see Explainer.Object.
func Object(ref api.Ref, s snapshot.Snapshot) (Explanation, error) { return New(s).Object(ref) }

// Object explains the claim, pod, volume or attachment of that name. One that does not exist is an error for which
// apierrors.IsNotFound holds; other kinds are refused.
func (ex *Explainer) Object(ref api.Ref) (Explanation, error) {
	x := &explainer{Snapshot: ex.snapshot, index: ex.ix, seen: map[api.Ref]bool{}}
	switch ref.Kind {
	case api.PersistentVolumeClaim:
		if claim, ok := x.claims[ref.Key]; ok {
			return x.claim(claim), nil
		}
	case api.Pod:
		if pod, ok := x.pods[ref.Key]; ok {
			return x.pod(pod), nil
		}
	case api.PersistentVolume:
		if pv, ok := x.volumes[ref.Key]; ok {
			return x.volume(pv), nil
		}
	case api.VolumeAttachment:
		if va, ok := x.attachments[ref.Key]; ok {
			return x.attachment(va), nil
		}
	default:
		return Explanation{}, fmt.Errorf("explain %s: only claims (pvc), pods (pod), volumes (pv) and attachments (va) are explained", Name(ref))
	}
	gvk := store.GroupVersionKind(ref.Kind)
	_, name := objects.SplitKey(ref.Key)
	missing := apierrors.NewNotFound(schema.GroupResource{Group: gvk.Group, Resource: strings.ToLower(gvk.Kind) + "s"}, name)
	return Explanation{}, fmt.Errorf("explain %s: %w", Name(ref), missing)
}

// explainer draws up one explanation. What was explained once is not explained again further down.
type explainer struct {
	*snapshot.Snapshot
	*index
	seen map[api.Ref]bool
}

// begin starts the explanation of an object.
func (x *explainer) begin(obj api.Object, phase string) Explanation {
	x.seen[api.RefTo(obj)] = true
	if obj.GetDeletionTimestamp() != nil {
		phase = "Terminating"
	}
	return Explanation{Object: nameOf(obj), Phase: phase}
}

func (x *explainer) addClaim(e *Explanation, key string) {
	if claim, ok := x.claims[key]; ok && !x.seen[api.RefTo(claim)] {
		e.Related = append(e.Related, x.claim(claim))
	}
}

func (x *explainer) addVolume(e *Explanation, name string) {
	if pv, ok := x.volumes[name]; ok && !x.seen[api.RefTo(pv)] {
		e.Related = append(e.Related, x.volume(pv))
	}
}

func (x *explainer) addPod(e *Explanation, pod *corev1.Pod) {
	if !x.seen[api.RefTo(pod)] {
		e.Related = append(e.Related, x.pod(pod))
	}
}

// keptBy explains an object whose finalizers nobody here takes off.
func (x *explainer) keptBy(e *Explanation, finalizers []string) {
	// BIND-016
	e.say("BIND-016", "it is being deleted, and finalizer "+strings.Join(finalizers, ", ")+" keeps it")
	e.next(Somebody, "has to take the finalizer off: whoever put it there")
	e.never("no component that is simulated takes that finalizer off")
}

// without lists the finalizers of an object that are none of these.
func without(obj api.Object, known ...string) []string {
	var others []string
	for _, finalizer := range obj.GetFinalizers() {
		if !isOneOf(finalizer, known) {
			others = append(others, finalizer)
		}
	}
	return others
}

func isOneOf(s string, all []string) bool {
	for _, other := range all {
		if s == other {
			return true
		}
	}
	return false
}
