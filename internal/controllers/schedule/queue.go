package schedule

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
)

// queuedPod is a pod without a node.
type queuedPod struct {
	key      string
	pod      *corev1.Pod
	priority int32  // of pod
	seq      uint64 // the order in which pods were added
	// in is the part of the queue that has the pod, nil during an attempt, and at its place there.
	in *podList
	at int
	// claims are the keys of the claims of its volumes.
	claims claimKeys
	// plugins are the plugins that rejected the pod at its last attempt; none after an error (SCHED-250).
	plugins []string
	// rejections counts the attempts that plugins rejected, errors the consecutive ones that failed with an error.
	rejections, errors int
	since              time.Time // when it was put into its part of the queue
	expiry             time.Time // of its backoff; zero for none
	noNodes            bool      // its last attempt found no nodes
	held               bool      // when it was to be tried again, pods were being evicted for it
	timer              *engine.Timer
}

// queue has the pods without a node (SCHED-250 to SCHED-255): those to be tried, those in backoff after a rejection or an error, those that
// wait for a change, and those with scheduling gates.
type queue struct {
	actor *engine.Actor
	cfg   *Config
	// ready is called when next may have a pod.
	ready func()
	// held reports whether a pod may not be tried yet, because pods are being evicted for it.
	held func(*corev1.Pod) bool

	pods          map[string]*queuedPod // all but those being tried
	active        *podList
	backoff       *podList
	errors        *podList
	unschedulable *podList
	byClaim       map[string]claimants // the unschedulable ones, by the keys of their claims
	gated         *podList
	flush         *engine.Ticker
	seq           uint64
	moving        []*queuedPod // memory of move
}

// claimants are the pods in the queue that use one claim, which are seldom more than one.
type claimants struct {
	first *queuedPod
	more  []*queuedPod
}

func (c claimants) with(item *queuedPod) claimants {
	if c.first == nil {
		c.first = item
	} else {
		c.more = append(c.more, item)
	}
	return c
}

func (c claimants) without(item *queuedPod) claimants {
	c.more = slices.DeleteFunc(c.more, func(other *queuedPod) bool { return other == item })
	if c.first == item {
		c.first = nil
		if n := len(c.more); n > 0 {
			c.first, c.more = c.more[n-1], c.more[:n-1]
		}
	}
	return c
}

func newQueue(a *engine.Actor, cfg *Config, ready func(), held func(*corev1.Pod) bool) *queue {
	q := &queue{
		actor: a, cfg: cfg, ready: ready, held: held, pods: map[string]*queuedPod{}, byClaim: map[string]claimants{},
		active: &podList{less: before}, backoff: &podList{less: byExpiry}, errors: &podList{}, unschedulable: &podList{}, gated: &podList{},
	}
	// SCHED-009: the periods count from the start of the scheduler.
	q.flush = a.NewTicker(engine.TickerConfig{
		Name: "flush of unschedulable pods", Period: flushPeriod, Pass: func(*engine.Process) { q.flushUnschedulable() },
	})
	return q
}

// before reports whether a pod is tried before another: by priority, then by the time since when it waits.
func before(a, b *queuedPod) bool {
	if a.priority != b.priority {
		return a.priority > b.priority
	}
	if order := a.since.Compare(b.since); order != 0 {
		return order < 0
	}
	return a.seq < b.seq
}

// byExpiry reports whether the backoff of a pod ends before that of another.
func byExpiry(a, b *queuedPod) bool {
	if !a.expiry.Equal(b.expiry) {
		return a.expiry.Before(b.expiry)
	}
	return before(a, b)
}

func (q *queue) now() time.Time { return q.actor.Engine().Now() }

// add queues a new pod.
func (q *queue) add(key string, pod *corev1.Pod) {
	q.seq++
	item := &queuedPod{key: key, pod: pod, priority: priorityOf(pod), claims: claimKeysOf(pod), seq: q.seq, since: q.now()}
	q.pods[item.key] = item
	// SCHED-020: a pod with scheduling gates is not tried.
	if len(pod.Spec.SchedulingGates) > 0 {
		q.put(q.gated, item)
		return
	}
	q.put(q.active, item)
	q.ready()
}

