package schedule

import (
	"cmp"
	"slices"
	"time"

	"github.com/tidwall/btree"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
)

// queuedPod is a pod that wants a node.
type queuedPod struct {
	key string
	pod *corev1.Pod
	seq uint64 // in the order in which pods came
	// in is the part of the queue that holds the pod; nil while it is being tried.
	in *btree.BTreeG[*queuedPod]
	// plugins are those that turned the pod down at its last attempt; none after an error (SCHED-250).
	plugins []string
	// rejections counts the attempts that plugins turned down, errors the ones in a row that failed otherwise.
	rejections, errors int
	since              time.Time // it is where it is
	expiry             time.Time // of its backoff; zero for none
	noNodes            bool      // there were none to try it on
	timer              *engine.Timer
}

// queue holds the pods that want a node (SCHED-250 to SCHED-255): those to be tried, those in backoff after a rejection or an error,
// those for which something has to happen first, and those that are gated.
type queue struct {
	actor *engine.Actor
	cfg   *Config
	// ready is called when a pod can be taken.
	ready func()

	pods    map[string]*queuedPod // all but those being tried
	active  *btree.BTreeG[*queuedPod]
	backoff *btree.BTreeG[*queuedPod]
	errors  *btree.BTreeG[*queuedPod]
	pool    *btree.BTreeG[*queuedPod]
	byClaim map[string][]*queuedPod // those in the pool, by the keys of their claims
	gated   *btree.BTreeG[*queuedPod]
	flush   *engine.Ticker
	seq     uint64
}

func newQueue(a *engine.Actor, cfg *Config, ready func()) *queue {
	tree := func(less func(a, b *queuedPod) bool) *btree.BTreeG[*queuedPod] {
		return btree.NewBTreeGOptions(less, btree.Options{NoLocks: true})
	}
	byExpiry := func(a, b *queuedPod) bool {
		if !a.expiry.Equal(b.expiry) {
			return a.expiry.Before(b.expiry)
		}
		return before(a, b)
	}
	q := &queue{
		actor: a, cfg: cfg, ready: ready, pods: map[string]*queuedPod{}, byClaim: map[string][]*queuedPod{},
		active: tree(before), backoff: tree(byExpiry), errors: tree(byExpiry), pool: tree(before), gated: tree(before),
	}
	// SCHED-009: the periods count from the start of the scheduler.
	q.flush = a.NewTicker("flush of unschedulable pods", flushPeriod, func(*engine.Proc) { q.flushPool() })
	return q
}

// before is the order in which pods are tried: by priority, then by the time since when they wait.
func before(a, b *queuedPod) bool {
	return cmp.Or(
		cmp.Compare(priorityOf(b.pod), priorityOf(a.pod)),
		a.since.Compare(b.since),
		cmp.Compare(a.seq, b.seq),
	) < 0
}

func (q *queue) now() time.Time { return q.actor.Engine().Now() }

// add queues a pod that was not known.
func (q *queue) add(pod *corev1.Pod) {
	q.seq++
	item := &queuedPod{key: api.KeyOf(pod), pod: pod, seq: q.seq, since: q.now()}
	q.pods[item.key] = item
	// SCHED-020: until its gates are gone nobody looks at it.
	if len(pod.Spec.SchedulingGates) > 0 {
		q.put(q.gated, item)
		return
	}
	q.put(q.active, item)
	q.ready()
}

func (q *queue) put(in *btree.BTreeG[*queuedPod], item *queuedPod) {
	q.take(item)
	item.in = in
	in.Set(item)
	if in == q.pool {
		for _, key := range objects.ClaimsOf(item.pod) {
			q.byClaim[key] = append(q.byClaim[key], item)
		}
	}
}

func (q *queue) take(item *queuedPod) {
	if item.in == q.pool {
		for _, key := range objects.ClaimsOf(item.pod) {
			rest := slices.DeleteFunc(q.byClaim[key], func(other *queuedPod) bool { return other == item })
			if q.byClaim[key] = rest; len(rest) == 0 {
				delete(q.byClaim, key)
			}
		}
	}
	if item.in != nil {
		item.in.Delete(item)
		item.in = nil
	}
	if item.timer != nil {
		item.timer.Stop()
		item.timer = nil
	}
}

// update takes a new version of a pod without a node. One that is not known and not being tried is queued.
func (q *queue) update(old, pod *corev1.Pod) {
	item := q.pods[api.KeyOf(pod)]
	if item == nil {
		q.add(pod)
		return
	}
	in, timer := item.in, item.timer
	item.timer = nil
	q.take(item)
	item.pod = pod
	q.put(in, item)
	item.timer = timer
	switch {
	case in == q.gated && len(pod.Spec.SchedulingGates) == 0:
		// SCHED-255
		q.put(q.active, item)
		q.ready()
	case in == q.pool && worthRetry(item, change{kind: api.Pod, what: updated, old: old, new: pod}):
		// SCHED-255
		q.requeue(item)
	}
}

// remove forgets a pod.
func (q *queue) remove(key string) {
	if item := q.pods[key]; item != nil {
		q.take(item)
		delete(q.pods, key)
	}
}

