package reclaim

import (
	"fmt"
	"math"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/klog"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/store"
)

// newPVCProtection adds the pvc-protection controller (PROT-020 to PROT-027).
func newPVCProtection(e *engine.Engine) (*engine.Actor, error) {
	return e.NewActor(actors.PVCProtection, func(a *engine.Actor) {
		c := &pvcProtection{
			claims:  engine.NewInformer(a, e.Store().Claims),
			pods:    engine.NewInformer(a, e.Store().Pods),
			byClaim: e.Store().PodsByClaim,
			log:     a.Logger("pvc_protection_controller", "persistentvolumeclaim-protection-controller"),
		}
		c.errors = a.Logger("pvc_protection_controller", unhandled)
		c.log.Info(0, "Starting PVC protection controller")
		// PROT-022: claims are synced in batches by namespace. A claim counts as being synced while it waits for its batch.
		c.queue = a.NewQueue(engine.QueueConfig{Name: "pvcprotection", Kind: api.PersistentVolumeClaim, Workers: math.MaxInt,
			Of: c, Work: engine.Work[*pvcProtection]((*pvcProtection).wait)})
		c.namespaces = a.NewQueue(engine.QueueConfig{Name: "pvcprotection namespaces",
			Of: c, Work: engine.Work[*pvcProtection]((*pvcProtection).syncBatch)})
		engine.Handle(c.claims, c, &protectedClaims)
		engine.Handle(c.pods, c, &protectingPods)
	})
}

var (
	protectedClaims = engine.Handlers[*pvcProtection, *corev1.PersistentVolumeClaim]{
		Add:    (*pvcProtection).claimChanged,
		Update: func(c *pvcProtection, _, claim *corev1.PersistentVolumeClaim) { c.claimChanged(claim) },
	}
	protectingPods = engine.Handlers[*pvcProtection, *corev1.Pod]{
		Add:    func(c *pvcProtection, pod *corev1.Pod) { c.podChanged(pod, false) },
		Update: (*pvcProtection).podUpdated,
		Delete: func(c *pvcProtection, pod *corev1.Pod) { c.podChanged(pod, true) },
	}
)

// unhandled is the name of the logger of errors that upstream reports with utilruntime.HandleError.
const unhandled = "UnhandledError"

type pvcProtection struct {
	claims     engine.Informer[*corev1.PersistentVolumeClaim]
	pods       engine.Informer[*corev1.Pod]
	byClaim    store.Index[*corev1.Pod]
	queue      *engine.Queue         // claims
	namespaces *engine.Queue         // namespaces with a batch
	batches    map[string][]*request // by namespace, in the order of the queue
	log        *klog.Logger
	errors     *klog.Logger
}

// request is a claim in the batch of its namespace.
type request struct {
	key      string
	done     bool
	err      error
	finished engine.Signal
}

// Known reports whether the claim was synced.
func (t *request) Known() bool { return t.done }

// Result is the error of the sync.
func (t *request) Result() error { return t.err }

func (c *pvcProtection) claimChanged(claim *corev1.PersistentVolumeClaim) {
	c.log.Info(4, "Got event on PVC", klog.Object("pvc", claim))
	// PROT-020: a claim is queued if it is being deleted with the finalizer, or lacks it otherwise.
	if objects.FinalizerMisplaced(claim, objects.ClaimProtectionFinalizer) {
		c.queue.Add(c.claims.KeyOf(claim))
	}
}

func (c *pvcProtection) podUpdated(old, pod *corev1.Pod) {
	c.podChanged(pod, false)
	// PROT-021: one update may replace a pod by another with the same name.
	if old.UID != pod.UID {
		c.podChanged(old, true)
	}
}

func (c *pvcProtection) podChanged(pod *corev1.Pod, deleted bool) {
	// PROT-021: a scheduled pod that runs releases no claim.
	if !deleted && !objects.Terminated(pod) && pod.Spec.NodeName != "" {
		return
	}
	c.log.Info(4, "Enqueuing PVCs for Pod", klog.Object("pod", pod), klog.String("podUID", pod.UID))
	for _, key := range c.byClaim.Values(pod) {
		c.queue.Add(key)
	}
}

// wait puts a claim into the batch of its namespace and waits for the result (PROT-022).
func (c *pvcProtection) wait(p *engine.Process, key string) error {
	namespace, _ := objects.SplitKey(key)
	t := &request{key: key}
	if len(c.batches[namespace]) == 0 {
		c.namespaces.Add(namespace)
	}
	if c.batches == nil {
		c.batches = map[string][]*request{}
	}
	c.batches[namespace] = append(c.batches[namespace], t)
	return p.EndWhen(&t.finished, t)
}

// syncBatch syncs the claims of a namespace's batch (PROT-022).
func (c *pvcProtection) syncBatch(p *engine.Process, namespace string) error {
	batch := c.batches[namespace]
	delete(c.batches, namespace)
	pods := &livePods{namespace: namespace, byClaim: c.byClaim}
	for i, t := range batch {
		pods.batch = batch[i:]
		// PROT-022: a claim that fails is retried alone.
		t.err = c.sync(p, t.key, pods)
		if t.err != nil {
			_, name := objects.SplitKey(t.key)
			c.errors.Error(fmt.Errorf("PVC %v/%v failed with: %w", name, namespace, t.err), "Unhandled Error")
		}
		t.done = true
		t.finished.Broadcast()
	}
	return nil
}