// set replaces the pod by another version.
func (item *queuedPod) set(pod *corev1.Pod) {
	if !sharedList(item.pod.Spec.Volumes, pod.Spec.Volumes) {
		item.claims = claimKeysOf(pod)
	}
	item.pod, item.priority = pod, priorityOf(pod)
}

func (q *queue) put(in *podList, item *queuedPod) {
	q.take(item)
	item.in = in
	in.add(item)
	if in == q.unschedulable {
		for _, key := range item.claims {
			if key != "" {
				q.byClaim[key] = q.byClaim[key].with(item)
			}
		}
	}
}

func (q *queue) take(item *queuedPod) {
	if item.in == q.unschedulable {
		for _, key := range item.claims {
			if key == "" {
				continue
			}
			if rest := q.byClaim[key].without(item); rest.first != nil {
				q.byClaim[key] = rest
			} else {
				delete(q.byClaim, key)
			}
		}
	}
	if item.in != nil {
		item.in.remove(item)
		item.in = nil
	}
	if item.timer != nil {
		item.timer.Stop()
		item.timer = nil
	}
}

// update replaces a pod by a new version. It adds a pod that is not in the queue.
func (q *queue) update(key string, old, pod *corev1.Pod) {
	item := q.pods[key]
	if item == nil {
		q.add(key, pod)
		return
	}
	in, timer := item.in, item.timer
	item.timer = nil
	q.take(item)
	item.set(pod)
	q.put(in, item)
	item.timer = timer
	switch {
	case in == q.gated && len(pod.Spec.SchedulingGates) == 0:
		// SCHED-255: its last gate was removed.
		q.put(q.active, item)
		q.ready()
	case in == q.unschedulable && worthRetry(item, change{kind: api.Pod, what: updated, old: old, new: pod}):
		// SCHED-255: its own change may help it.
		q.requeue(item)
	}
}

// remove removes a pod.
func (q *queue) remove(key string) {
	if item := q.pods[key]; item != nil {
		q.take(item)
		delete(q.pods, key)
	}
}

// next removes and returns the pod to be tried next, nil if there is none.
func (q *queue) next() *queuedPod {
	// SCHED-008: backoffs that ended before the last whole second are over.
	window := q.now().Truncate(backoffWindow)
	for {
		item := q.backoff.min()
		if item == nil || !item.expiry.Before(window) {
			break
		}
		q.put(q.active, item)
	}
	item := q.active.min()
	if item == nil {
		// SCHED-252: no active pod waits, so the rest of the backoff is skipped.
		if item = q.backoff.min(); item == nil {
			return nil
		}
	}
	q.take(item)
	delete(q.pods, item.key)
	return item
}

// waiting reports whether next has a pod.
func (q *queue) waiting() bool { return q.active.len()+q.backoff.len() > 0 }

// requeueFailed queues a pod whose attempt failed. Without plugins the attempt failed with an error.
func (q *queue) requeueFailed(item *queuedPod) {
	// An update may have added it already, when it was marked for deletion.
	if q.pods[item.key] != nil {
		return
	}
	q.pods[item.key] = item
	item.since = q.now()
	if len(item.plugins) > 0 {
		item.rejections++
		item.errors = 0
		item.expiry = q.expiry(item.since, item.rejections)
		// SCHED-250, SCHED-251: it waits for a change. None came during the attempt, because that is a single step.
		q.put(q.unschedulable, item)
		// SCHED-009, SCHED-253: without a change it is tried again after a while. Settle does not wait for that.
		q.flush.ArmBackgroundAt(item.since.Add(q.cfg.UnschedulableTimeout))
		return
	}
	// SCHED-254: after an error it is tried again when its backoff is over.
	item.errors++
	item.expiry = q.expiry(item.since, item.errors)
	q.put(q.errors, item)
	q.waitForRetry(item)
}

