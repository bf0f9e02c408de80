package reclaim

import (
	"fmt"
	"math"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/store"
)

// PVCProtectionConfig sets up the pvc-protection controller. The zero value works.
type PVCProtectionConfig struct {
	// Workers is how many namespaces are worked on side by side; zero means 1, as upstream.
	Workers int
}

// NewPVCProtection adds the pvc-protection controller (PROT-020 to PROT-027).
func NewPVCProtection(e *engine.Engine, cfg PVCProtectionConfig) (*engine.Actor, error) {
	if err := checkWorkers("PVCProtectionConfig", cfg.Workers); err != nil {
		return nil, err
	}
	byClaim := e.Store().Pods.NewIndexWith(objects.ClaimsOf, objects.SameVolumes)
	return e.NewActor(actors.PVCProtection, func(a *engine.Actor) {
		c := &pvcProtection{
			claims:  engine.NewInformer(a, e.Store().Claims),
			pods:    engine.NewInformer(a, e.Store().Pods),
			byClaim: byClaim,
			buckets: map[string][]*turn{},
		}
		// PROT-022: every claim waits for its turn in the bucket of its namespace, and counts as being worked on meanwhile.
		c.queue = a.NewQueue(engine.QueueConfig{Name: "pvcprotection", Kind: api.PersistentVolumeClaim, Workers: math.MaxInt, Sync: c.wait})
		c.namespaces = a.NewQueue(engine.QueueConfig{Name: "pvcprotection namespaces", Workers: cfg.Workers, Sync: c.work})
		c.claims.Handle(engine.Handler[*corev1.PersistentVolumeClaim]{
			Add:    c.claimChanged,
			Update: func(_, claim *corev1.PersistentVolumeClaim) { c.claimChanged(claim) },
		})
		c.pods.Handle(engine.Handler[*corev1.Pod]{
			Add:    func(pod *corev1.Pod) { c.podChanged(pod, false) },
			Update: c.podUpdated,
			Delete: func(pod *corev1.Pod) { c.podChanged(pod, true) },
		})
	})
}

type pvcProtection struct {
	claims     *engine.Informer[*corev1.PersistentVolumeClaim]
	pods       *engine.Informer[*corev1.Pod]
	byClaim    *store.Index[*corev1.Pod]
	queue      *engine.Queue      // claims
	namespaces *engine.Queue      // namespaces with a bucket
	buckets    map[string][]*turn // by namespace, in order of arrival
}

// turn is one claim in the bucket of its namespace.
type turn struct {
	key  string
	done bool
	err  error
	over engine.Signal
}

func (c *pvcProtection) claimChanged(claim *corev1.PersistentVolumeClaim) {
	// PROT-020: only a finalizer that is in the wrong state makes work.
	if misplaced(claim, objects.ClaimProtectionFinalizer) {
		c.queue.Add(c.claims.KeyOf(claim))
	}
}

func (c *pvcProtection) podUpdated(old, pod *corev1.Pod) {
	c.podChanged(pod, false)
	// PROT-021: one update may stand for the end of a pod and the beginning of another.
	if old.UID != pod.UID {
		c.podChanged(old, true)
	}
}

func (c *pvcProtection) podChanged(pod *corev1.Pod, deleted bool) {
	// PROT-021: a pod that is scheduled and runs frees no claim.
	if !deleted && !objects.Terminated(pod) && pod.Spec.NodeName != "" {
		return
	}
	for _, key := range objects.ClaimsOf(pod) {
		c.queue.Add(key)
	}
}

// wait puts a claim into the bucket of its namespace and waits for the outcome (PROT-022).
func (c *pvcProtection) wait(p *engine.Proc, key string) error {
	namespace, _ := api.SplitKey(key)
	t := &turn{key: key}
	if len(c.buckets[namespace]) == 0 {
		c.namespaces.Add(namespace)
	}
	c.buckets[namespace] = append(c.buckets[namespace], t)
	for !t.done {
		t.over.Wait(p, 0)
	}
	return t.err
}

// work takes the bucket of a namespace and goes through its claims (PROT-022).
func (c *pvcProtection) work(p *engine.Proc, namespace string) error {
	bucket := c.buckets[namespace]
	delete(c.buckets, namespace)
	pods := &livePods{namespace: namespace}
	for _, t := range bucket {
		// PROT-022: a claim that fails is retried on its own.
		t.err = c.sync(p, t.key, pods)
		t.done = true
		t.over.Broadcast()
	}
	return nil
}

func (c *pvcProtection) sync(p *engine.Proc, key string, pods *livePods) error {
	claim, ok := c.claims.Get(key)
	// PROT-023: gone, or in order.
	if !ok || !misplaced(claim, objects.ClaimProtectionFinalizer) {
		return nil
	}
	if claim.DeletionTimestamp == nil {
		// PROT-023: a claim that lost its finalizer gets it back.
		finalizers, _ := with(claim.Finalizers, objects.ClaimProtectionFinalizer)
		p.Decide("PROT-023", claim, "the protection finalizer is missing")
		_, err := p.API().Claims.Update(p, claimWith(claim, finalizers))
		return err
	}
	user, err := c.user(p, claim, pods)
	if err != nil {
		return err
	}
	// PROT-023: the end of the pod comes by here again.
	if user != nil {
		p.Decide("PROT-026", claim, "the claim is being deleted but pod %s uses it", user.Name)
		return nil
	}
	finalizers, _ := without(claim.Finalizers, objects.ClaimProtectionFinalizer)
	p.Decide("PROT-023", claim, "the claim is being deleted and no pod uses it")
	_, err = p.API().Claims.Update(p, claimWith(claim, finalizers))
	return err
}

// user finds a pod that uses the claim, nil for none.
func (c *pvcProtection) user(p *engine.Proc, claim *corev1.PersistentVolumeClaim, pods *livePods) (*corev1.Pod, error) {
	// PROT-024: a pod that the informer knows saves the question to the server.
	for _, pod := range c.pods.ByIndex(c.byClaim, api.KeyOf(claim)) {
		if UsesClaim(pod, claim) {
			return pod, nil
		}
	}
	// PROT-024: the informer may not know a pod yet, so the server decides.
	if err := pods.list(p); err != nil {
		return nil, err
	}
	for _, pod := range pods.pods {
		if UsesClaim(pod, claim) {
			return pod, nil
		}
	}
	return nil, nil
}

// livePods is a list of the pods of a namespace that is asked for when it is first needed (PROT-024).
type livePods struct {
	namespace string
	listed    bool
	pods      []*corev1.Pod
}

func (l *livePods) list(p *engine.Proc) error {
	if l.listed {
		return nil
	}
	pods, err := p.API().Pods.List(p, l.namespace)
	if err != nil {
		// PROT-024: the next claim of the batch asks again.
		return fmt.Errorf("live list of pods failed: %w", err)
	}
	l.pods, l.listed = pods, true
	return nil
}
