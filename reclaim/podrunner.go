package reclaim

import (
	"encoding/json"
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

// PodRunnerConfig sets up the runner of recycler pods. The zero value works, but then every recycler pod fails.
type PodRunnerConfig struct {
	// Backends are the plugins that do the pods' work; nil: there are none.
	Backends *backends.Set
}

// NewPodRunner adds an actor that stands in for scheduler, kubelet and container: it has the work of each recycler pod done by the
// plugin in charge of the pod's volume, and then writes the pod's phase, Succeeded or Failed. Leave it out when nodes run pods.
func NewPodRunner(e *engine.Engine, cfg PodRunnerConfig) (*engine.Actor, error) {
	if cfg.Backends == nil {
		cfg.Backends = &backends.Set{}
	}
	return e.NewActor(actors.RecyclerPodRunner, func(a *engine.Actor) {
		r := &podRunner{
			backends: cfg.Backends,
			pods: engine.NewSelectiveInformer(a, e.Store().Pods, func(pod *corev1.Pod) bool {
				return strings.HasPrefix(pod.Name, recyclerPodPrefix)
			}),
		}
		// Pods run side by side.
		queue := a.NewQueue(engine.QueueConfig{Name: "recycler pods", Kind: api.Pod, Workers: math.MaxInt, Sync: r.sync})
		r.pods.Handle(engine.Handler[*corev1.Pod]{
			Add: func(pod *corev1.Pod) { queue.Add(api.KeyOf(pod)) },
		})
	})
}

type podRunner struct {
	backends *backends.Set
	pods     *engine.Informer[*corev1.Pod]
}

func (r *podRunner) sync(p *engine.Proc, key string) error {
	pod, ok := r.pods.Get(key)
	if !ok || pod.DeletionTimestamp != nil || objects.Terminated(pod) {
		return nil
	}
	status := corev1.PodStatus{Phase: corev1.PodSucceeded}
	if err := r.run(p, pod); err != nil {
		status = corev1.PodStatus{Phase: corev1.PodFailed, Message: err.Error()}
	}
	// No version: whoever else writes to the pod, this is how it ended.
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"phase": status.Phase, "message": status.Message}})
	if err != nil {
		return err
	}
	if _, err := p.API().Pods.Patch(p, key, patch, api.Status); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return nil
}

// errDeadline has the kubelet's words, for they reach the volume's status.
var errDeadline = errors.New("Pod was active on the node longer than the specified deadline")

// run is the work of the pod's container.
func (r *podRunner) run(p *engine.Proc, pod *corev1.Pod) error {
	if len(pod.Spec.Volumes) == 0 {
		return fmt.Errorf("pod %s has no volume to scrub", api.KeyOf(pod))
	}
	source := &corev1.PersistentVolumeSource{NFS: pod.Spec.Volumes[0].NFS, HostPath: pod.Spec.Volumes[0].HostPath}
	plugin, err := r.backends.RecyclableBySource(source)
	if err != nil {
		return err
	}
	id := strings.TrimPrefix(pod.Name, recyclerPodPrefix)
	// RECL-070: a pod that takes too long is ended before it has done its work.
	if limit := pod.Spec.ActiveDeadlineSeconds; limit != nil {
		deadline := time.Duration(*limit) * time.Second
		if backends.Delay(plugin, storage.Recycle, id) > deadline {
			p.Sleep(deadline)
			return errDeadline
		}
	}
	return scrubDirectly(p, plugin, id, source)
}