// expiry returns when the backoff after the nth failure ends, truncated to a whole second.
func (q *queue) expiry(from time.Time, n int) time.Time {
	// SCHED-007: the pause doubles each time.
	pause := q.cfg.RetryMax
	if shift := n - 1; shift < 32 && q.cfg.RetryStart <= q.cfg.RetryMax>>shift {
		pause = q.cfg.RetryStart << shift
	}
	return from.Add(pause).Truncate(backoffWindow)
}

// waitForRetry arms the timer that ends a pod's backoff after an error.
func (q *queue) waitForRetry(item *queuedPod) {
	// SCHED-254, SCHED-008: the first flush after the second in which the backoff ends.
	wait := item.expiry.Add(backoffWindow).Sub(q.now())
	retry := func(*engine.Process) {
		q.put(q.active, item)
		q.ready()
	}
	name := "retry of " + item.key
	if item.noNodes {
		// Without a node the next attempt fails as well, so Settle does not wait for it.
		item.timer = q.actor.Background(wait, name, retry)
	} else {
		item.timer = q.actor.After(wait, name, retry)
	}
}

// nodesAdded makes Settle wait for the retries of pods that found no nodes.
func (q *queue) nodesAdded() {
	for _, item := range q.errors.sorted(byExpiry) {
		if item.noNodes {
			item.noNodes = false
			item.timer.Stop()
			q.waitForRetry(item)
		}
	}
}

// move requeues the unschedulable pods that a change may help. among limits the pods; nil allows all.
func (q *queue) move(c change, among func(*corev1.Pod) bool) {
	if q.unschedulable.len() == 0 || !c.helps() {
		return
	}
	helped := q.moving[:0]
	consider := func(item *queuedPod) {
		if item.held && (c.kind != api.Pod || c.what != deleted) {
			return
		}
		if (among == nil || among(item.pod)) && worthRetry(item, c) {
			helped = append(helped, item)
		}
	}
	if c.kind == api.PersistentVolumeClaim {
		// SCHED-260, SCHED-268, SCHED-270, SCHED-275: a claim helps only pods that name it.
		if by, ok := q.byClaim[api.KeyOf(c.new)]; ok {
			consider(by.first)
			for _, item := range by.more {
				consider(item)
			}
		}
	} else {
		for _, item := range q.unschedulable.items {
			consider(item)
		}
	}
	sortPods(helped, before)
	// A pod with several volumes of one claim is among them several times.
	for _, item := range slices.Compact(helped) {
		q.requeue(item)
	}
	clear(helped)
	q.moving = helped[:0]
}

// requeue ends the wait of a pod.
func (q *queue) requeue(item *queuedPod) {
	// SCHED-315: a pod for which others are being evicted goes on waiting, and from now on only the deletion of a pod helps it.
	if item.held = q.held(item.pod); item.held {
		return
	}
	// SCHED-252: a pod in backoff waits until it is over.
	if item.expiry.Before(q.now().Truncate(backoffWindow)) {
		q.put(q.active, item)
	} else {
		q.put(q.backoff, item)
	}
	q.ready()
}

// activate ends the wait of a pod at once, backoff included.
func (q *queue) activate(key string) {
	if item := q.pods[key]; item != nil && item.in != q.gated {
		item.held = false
		q.put(q.active, item)
		q.ready()
	}
}

// flushUnschedulable requeues the pods that have waited longer than UnschedulableTimeout.
func (q *queue) flushUnschedulable() {
	for _, item := range q.unschedulable.sorted(before) {
		// SCHED-009, SCHED-253: strictly longer.
		if age := q.now().Sub(item.since); age > q.cfg.UnschedulableTimeout {
			q.requeue(item)
			if item.held {
				q.flush.ArmBackgroundAt(q.now().Add(1))
			}
		} else {
			q.flush.ArmBackgroundAt(item.since.Add(q.cfg.UnschedulableTimeout))
		}
	}
}
