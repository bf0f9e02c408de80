package dump

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/store"
)

// workloads are the kinds whose controllers create objects, each after the kind of these objects. status returns whether a controller has
// seen the workload, and how many objects it then had.
var workloads = []struct {
	kind   api.Kind
	status func(obj api.Object) (observed bool, children int)
}{
	{"ReplicaSet.apps", func(obj api.Object) (bool, int) {
		set := as[appsv1.ReplicaSet](obj)
		return set.Status.ObservedGeneration > 0, int(set.Status.Replicas)
	}},
	{"ReplicationController", func(obj api.Object) (bool, int) {
		rc := as[corev1.ReplicationController](obj)
		return rc.Status.ObservedGeneration > 0, int(rc.Status.Replicas)
	}},
	{"StatefulSet.apps", func(obj api.Object) (bool, int) {
		set := as[appsv1.StatefulSet](obj)
		return set.Status.ObservedGeneration > 0, int(set.Status.Replicas)
	}},
	{"DaemonSet.apps", func(obj api.Object) (bool, int) {
		set := as[appsv1.DaemonSet](obj)
		return set.Status.ObservedGeneration > 0, int(set.Status.CurrentNumberScheduled)
	}},
	{"Job.batch", func(obj api.Object) (bool, int) {
		job := as[batchv1.Job](obj)
		return job.Status.StartTime != nil, int(job.Status.Active)
	}},
	{"Deployment.apps", func(obj api.Object) (bool, int) {
		return as[appsv1.Deployment](obj).Status.ObservedGeneration > 0, 1
	}},
}

// removeIncomplete moves workloads to the ignored objects if the dump lacks objects that they own: their controllers would create them
// again.
func (d *Dump) removeIncomplete() {
	for _, w := range workloads {
		children := map[apitypes.UID]int{}
		for _, obj := range d.Objects {
			owner := metav1.GetControllerOfNoCopy(obj)
			if pod, ok := obj.(*corev1.Pod); owner == nil || ok && (pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed) {
				continue
			}
			children[owner.UID]++
		}
		d.Objects = slices.DeleteFunc(d.Objects, func(obj api.Object) bool {
			if api.KindOf(obj) != w.kind {
				return false
			}
			observed, want := w.status(obj)
			if observed && children[obj.GetUID()] >= want {
				return false
			}
			gvk := store.GroupVersionKind(w.kind)
			d.Ignored[gvk.GroupVersion().String()+" "+gvk.Kind]++
			return true
		})
	}
}

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
