package reclaim

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/storage"
)

// newPodRunner adds the actor that stands in for scheduler, kubelet and container of recycler pods: the plugin for the pod's volume does
// the pod's work, then the runner writes the pod's phase, Succeeded or Failed. With nodes that run pods it is not needed.
func newPodRunner(e *engine.Engine, set *backends.Set) (*engine.Actor, error) {
	if set == nil {
		set = &backends.Set{}
	}
	return e.NewActor(actors.RecyclerPodRunner, func(a *engine.Actor) {
		r := &podRunner{
			backends: set,
			pods:     engine.NewSelectiveInformer(a, e.Store().Pods, isRecyclerPod),
		}
		// There is no limit of pods that run at the same time.
		r.queue = a.NewQueue(engine.QueueConfig{Name: "recycler pods", Kind: api.Pod, Workers: math.MaxInt,
			Of: r, Work: engine.Work[*podRunner]((*podRunner).sync)})
		engine.Handle(r.pods, r, &recyclerPods)
	})
}

func isRecyclerPod(pod *corev1.Pod) bool { return strings.HasPrefix(pod.Name, recyclerPodPrefix) }

var recyclerPods = engine.Handlers[*podRunner, *corev1.Pod]{
	Add: func(r *podRunner, pod *corev1.Pod) { r.queue.Add(api.KeyOf(pod)) },
}

type podRunner struct {
	backends *backends.Set
	pods     engine.Informer[*corev1.Pod]
	queue    *engine.Queue
}

func (r *podRunner) sync(p *engine.Process, key string) error {
	pod, ok := r.pods.Get(key)
	if !ok || pod.DeletionTimestamp != nil || objects.Terminated(pod) {
		return nil
	}
	status := corev1.PodStatus{Phase: corev1.PodSucceeded}
	if err := r.run(p, pod); err != nil {
		status = corev1.PodStatus{Phase: corev1.PodFailed, Message: err.Error()}
	}
	// No version: this write wins over concurrent ones.
	_, err := p.API().Pods.PatchWith(p, key, func(newest *corev1.Pod) error {
		newest.Status.Phase, newest.Status.Message = status.Phase, status.Message
		return nil
	}, api.Status)
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// errDeadline has the kubelet's message, because it becomes the message in the volume's status.
var errDeadline = errors.New("Pod was active on the node longer than the specified deadline")

// run does the work of the pod's container: it recycles the volume with its plugin.
func (r *podRunner) run(p *engine.Process, pod *corev1.Pod) error {
	if len(pod.Spec.Volumes) == 0 {
		return fmt.Errorf("pod %s has no volume to scrub", api.KeyOf(pod))
	}
	source := &corev1.PersistentVolumeSource{NFS: pod.Spec.Volumes[0].NFS, HostPath: pod.Spec.Volumes[0].HostPath}
	plugin, err := r.backends.RecyclableBySource(source)
	if err != nil {
		return err
	}
	id := strings.TrimPrefix(pod.Name, recyclerPodPrefix)
	// RECL-070: a pod that exceeds its deadline fails before its work has an effect.
	if limit := pod.Spec.ActiveDeadlineSeconds; limit != nil {
		deadline := time.Duration(*limit) * time.Second
		if backends.Delay(plugin, storage.Recycle, id) > deadline {
			p.Sleep(deadline)
			return errDeadline
		}
	}
	return scrubDirectly(p, plugin, id, source)
}
