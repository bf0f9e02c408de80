package dump

import (
	"cmp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/store"
)

// foundWorkload has the parts of a workload that its controller needs.
type foundWorkload struct {
	selector *metav1.LabelSelector
	template corev1.PodTemplateSpec
	number   *int32 // of pods, where the controller needs it: replicas or parallelism
	observed bool   // a controller has seen the workload
	children int    // how many objects it then had
}

// workloads are the kinds whose controllers create objects, each after the kind of these objects.
var workloads = []struct {
	kind api.Kind
	read func(obj api.Object) foundWorkload
}{
	{"ReplicaSet.apps", func(obj api.Object) foundWorkload {
		set := as[appsv1.ReplicaSet](obj)
		return foundWorkload{set.Spec.Selector, set.Spec.Template, set.Spec.Replicas, set.Status.ObservedGeneration > 0, int(set.Status.Replicas)}
	}},
	{"ReplicationController", func(obj api.Object) foundWorkload {
		rc := as[corev1.ReplicationController](obj)
		template := *cmp.Or(rc.Spec.Template, &corev1.PodTemplateSpec{})
		return foundWorkload{&metav1.LabelSelector{MatchLabels: rc.Spec.Selector}, template, rc.Spec.Replicas, rc.Status.ObservedGeneration > 0, int(rc.Status.Replicas)}
	}},
	{"StatefulSet.apps", func(obj api.Object) foundWorkload {
		set := as[appsv1.StatefulSet](obj)
		return foundWorkload{set.Spec.Selector, set.Spec.Template, cmp.Or(set.Spec.Replicas, new(int32)), set.Status.ObservedGeneration > 0, int(set.Status.Replicas)}
	}},
	{"DaemonSet.apps", func(obj api.Object) foundWorkload {
		set := as[appsv1.DaemonSet](obj)
		return foundWorkload{set.Spec.Selector, set.Spec.Template, new(int32), set.Status.ObservedGeneration > 0, int(set.Status.CurrentNumberScheduled)}
	}},
	{"Job.batch", func(obj api.Object) foundWorkload {
		job := as[batchv1.Job](obj)
		selector := cmp.Or(job.Spec.Selector, &metav1.LabelSelector{MatchLabels: job.Spec.Template.Labels})
		return foundWorkload{selector, job.Spec.Template, cmp.Or(job.Spec.Parallelism, new(int32)), job.Status.StartTime != nil, int(job.Status.Active)}
	}},
	{"Deployment.apps", func(obj api.Object) foundWorkload {
		d := as[appsv1.Deployment](obj)
		return foundWorkload{d.Spec.Selector, d.Spec.Template, d.Spec.Replicas, d.Status.ObservedGeneration > 0, 1}
	}},
}

// valid reports whether the controller can act on the workload. An edited dump may lack the selector. If the pods of a workload do not match its
// selector, the controller creates pods for ever.
func (w foundWorkload) valid() bool {
	selector, err := metav1.LabelSelectorAsSelector(w.selector)
	return err == nil && w.number != nil && w.selector != nil && selector.Matches(labels.Set(w.template.Labels))
}

// removeIncomplete moves workloads to the ignored objects if the dump lacks parts of them, or objects that they own: their controllers would
// create these again.
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
			if found := w.read(obj); found.valid() && found.observed && children[obj.GetUID()] >= found.children {
				return false
			}
			d.leftOut = append(d.leftOut, obj.GetUID())
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
