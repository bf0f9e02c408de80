package cronjob

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/controllers/job"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/cron"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

// Kind is the kind of CronJobs.
const Kind api.Kind = "CronJob.batch"

const (
	apiVersion = "batch/v1"
	kindName   = "CronJob"
	workers    = 5
)

// controller is one life of the CronJob controller.
type controller struct {
	cronJobs engine.Informer[*plain.Object]
	jobs     engine.Informer[*plain.Object]
	queue    *engine.Queue
	recorder *engine.Recorder
	failed   engine.Repeats
	now      func() time.Time
}

// New adds the controller. cronJobs contains the CronJobs.
func New(e *engine.Engine, cronJobs store.Table[*plain.Object]) (*engine.Actor, error) {
	jobs, err := e.Store().Other(job.Kind)
	if err != nil {
		return nil, err
	}
	return e.NewActor(actors.CronJob, func(a *engine.Actor) {
		c := &controller{cronJobs: engine.NewInformer(a, cronJobs), jobs: engine.NewInformer(a, jobs), recorder: a.NewRecorder("cronjob-controller"),
			failed: engine.Repeats{}, now: e.Now}
		a.Keeps(&c.failed)
		c.queue = a.NewQueue(engine.QueueConfig{Name: "cronjob", Kind: Kind, Workers: workers, Sync: c.work})
		enqueue := func(obj *plain.Object) { c.queue.Add(api.KeyOf(obj)) }
		c.cronJobs.Handle(engine.Handler[*plain.Object]{Add: enqueue, Update: c.updated, Delete: enqueue})
		c.jobs.Handle(engine.Handler[*plain.Object]{Add: c.jobChanged, Update: c.jobUpdated, Delete: c.jobChanged})
	})
}

// updated queues a CronJob: for the next instant if its schedule has changed, else at once (JOB-121).
func (c *controller) updated(old, obj *plain.Object) {
	key, spec, was := api.KeyOf(obj), plain.Shared[*batchv1.CronJob](obj).Spec, plain.Shared[*batchv1.CronJob](old).Spec
	if spec.Schedule == was.Schedule && sameZone(spec.TimeZone, was.TimeZone) {
		c.queue.Add(key)
		return
	}
	// An update with a schedule that cannot be read is refused (JOB-112).
	if schedule, err := cron.Parse(zoned(&spec)); err == nil {
		c.queue.AddInBackground(key, untilNext(plain.Shared[*batchv1.CronJob](obj), c.now(), schedule))
	}
}

// jobChanged queues the CronJob of a Job that is new or gone.
func (c *controller) jobChanged(obj *plain.Object) {
	c.enqueueOwner(obj.Namespace, metav1.GetControllerOfNoCopy(obj))
}

// jobUpdated queues the CronJobs of both versions of a Job.
func (c *controller) jobUpdated(old, obj *plain.Object) {
	ref, was := metav1.GetControllerOfNoCopy(obj), metav1.GetControllerOfNoCopy(old)
	if was != nil && (ref == nil || ref.UID != was.UID) {
		c.enqueueOwner(old.Namespace, was)
	}
	c.enqueueOwner(obj.Namespace, ref)
}

func (c *controller) enqueueOwner(namespace string, ref *metav1.OwnerReference) {
	if ref == nil || ref.Kind != kindName {
		return
	}
	if obj, ok := c.cronJobs.Get(api.Key(namespace, ref.Name)); ok && obj.UID == ref.UID {
		c.queue.Add(api.KeyOf(obj))
	}
}