func (c *pvcProtection) sync(p *engine.Process, key string, pods *livePods) error {
	c.log.Info(4, "Processing PVC", klog.String("PVC", key))
	start := p.Now()
	err := c.syncClaim(p, key, pods)
	c.log.Info(4, "Finished processing PVC", klog.String("PVC", key), klog.Duration("duration", p.Now().Sub(start)))
	return err
}

func (c *pvcProtection) syncClaim(p *engine.Process, key string, pods *livePods) error {
	claim, ok := c.claims.Get(key)
	if !ok {
		c.log.Info(4, "PVC not found, ignoring", klog.String("PVC", key))
	}
	// PROT-023: a claim that is gone or needs no change is done.
	if !ok || !objects.FinalizerMisplaced(claim, objects.ClaimProtectionFinalizer) {
		return nil
	}
	if claim.DeletionTimestamp == nil {
		// PROT-023: a claim without the finalizer gets it.
		finalizers, _ := objects.WithFinalizer(claim.Finalizers, objects.ClaimProtectionFinalizer)
		p.Decide("PROT-023", claim, "the protection finalizer is missing")
		if _, err := p.API().Claims.Replace(p, claimWith(claim, finalizers)); err != nil {
			c.log.Error(err, "Error adding protection finalizer to PVC", klog.Object("PVC", claim))
			return err
		}
		c.log.Info(3, "Added protection finalizer to PVC", klog.Object("PVC", claim))
		return nil
	}
	user, err := c.user(p, key, claim, pods)
	if err != nil {
		return err
	}
	// PROT-023: a claim in use keeps the finalizer; the end of the pod queues it again.
	if user != nil {
		if p.Tracing() {
			p.Decide("PROT-026", claim, "the claim is being deleted but pod %s uses it", user.Name)
		}
		c.log.Info(2, "Keeping PVC because it is being used", klog.Object("PVC", claim))
		return nil
	}
	finalizers, _ := objects.WithoutFinalizer(claim.Finalizers, objects.ClaimProtectionFinalizer)
	p.Decide("PROT-023", claim, "the claim is being deleted and no pod uses it")
	if _, err := p.API().Claims.Replace(p, claimWith(claim, finalizers)); err != nil {
		c.log.Error(err, "Error removing protection finalizer from PVC", klog.Object("PVC", claim))
		return err
	}
	c.log.Info(3, "Removed protection finalizer from PVC", klog.Object("PVC", claim))
	return nil
}

// user finds a pod that uses the claim, nil for none.
func (c *pvcProtection) user(p *engine.Process, key string, claim *corev1.PersistentVolumeClaim, pods *livePods) (*corev1.Pod, error) {
	c.log.Info(4, "Looking for Pods using PVC in the Informer's cache", klog.Object("PVC", claim))
	// PROT-024: if the informer has a pod that uses the claim, the API server is not asked.
	for _, pod := range c.pods.ByIndex(c.byClaim, key) {
		if UsesClaim(pod, claim) {
			c.log.Info(2, "Pod uses PVC", klog.Object("pod", pod), klog.Object("PVC", claim))
			return pod, nil
		}
	}
	c.log.Info(4, "No Pod using PVC was found in the Informer's cache", klog.Object("PVC", claim))
	c.log.Info(4, "Looking for Pods using PVC", klog.Object("PVC", claim))
	// PROT-024: otherwise the informer may lag, and the API server's list of pods decides.
	if !pods.listed {
		c.log.Info(4, "Live listing Pods in namespace", klog.String("namespace", claim.Namespace))
	}
	if err := pods.list(p); err != nil {
		return nil, err
	}
	for _, pod := range pods.pods[claim.Name] {
		if UsesClaim(pod, claim) {
			c.log.Info(2, "Pod uses PVC", klog.Object("pod", pod), klog.Object("PVC", claim))
			return pod, nil
		}
	}
	c.log.Info(2, "PVC is unused", klog.Object("PVC", claim))
	return nil, nil
}

// livePods is the API server's list of the pods of a namespace, read when it is first needed (PROT-024).
type livePods struct {
	namespace string
	byClaim   store.Index[*corev1.Pod]
	batch     []*request // the claims that are not synced yet
	listed    bool
	// pods are those of the list that name a claim of the batch, by the name of the claim.
	pods map[string][]*corev1.Pod
}

func (l *livePods) list(p *engine.Process) error {
	if l.listed {
		return nil
	}
	claims := make([]string, len(l.batch))
	for i, t := range l.batch {
		claims[i] = t.key
	}
	pods, err := p.API().Pods.ListUnder(p, l.namespace, l.byClaim, claims)
	if err != nil {
		// PROT-024: after an error the next claim of the batch reads it again.
		return fmt.Errorf("live list of pods failed: %w", err)
	}
	l.listed = true
	for i, key := range claims {
		if len(pods[i]) > 0 {
			if l.pods == nil {
				l.pods = map[string][]*corev1.Pod{}
			}
			_, name := objects.SplitKey(key)
			l.pods[name] = pods[i]
		}
	}
	return nil
}
