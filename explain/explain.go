package explain

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/match"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/objname"
	"github.com/volsim/volsim/internal/core/snapshot"
	"github.com/volsim/volsim/internal/core/store"
)

// Explainer explains the objects of one snapshot. Its answers may share memory, so they must not be changed.
type Explainer struct {
	snapshot *snapshot.Snapshot
	ix       *index
}

// New is for package volsim: callers use Cluster.Explain. It returns an Explainer of a snapshot, which must not change afterwards.
func New(s snapshot.Snapshot) *Explainer { return &Explainer{snapshot: &s, ix: newIndex(&s)} }

// Brief returns an Explainer of the same snapshot that omits candidates. It is faster for many objects.
func (ex *Explainer) Brief() *Explainer {
	ix := *ex.ix
	ix.brief, ix.searches, ix.matches = true, map[*corev1.PersistentVolumeClaim]search{}, map[demand]match.Decision{}
	return &Explainer{snapshot: ex.snapshot, ix: &ix}
}

// Object explains a claim, pod, volume, attachment, namespace or workload (StatefulSet, Deployment and so on). Other kinds are an error. If
// the object does not exist, apierrors.IsNotFound holds for the error.
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
	case store.NamespaceKind:
		for _, obj := range x.Namespaces {
			if obj.Name == ref.Key {
				return x.namespace(obj), nil
			}
		}
	default:
		if _, ok := makers[ref.Kind]; !ok {
			return Explanation{}, fmt.Errorf(
				"explain %s: cannot explain this kind; want a claim (pvc), pod, volume (pv), attachment (va) or a workload such as deployment", objname.Of(ref))
		}
		if obj, ok := x.workloads().all[ref]; ok {
			return x.workload(obj), nil
		}
	}
	gvk := store.GroupVersionKind(ref.Kind)
	_, name := objects.SplitKey(ref.Key)
	missing := apierrors.NewNotFound(schema.GroupResource{Group: gvk.Group, Resource: strings.ToLower(gvk.Kind) + "s"}, name)
	return Explanation{}, fmt.Errorf("explain %s: %w", objname.Of(ref), missing)
}

// explainer builds one explanation. Each object is explained once in it.
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
	return Explanation{Object: objname.Of(api.RefTo(obj)), Phase: phase, now: x.Now}
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

// collected are the finalizers of the garbage collector (GC-020).
var collected = []string{metav1.FinalizerDeleteDependents, metav1.FinalizerOrphanDependents}

// blockedByFinalizers explains an object that is being deleted and has finalizers which no simulated component but the garbage collector removes.
func (x *explainer) blockedByFinalizers(e *Explanation, finalizers []string) {
	finalizers = slices.DeleteFunc(slices.Clone(finalizers), func(name string) bool { return isOneOf(name, collected) })
	if len(finalizers) == 0 {
		e.because("GC-020", "it is being deleted, and its dependents first")
		e.next(actors.GarbageCollector, "removes its finalizer when no dependent is left")
		e.automatic(x.Now, "GC-020", "with the next pass of the garbage collector")
		return
	}
	// BIND-016: an object is gone when its last finalizer is removed.
	e.because("BIND-016", "it is being deleted, and finalizer "+strings.Join(finalizers, ", ")+" blocks that")
	e.todo("check the component that set the finalizer, or remove the finalizer")
	e.manual("no simulated component removes that finalizer")
}

// alsoBlockedBy notes finalizers that block the deletion of an object after what e says.
func (x *Explanation) alsoBlockedBy(finalizers []string) {
	if len(finalizers) > 0 {
		x.Notes = append(x.Notes, "finalizer "+strings.Join(finalizers, ", ")+" also blocks its deletion")
	}
}

// without returns the finalizers of an object that are not among known.
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
