package mount

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/mount/internal/volumes"
)

// The errors of a wait that has lasted too long, and of one that was canceled (MNT-352, MNT-356).
var (
	errDeadline = errors.New("context deadline exceeded")
	errCanceled = errors.New("context canceled")
)

// limitError reports that the node cannot attach more volumes (MNT-353).
type limitError struct{ error }

// mountError returns nil when every volume that the pod uses is mounted for it (MNT-350), or an error that says what is missing. cause is
// the error of the wait for them.
func (k *kubelet) mountError(p *engine.Process, uid types.UID, used []string, cause error) error {
	if cause == nil {
		return nil
	}
	unmounted := k.unmounted(uid, used)
	if len(unmounted) == 0 {
		// MNT-351, MNT-904: a pod with all its volumes does not fail.
		return nil
	}
	unattached, volumes := k.unattached(uid)
	err := &mountFailure{unmounted, unattached, k.unprocessed(uid, used), cause}
	if driver := k.registrar.limitReached(p, volumes); driver != "" {
		k.registrar.refreshLimit(p, driver, "MNT-353")
		// MNT-353: this replaces the error of the wait, whatever it was.
		return limitError{fmt.Errorf("Node has reached its volume attachment limit, rejecting pod. %w", err)}
	}
	return err
}

// mountFailure lists the volumes that are missing at each stage of a wait (MNT-352). Few of its texts are read.
type mountFailure struct {
	unmounted, unattached, unprocessed []string
	cause                              error
}

// Error lists the volumes.
func (f *mountFailure) Error() string {
	return "unmounted volumes=" + listed(f.unmounted) + ", unattached volumes=" + listed(f.unattached) +
		", failed to process volumes=" + listed(f.unprocessed) + ": " + f.cause.Error()
}

// Unwrap returns the error of the wait.
func (f *mountFailure) Unwrap() error { return f.cause }

// listed returns the names as fmt prints a list. fmt uses reflection for that.
func listed(names []string) string { return "[" + strings.Join(names, " ") + "]" }

// unmountError returns nil when no volume is mounted for the pod (MNT-354). cause is the error of the wait for that.
func (k *kubelet) unmountError(uid types.UID, cause error) error {
	if cause == nil {
		return nil
	}
	mounted := k.actual.PodMounts(uid, false)
	if len(mounted) == 0 {
		// MNT-354: stored errors do not matter if nothing is mounted.
		return nil
	}
	return fmt.Errorf("mounted volumes=%v: %w", mounted, cause)
}

// waitForUnmount waits until no volume is mounted for the pod (MNT-354).
func (k *kubelet) waitForUnmount(p *engine.Process, w *podWorker) error {
	pl := w.newPoll(p, nil)
	if !pl.check() {
		p.WaitSteps(pl.next)
	}
	return k.unmountError(w.uid, pl.err)
}

// waitForAllPodsUnmount waits for several pods in parallel, at most for limit (MNT-355).
func (k *kubelet) waitForAllPodsUnmount(p *engine.Process, workers []*podWorker, limit time.Duration) error {
	var done engine.Signal
	var errs []error
	left := len(workers)
	end := p.Now().Add(limit)
	for _, w := range workers {
		k.actor.Go("unmount of "+w.pod.Name, func(p *engine.Process) {
			if err := k.waitForUnmount(p, w); err != nil {
				errs = append(errs, err)
			}
			left--
			done.Broadcast()
		})
	}
	// MNT-355: without pods it returns at once.
	for left > 0 {
		rest := end.Sub(p.Now())
		if rest <= 0 || !done.Wait(p, rest) && left > 0 && !p.Now().Before(end) {
			return utilerrors.NewAggregate(append(errs, errDeadline))
		}
	}
	return utilerrors.NewAggregate(errs)
}

// poll is a wait for the volumes of a pod: they are checked on the ticks of pollPeriod until they are as wanted, an error is stored, the
// wait is canceled, or WaitLimit is over (MNT-003). Ticks before which nothing has happened are skipped.
type poll struct {
	p *engine.Process
	w *podWorker
	// used are the volumes of the pod that have to be mounted. Without any, all volumes have to be unmounted.
	used []string

	start, end time.Time
	ticks      time.Duration
	tick       time.Time // of the next check
	waits      pollWait
	err        error // of the poll
}

// newPoll begins a wait for the volumes of a pod. The populator processes the pod once more.
func (w *podWorker) newPoll(p *engine.Process, used []string) *poll {
	w.k.populator.reprocess(w.uid)
	start := p.Now()
	return &poll{p: p, w: w, used: used, start: start, end: start.Add(w.k.cfg.WaitLimit)}
}

// then goes on with rest when the poll is over. It is the last that the code of the process does.
func (pl *poll) then(rest func(*engine.Process)) {
	// MNT-003, MNT-014: the first check is at once.
	if pl.check() {
		rest(pl.p)
	} else {
		pl.p.WaitThen(pl.next, rest)
	}
}