// next takes the pod to be tried next; nil if there is none.
func (q *queue) next() *queuedPod {
	// SCHED-008: what was flushed at the whole seconds up to now.
	window := q.now().Truncate(backoffWindow)
	for {
		item, ok := q.backoff.Min()
		if !ok || !item.expiry.Before(window) {
			break
		}
		q.put(q.active, item)
	}
	item, ok := q.active.Min()
	if !ok {
		// SCHED-252: nobody else wants to be tried, so the rest of the backoff is waived.
		if item, ok = q.backoff.Min(); !ok {
			return nil
		}
	}
	q.take(item)
	delete(q.pods, item.key)
	return item
}

// waiting reports whether there is a pod to be tried.
func (q *queue) waiting() bool { return q.active.Len()+q.backoff.Len() > 0 }

// giveBack queues a pod whose attempt failed. Its plugins say who turned it down; none is an error.
func (q *queue) giveBack(item *queuedPod) {
	// It may have come back by itself, as one that is to go.
	if q.pods[item.key] != nil {
		return
	}
	q.pods[item.key] = item
	item.since = q.now()
	if len(item.plugins) > 0 {
		item.rejections++
		item.errors = 0
		item.expiry = q.expiry(item.since, item.rejections)
		// SCHED-250, SCHED-251: it waits for something to happen. Nothing can have happened during the attempt, for that is a
		// single step.
		q.put(q.pool, item)
		// SCHED-009, SCHED-253: if nothing does, it is tried again all the same; that is no reason to wait for it.
		q.flush.ArmInBackground(q.cfg.UnschedulableTimeout)
		return
	}
	// SCHED-254
	item.errors++
	item.expiry = q.expiry(item.since, item.errors)
	q.put(q.errors, item)
	q.waitForRetry(item)
}

// expiry is when the backoff after the nth failure is over, as a whole second.
func (q *queue) expiry(from time.Time, n int) time.Time {
	// SCHED-007: doubled each time.
	pause := q.cfg.MaxBackoff
	if shift := n - 1; shift < 32 && q.cfg.InitialBackoff <= q.cfg.MaxBackoff>>shift {
		pause = q.cfg.InitialBackoff << shift
	}
	return from.Add(pause).Truncate(backoffWindow)
}

// waitForRetry has a pod tried again when its backoff after an error is over.
func (q *queue) waitForRetry(item *queuedPod) {
	// SCHED-254, SCHED-008: at the first flush after the second in which it ends.
	wait := item.expiry.Add(backoffWindow).Sub(q.now())
	retry := func(*engine.Proc) {
		q.put(q.active, item)
		q.ready()
	}
	name := "retry of " + item.key
	if item.noNodes {
		// Without a node the next attempt fails as well.
		item.timer = q.actor.Background(wait, name, retry)
	} else {
		item.timer = q.actor.After(wait, name, retry)
	}
}

// nodesThere has the retries of pods that found no nodes count as work, now that there are some.
func (q *queue) nodesThere() {
	for _, item := range q.errors.Items() {
		if item.noNodes {
			item.noNodes = false
			item.timer.Stop()
			q.waitForRetry(item)
		}
	}
}

// move looks which of the waiting pods a change may help, and requeues them. among says which pods are meant; nil is all.
func (q *queue) move(c change, among func(*corev1.Pod) bool) {
	for _, item := range q.concerned(c) {
		if (among == nil || among(item.pod)) && worthRetry(item, c) {
			q.requeue(item)
		}
	}
}

// concerned lists the pods in the pool that a change may help, and perhaps others, in their order.
func (q *queue) concerned(c change) []*queuedPod {
	if q.pool.Len() == 0 || !c.helps() {
		return nil
	}
	if c.kind != api.PersistentVolumeClaim {
		return q.pool.Items()
	}
	// SCHED-260, SCHED-268, SCHED-270, SCHED-275: a claim helps none but those that name it.
	items := slices.Clone(q.byClaim[api.KeyOf(c.new)])
	slices.SortFunc(items, func(a, b *queuedPod) int {
		if before(a, b) {
			return -1
		}
		return 1
	})
	return slices.Compact(items)
}

// requeue ends the wait of a pod.
func (q *queue) requeue(item *queuedPod) {
	// SCHED-252
	if item.expiry.Before(q.now().Truncate(backoffWindow)) {
		q.put(q.active, item)
	} else {
		q.put(q.backoff, item)
	}
	q.ready()
}

// activate has a pod that waits for something be tried at once.
func (q *queue) activate(key string) {
	if item := q.pods[key]; item != nil && item.in != q.gated {
		q.put(q.active, item)
		q.ready()
	}
}

// flushPool requeues the pods that nothing happened for in a long time.
func (q *queue) flushPool() {
	for _, item := range q.pool.Items() {
		// SCHED-009, SCHED-253: strictly older.
		if age := q.now().Sub(item.since); age > q.cfg.UnschedulableTimeout {
			q.requeue(item)
		} else {
			q.flush.ArmInBackground(q.cfg.UnschedulableTimeout - age)
		}
	}
}
