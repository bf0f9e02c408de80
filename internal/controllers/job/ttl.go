package job

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

// NewTTL adds the controller that deletes finished Jobs (JOB-070). jobs contains the Jobs.
func NewTTL(e *engine.Engine, jobs store.Table[*plain.Object]) (*engine.Actor, error) {
	return e.NewActor(actors.TTLAfterFinished, func(a *engine.Actor) {
		informer := engine.NewInformer(a, jobs)
		var queue *engine.Queue
		// expired reports whether a Job is to be deleted now. If it is later, the Job is queued for then.
		expired := func(obj api.Object, now time.Time) bool {
			job, err := plain.As[*batchv1.Job](obj)
			if err != nil || job.DeletionTimestamp != nil || job.Spec.TTLSecondsAfterFinished == nil || !isFinished(job) {
				return false
			}
			var end metav1.Time
			for _, c := range job.Status.Conditions {
				if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
					end = c.LastTransitionTime
				}
			}
			left := end.Add(time.Duration(*job.Spec.TTLSecondsAfterFinished) * time.Second).Sub(now)
			if left > 0 {
				queue.AddInBackground(api.KeyOf(obj), left)
			}
			return left <= 0
		}
		queue = a.NewQueue(engine.QueueConfig{Name: "ttl_jobs_to_delete", Kind: Kind, Workers: workers, Sync: func(p *engine.Process, key string) error {
			obj, ok := informer.Get(key)
			if !ok || !expired(obj, p.Now()) {
				return nil
			}
			// JOB-070: the newest version decides, because the TTL may have changed.
			fresh, err := p.API().Get(p, api.Ref{Kind: Kind, Key: key})
			if apierrors.IsNotFound(err) || err == nil && !expired(fresh, p.Now()) {
				return nil
			}
			if err != nil {
				return err
			}
			p.Decide("JOB-070", obj, "ttlSecondsAfterFinished has passed")
			_, err = p.API().Delete(p, api.Ref{Kind: Kind, Key: key}, api.DeleteOptions{
				PropagationPolicy: metav1.DeletePropagationForeground, UID: fresh.GetUID()})
			return err
		}})
		enqueue := func(job *plain.Object) { queue.Add(api.KeyOf(job)) }
		informer.Handle(engine.Handler[*plain.Object]{Add: enqueue, Update: func(_, job *plain.Object) { enqueue(job) }})
	})
}