// holds reports whether the volumes are as wanted.
func (pl *poll) holds() (bool, error) {
	k, uid := pl.w.k, pl.w.uid
	// MNT-350, MNT-358, MNT-903: stored errors come first, including those from before this wait.
	if texts := k.desired.TakePodErrors(uid); len(texts) > 0 {
		return false, errors.New(strings.Join(texts, "; "))
	}
	if len(pl.used) == 0 {
		// MNT-354, MNT-902: uncertain mounts do not count here.
		return !k.actual.HasMounts(uid, false), nil
	}
	return k.allMounted(uid, pl.used), nil
}

// canceled reports whether the end of the pod has canceled the wait for its mounts (MNT-356).
func (pl *poll) canceled() bool { return len(pl.used) > 0 && pl.w.state.ending() }

// pollWait names the event that a poll waits for.
type pollWait int

const (
	forChange pollWait = iota
	forTick
	forPasses
)

// check evaluates the condition. It reports whether the poll is over.
func (pl *poll) check() (over bool) {
	switch done, err := pl.holds(); {
	case err != nil:
		return pl.fails(err)
	case done:
		return true
	case pl.canceled():
		return pl.fails(errCanceled)
	}
	// Until something changes, the next checks would find the same.
	pl.waits = forChange
	pl.p.Expect(&pl.w.signal, pl.end.Sub(pl.p.Now()))
	return false
}

func (pl *poll) fails(err error) (over bool) {
	pl.err = err
	return true
}

// next goes on after a wait. It reports whether the poll is over.
func (pl *poll) next(woken bool) (over bool) {
	switch {
	case pl.waits == forPasses:
		return pl.check()
	case pl.waits == forChange && !woken:
		// MNT-003: the limit counts before the condition.
		return pl.fails(errDeadline)
	case pl.canceled():
		return pl.fails(errCanceled)
	}
	now := pl.p.Now()
	if pl.waits == forChange {
		// MNT-003: ticks count from the first check.
		past := now.Sub(pl.start)
		pl.ticks = max(pl.ticks+1, (past+pollPeriod-1)/pollPeriod)
		pl.tick = pl.start.Add(pl.ticks * pollPeriod)
		if !pl.tick.Before(pl.end) {
			pl.tick = pl.end
		}
	}
	switch {
	case now.Before(pl.tick):
		pl.waits = forTick
		pl.p.Expect(&pl.w.signal, pl.tick.Sub(now))
		return false
	case !pl.tick.Before(pl.end):
		return pl.fails(errDeadline)
	}
	// MNT-014: at one instant, checks come after passes.
	pl.waits = forPasses
	pl.p.ExpectPasses(rankPoll)
	return false
}

// podVolume is a desired volume under one of its names in a pod.
type podVolume struct {
	name   string
	volume *volumes.DesiredVolume
}

// desiredByPodName returns a pod's desired volumes by their names in the pod, in order.
func (k *kubelet) desiredByPodName(uid types.UID) []podVolume {
	var named []podVolume
	for v, dp := range k.desired.VolumesOf(uid) {
		for _, outer := range dp.PodNames {
			// Of two volumes with one name, the last one counts.
			if i := slices.IndexFunc(named, func(n podVolume) bool { return n.name == outer }); i >= 0 {
				named[i].volume = v
			} else {
				named = append(named, podVolume{outer, v})
			}
		}
	}
	slices.SortFunc(named, func(a, b podVolume) int { return strings.Compare(a.name, b.name) })
	return named
}

// desiredVolume returns the desired volume of that name in the pod, nil for none.
func (k *kubelet) desiredVolume(uid types.UID, name string) (desired *volumes.DesiredVolume) {
	for v, dp := range k.desired.VolumesOf(uid) {
		if slices.Contains(dp.PodNames, name) {
			desired = v
		}
	}
	return desired
}

// isMounted reports whether the volume of that name in the pod is desired, and mounted for the pod.
func (k *kubelet) isMounted(uid types.UID, name string) bool {
	// MNT-352, MNT-357: an uncertain mount counts as not mounted, and only desired volumes count.
	desired := k.desiredVolume(uid, name)
	return desired != nil && k.actual.IsMounted(desired.Name, uid)
}

// allMounted reports whether all used volumes are mounted.
func (k *kubelet) allMounted(uid types.UID, used []string) bool {
	return !slices.ContainsFunc(used, func(name string) bool { return !k.isMounted(uid, name) })
}

// unmounted returns the used volumes that are not mounted, including those that are not desired.
func (k *kubelet) unmounted(uid types.UID, used []string) []string {
	return slices.DeleteFunc(slices.Clone(used), func(name string) bool { return k.isMounted(uid, name) })
}

// unattached returns the desired volumes that have to be attached and are not recorded as attached.
func (k *kubelet) unattached(uid types.UID) (names []string, volumes []*volumes.DesiredVolume) {
	for _, outer := range k.desiredByPodName(uid) {
		// MNT-352: a record means that the volume is attached.
		if _, attached := k.actual.Volume(outer.volume.Name); outer.volume.Attachable && !attached {
			names = append(names, outer.name)
			volumes = append(volumes, outer.volume)
		}
	}
	return names, volumes
}

// unprocessed returns the used volumes that are not desired.
func (k *kubelet) unprocessed(uid types.UID, used []string) []string {
	// MNT-352: the populator has not added them yet, or could not.
	return slices.DeleteFunc(slices.Clone(used), func(name string) bool { return k.desiredVolume(uid, name) != nil })
}
