package reclaim

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/store"
)

// recyclerPodPrefix begins the names of recycler pods.
const recyclerPodPrefix = "recycler-for-"

// newRecyclerPod returns the pod that scrubs a volume, as it is created in the namespace (RECL-070). It mounts the volume's source if that is
// NFS or a host path.
func newRecyclerPod(pv *corev1.PersistentVolume, namespace string) *corev1.Pod {
	deadline := recyclerDeadline(pv)
	return &corev1.Pod{
		// RECL-070: the name is fixed, so that the pod of an earlier run is found.
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: recyclerPodPrefix + pv.Name},
		Spec: corev1.PodSpec{
			RestartPolicy:         corev1.RestartPolicyNever,
			ActiveDeadlineSeconds: &deadline,
			Volumes: []corev1.Volume{{
				Name:         "vol",
				VolumeSource: corev1.VolumeSource{NFS: pv.Spec.NFS, HostPath: pv.Spec.HostPath},
			}},
			Containers: []corev1.Container{{
				Name:         "pv-recycler",
				Image:        "registry.k8s.io/build-image/debian-base",
				Command:      []string{"find", "/scrub", "-mindepth", "1", "-delete"},
				VolumeMounts: []corev1.VolumeMount{{Name: "vol", MountPath: "/scrub"}},
			}},
		},
	}
}

// recyclerDeadline returns how many seconds the pod may run: 30 for each whole GiB, at least 300 for NFS and 60 for other sources
// (RECL-070).
func recyclerDeadline(pv *corev1.PersistentVolume) int64 {
	const perGiB = 30
	least := int64(60)
	if pv.Spec.NFS != nil {
		least = 300
	}
	capacity := pv.Spec.Capacity[corev1.ResourceStorage]
	return max(least, capacity.Value()>>30*perGiB)
}

// scrubByPod runs the recycler pod of the volume to its end (RECL-070 to RECL-073).
func (r *reclaimer) scrubByPod(p *engine.Process, pv *corev1.PersistentVolume) error {
	pod := newRecyclerPod(pv, r.namespace)
	pod.Spec.SchedulerName = r.scheduler
	key := api.KeyOf(pod)
	// RECL-070: the watch starts before the pod is created, so that it misses no change.
	watch, err := watchPod(p, pod)
	if err != nil {
		return err
	}
	defer watch.stop()

	if _, err := p.API().Pods.Create(p, pod); apierrors.IsAlreadyExists(err) {
		// RECL-071: a pod with the name, of an earlier run or of a user, is deleted; the next run can create its own.
		if _, err := p.API().Pods.Delete(p, key, api.DeleteOptions{}); err != nil {
			return fmt.Errorf("failed to delete old recycler pod %s: %w", key, err)
		}
		return errors.New("old recycler pod found, will retry later")
	} else if err != nil {
		// RECL-071: any other error ends the run.
		return fmt.Errorf("unexpected error creating recycler pod:  %w", err)
	}
	err = r.awaitPod(p, pv, watch)
	// RECL-073: the pod is deleted after success and after failure.
	_, deleteErr := p.API().Pods.Delete(p, key, api.DeleteOptions{})
	switch {
	case err != nil:
		// RECL-073: the pod's failure counts more than that of its deletion; the next run finds the pod.
		return fmt.Errorf("failed to recycle volume: %w", err)
	case deleteErr != nil:
		// RECL-073: if the pod cannot be deleted, the volume is recycled again.
		return fmt.Errorf("failed to delete recycler pod: %w", deleteErr)
	}
	return nil
}

// awaitPod waits without limit until the pod has ended, and copies the Events about it to the volume (RECL-072).
func (r *reclaimer) awaitPod(p *engine.Process, pv *corev1.PersistentVolume, watch *podWatch) error {
	for {
		for _, seen := range watch.take() {
			switch {
			case seen.event != nil:
				// RECL-072: Events of the pod are repeated for the volume.
				r.host.Event(p, pv, seen.event.Type, reasonRecyclerPod, "Recycler pod: "+seen.event.Message)
			case seen.pod == nil:
				return errors.New("recycler pod was deleted")
			case seen.pod.Status.Phase == corev1.PodSucceeded:
				return nil
			case seen.pod.Status.Phase == corev1.PodFailed && seen.pod.Status.Message != "":
				// RECL-072: the pod's message is the error.
				return errors.New(seen.pod.Status.Message)
			case seen.pod.Status.Phase == corev1.PodFailed:
				return errors.New("pod failed, pod.Status.Message unknown")
			}
		}
		if !watch.pending() {
			watch.changed.Wait(p, 0)
		}
	}
}

// podWatch collects the changes of one pod, and the Events about it, in order.
type podWatch struct {
	changed engine.Signal
	seen    []podChange
	pods    store.Watch
	events  store.Watch
}

// podChange is a new Event, or a new version of the pod, or, with neither, its deletion.
type podChange struct {
	pod   *corev1.Pod
	event *corev1.Event
}

func watchPod(p *engine.Process, pod *corev1.Pod) (*podWatch, error) {
	s := p.Engine().Store()
	w := &podWatch{}
	var err error
	w.pods, err = s.Pods.Watch(store.WatchOptions[*corev1.Pod]{
		From:  s.Version(),
		Match: func(other *corev1.Pod) bool { return other.Name == pod.Name && other.Namespace == pod.Namespace },
	}, func(c api.Change[*corev1.Pod]) {
		if c.Type == api.Deleted {
			w.add(podChange{})
			return
		}
		w.add(podChange{pod: c.Object})
	})
	if err != nil {
		return nil, err
	}
	w.events, err = s.Events.Watch(store.WatchOptions[*corev1.Event]{
		From: s.Version(),
		Match: func(ev *corev1.Event) bool {
			return ev.Namespace == pod.Namespace && ev.InvolvedObject.Name == pod.Name
		},
	}, func(c api.Change[*corev1.Event]) {
		// RECL-072: an update of an Event, its repetition, is not repeated.
		if c.Type == api.Added {
			w.add(podChange{event: c.Object})
		}
	})
	if err != nil {
		w.pods.Stop()
		return nil, err
	}
	return w, nil
}

func (w *podWatch) add(c podChange) {
	w.seen = append(w.seen, c)
	w.changed.Broadcast()
}

// take returns the changes since the last call.
func (w *podWatch) take() []podChange {
	seen := w.seen
	w.seen = nil
	return seen
}

func (w *podWatch) pending() bool { return len(w.seen) > 0 }

func (w *podWatch) stop() {
	w.pods.Stop()
	w.events.Stop()
}
