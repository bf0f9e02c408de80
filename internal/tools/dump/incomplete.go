package dump

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/store"
)

// workloads are the kinds whose controllers create objects, each after the kind of these objects. read reports whether a controller has seen
// the workload, and how many objects it then had. One without a number of replicas would have one. Pods that have terminated count if
// terminated is set: their controllers delete them and create others.
var workloads = []struct {
	kind       api.Kind
	terminated bool
	read       func(obj api.Object) (observed bool, children int)
}{
	{"ReplicaSet.apps", false, func(obj api.Object) (bool, int) {
		w := as[appsv1.ReplicaSet](obj)
		return w.Status.ObservedGeneration > 0 && w.Spec.Replicas != nil, int(w.Status.Replicas)
	}},
	{"ReplicationController", false, func(obj api.Object) (bool, int) {
		w := as[corev1.ReplicationController](obj)
		return w.Status.ObservedGeneration > 0 && w.Spec.Replicas != nil, int(w.Status.Replicas)
	}},
	{"StatefulSet.apps", true, func(obj api.Object) (bool, int) {
		status := as[appsv1.StatefulSet](obj).Status
		return status.ObservedGeneration > 0, int(status.Replicas)
	}},
	{"DaemonSet.apps", true, func(obj api.Object) (bool, int) {
		status := as[appsv1.DaemonSet](obj).Status
		return status.ObservedGeneration > 0, int(status.CurrentNumberScheduled)
	}},
	{"Job.batch", false, func(obj api.Object) (bool, int) {
		status := as[batchv1.Job](obj).Status
		return status.StartTime != nil, int(status.Active)
	}},
	{"Deployment.apps", false, func(obj api.Object) (bool, int) {
		w := as[appsv1.Deployment](obj)
		return w.Status.ObservedGeneration > 0 && w.Spec.Replicas != nil, 1
	}},
}

// removeInvalid moves objects to the ignored ones if their controllers cannot act on them, such as a Deployment without a selector. No cluster
// has them, but an edited dump may.
func (d *Dump) removeInvalid() {
	s := store.New(store.Config{})
	d.leaveOut(func(obj api.Object) bool {
		if store.HasTypedTable(api.KindOf(obj)) {
			return false
		}
		_, err := s.Load(obj)
		return apierrors.IsInvalid(err)
	})
}

// removeIncomplete moves workloads to the ignored objects if the dump lacks parts of them, or objects that they own: their controllers would
// create these again.
func (d *Dump) removeIncomplete() {
	for _, w := range workloads {
		children := map[apitypes.UID]int{}
		for _, obj := range d.Objects {
			owner := metav1.GetControllerOfNoCopy(obj)
			if pod, ok := obj.(*corev1.Pod); owner == nil || !w.terminated && ok && (pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed) {
				continue
			}
			children[owner.UID]++
		}
		d.leaveOut(func(obj api.Object) bool {
			if api.KindOf(obj) != w.kind {
				return false
			}
			observed, number := w.read(obj)
			return !observed || children[obj.GetUID()] < number
		})
	}
}

// leaveOut moves objects to the ignored ones. What they own stays.
func (d *Dump) leaveOut(which func(obj api.Object) bool) {
	d.Objects = slices.DeleteFunc(d.Objects, func(obj api.Object) bool {
		if !which(obj) {
			return false
		}
		d.leftOut = append(d.leftOut, obj.GetUID())
		d.incomplete = append(d.incomplete, api.RefTo(obj))
		gvk := store.GroupVersionKind(api.KindOf(obj))
		d.Ignored[gvk.GroupVersion().String()+" "+gvk.Kind]++
		return true
	})
}

// IsLeftOut reports whether the text has an object that is ignored, because the dump lacks parts of it or objects that it owns.
func (d *Dump) IsLeftOut(ref api.Ref) bool { return slices.Contains(d.incomplete, ref) }

// as returns the object as a Go type of its kind; without the fields that do not fit.
func as[T any](obj api.Object) *T {
	typed := new(T)
	doc, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err == nil {
		// The error leaves fields unset, and the workload counts as incomplete.
		_ = runtime.DefaultUnstructuredConverter.FromUnstructured(doc, typed)
	}
	return typed
}
