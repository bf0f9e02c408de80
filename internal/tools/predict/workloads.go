package predict

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/internal/core/objects"
)

// replacePeriod is how often replacements are created, besides at the deletion of a pod.
const replacePeriod = 5 * time.Second

// workloads replaces the controllers of ReplicaSets and StatefulSets that the dump does not have.
type workloads struct {
	// claims holds the last state of every claim, for StatefulSets to create again.
	claims map[string]*corev1.PersistentVolumeClaim
	// replaceable holds the existing pods of ReplicaSets and StatefulSets, by key.
	replaceable map[string]*corev1.Pod
	created     int
}

func newWorkloads(r *run) *workloads {
	o := &workloads{claims: map[string]*corev1.PersistentVolumeClaim{}, replaceable: map[string]*corev1.Pod{}}
	for _, claim := range r.Claims.List() {
		o.claims[api.KeyOf(claim)] = claim
	}
	for _, pod := range r.Pods.List() {
		if hasReplacement(pod) && r.ownerAssumed(pod) && pod.DeletionTimestamp == nil {
			o.replaceable[api.KeyOf(pod)] = pod
		}
	}
	return o
}

// controllerKind returns the kind of the controller that owns the pod; "" for none.
func controllerKind(pod *corev1.Pod) string {
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		return owner.Kind
	}
	return ""
}

// hasReplacement reports whether the controller of the pod replaces it.
func hasReplacement(pod *corev1.Pod) bool {
	kind := controllerKind(pod)
	return kind == "ReplicaSet" || kind == "StatefulSet"
}

// ownerAssumed reports whether the controller of the pod is assumed to exist, because the dump has nothing of its kind. Otherwise the simulated
// controller acts, or the garbage collector removes the pod (GC-040).
func (r *run) ownerAssumed(pod *corev1.Pod) bool {
	ref := metav1.GetControllerOfNoCopy(pod)
	return internals.Engine(r.Cluster.Cluster).Store().OwnerAssumed(api.Kind(ref.Kind+".apps"), ref.UID)
}

// replace acts as ReplicaSets and StatefulSets: a ReplicaSet creates another pod as soon as one is being deleted, a StatefulSet one of the
// same name once it is deleted.
func (r *run) replace() error {
	if r.opts.NoReplacements {
		return nil
	}
	for _, key := range sortedKeys(r.workloads.replaceable) {
		old := r.workloads.replaceable[key]
		now, err := r.Pods.Get(key)
		gone := err != nil || now.UID != old.UID
		kind := controllerKind(old)
		switch {
		case kind == "ReplicaSet" && !gone && now.DeletionTimestamp == nil, kind == "StatefulSet" && !gone:
			continue
		}
		if kind == "StatefulSet" && r.claimTerminating(old) {
			continue
		}
		delete(r.workloads.replaceable, key)
		if err := r.recreate(old, kind); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) recreate(old *corev1.Pod, kind string) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: old.Namespace, Name: old.Name, Labels: old.Labels,
		OwnerReferences: old.OwnerReferences}, Spec: *old.Spec.DeepCopy()}
	pod.Spec.NodeName = ""
	if kind == "ReplicaSet" {
		r.workloads.created++
		pod.Name = fmt.Sprintf("%s-new%d", metav1.GetControllerOfNoCopy(old).Name, r.workloads.created)
	} else if err := r.recreateClaims(old); err != nil {
		return err
	}
	if err := r.Create(pod); err != nil {
		r.note("The replacement of pod %s could not be created: %v.", api.KeyOf(old), err)
		return nil
	}
	stored, err := r.Pods.Get(api.KeyOf(pod))
	if err == nil {
		r.workloads.replaceable[api.KeyOf(pod)] = stored
	}
	return err
}

// claimTerminating reports whether a claim of the StatefulSet's template is still being deleted; until then the StatefulSet waits.
func (r *run) claimTerminating(pod *corev1.Pod) bool {
	return slices.ContainsFunc(templateClaims(pod), func(key string) bool {
		claim, err := r.Claims.Get(key)
		return err == nil && claim.DeletionTimestamp != nil
	})
}

// templateClaims returns the keys of the pod's claims that its StatefulSet created from a template, recognized by their names.
func templateClaims(pod *corev1.Pod) []string {
	var keys []string
	for _, volume := range pod.Spec.Volumes {
		if source := volume.PersistentVolumeClaim; source != nil && source.ClaimName == volume.Name+"-"+pod.Name {
			keys = append(keys, api.Key(pod.Namespace, source.ClaimName))
		}
	}
	return keys
}

// recreateClaims creates the missing claims of a StatefulSet's template. They get new, empty volumes.
func (r *run) recreateClaims(pod *corev1.Pod) error {
	for _, key := range templateClaims(pod) {
		old := r.workloads.claims[key]
		if _, err := r.Claims.Get(key); err == nil || old == nil {
			continue
		}
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: old.Namespace, Name: old.Name, Labels: old.Labels},
			Spec: *old.Spec.DeepCopy()}
		claim.Spec.VolumeName = ""
		if err := r.Create(claim); err != nil {
			return err
		}
		r.outcome(Outcome{Kind: Warns, Object: "pvc/" + key, What: "is created again by its StatefulSet, and is empty"})
	}
	return nil
}

// emptyObject returns an object with only its kind and name.
func emptyObject(ref api.Ref) api.Object {
	namespace, name := objects.SplitKey(ref.Key)
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	return emptyOf(ref.Kind, meta)
}

// running reports whether containers of the pod run.
func running(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodRunning && !objects.Terminated(pod)
}
