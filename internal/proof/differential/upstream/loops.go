package upstream

import (
	"cmp"
	"reflect"
	"runtime"
	"slices"
	"time"

	"k8s.io/kubernetes/pkg/kubelet/volumemanager"
	"k8s.io/kubernetes/pkg/kubelet/volumemanager/cache"
	volumetypes "k8s.io/kubernetes/pkg/volume/util/types"

	"github.com/volsim/volsim/internal/proof/differential/harness"
)

// pass returns when the next pass of a loop may begin. A sequencer lets it begin after everything else due at the instant; otherwise,
// with Sorted, the populator's pass comes before the reconciler's.
func (k *kubelet) pass(l harness.Loop) {
	switch s := k.cluster.Sequencer; {
	case s != nil:
		s.AwaitPass(k.actor, l, k.ctx.Done())
	case k.cluster.cfg.Sorted && l == harness.Reconciler:
		yield()
	}
}

// endsAt records that something will end then. before is closed when what began before it and ends at the same instant has ended.
func (k *kubelet) endsAt(instant time.Time) (before <-chan struct{}, over func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	last, own := k.ending[instant], make(chan struct{})
	k.ending[instant] = own
	return last, func() {
		close(own)
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.ending[instant] == own {
			delete(k.ending, instant)
		}
	}
}

// endAfter returns when something that took time may end. With Sorted, what ends at the same instant ends in the order in which it began.
func (k *kubelet) endAfter(before <-chan struct{}) {
	if before != nil && k.cluster.cfg.Sorted {
		select {
		case <-before:
		case <-k.ctx.Done():
		}
	}
	k.pass(harness.Ends)
}

// yield lets other goroutines run that are due now.
func yield() {
	for range 20 {
		runtime.Gosched()
	}
}

// watchLoops makes the loops of a volume manager wait for their passes, and, with Sorted, its reconciler walk the desired state in order.
// Unmodified, it walks a map, and goroutines race; both orders are legal.
func (k *kubelet) watchLoops(m volumemanager.VolumeManager) {
	manager := reflect.ValueOf(m).Elem()
	state := harness.Unexported(manager.FieldByName("desiredStateOfWorld"))
	state.Set(reflect.ValueOf(looked{state.Interface().(cache.DesiredStateOfWorld), k}))
	reconcilers := harness.Unexported(manager.FieldByName("reconciler")).Elem().Elem()
	// A pass calls this first.
	added := harness.Unexported(reconcilers.FieldByName("populatorHasAddedPods"))
	hasAdded := added.Interface().(func() bool)
	added.Set(reflect.ValueOf(func() bool { k.pass(harness.Reconciler); return hasAdded() }))
	if k.cluster.cfg.Sorted {
		desired := harness.Unexported(reconcilers.FieldByName("desiredStateOfWorld"))
		actual := harness.Unexported(reconcilers.FieldByName("actualStateOfWorld")).Interface().(cache.ActualStateOfWorld)
		desired.Set(reflect.ValueOf(sorted{desired.Interface().(cache.DesiredStateOfWorld), actual, k}))
	}
}

// looked is the desired state as seen by waits for a pod's volumes.
type looked struct {
	cache.DesiredStateOfWorld
	kubelet *kubelet
}

// PopPodErrors is the first call of such a check. The first check of a wait belongs to the pod's sync, the others come after passes
// (MNT-014).
func (s looked) PopPodErrors(pod volumetypes.UniquePodName) []string {
	if _, begins := s.kubelet.begins.LoadAndDelete(pod); !begins {
		s.kubelet.pass(harness.Looks)
	}
	return s.DesiredStateOfWorld.PopPodErrors(pod)
}

// sorted is the desired state in the order of volumes and pods. Pairs that are mounted come last, and of these those that only read:
// their repeated work could keep others waiting.
type sorted struct {
	cache.DesiredStateOfWorld
	actual  cache.ActualStateOfWorld
	kubelet *kubelet
}

// GetVolumesToMount lists the desired pairs.
func (s sorted) GetVolumesToMount() []cache.VolumeToMount {
	if s.kubelet.cluster.Sequencer == nil {
		yield()
	}
	volumes := s.DesiredStateOfWorld.GetVolumesToMount()
	ranks := map[[2]string]int{}
	key := func(v cache.VolumeToMount) [2]string { return [2]string{string(v.VolumeName), string(v.PodName)} }
	for _, v := range volumes {
		mounted, _, err := s.actual.PodExistsInVolume(harness.Discard, v.PodName, v.VolumeName, v.DesiredPersistentVolumeSize, v.SELinuxLabel)
		switch {
		case !mounted || cache.IsRemountRequiredError(err):
		case v.VolumeSpec.ReadOnly:
			ranks[key(v)] = 2
		default:
			ranks[key(v)] = 1
		}
	}
	slices.SortFunc(volumes, func(a, b cache.VolumeToMount) int {
		return cmp.Or(cmp.Compare(ranks[key(a)], ranks[key(b)]), cmp.Compare(a.VolumeName, b.VolumeName), cmp.Compare(a.PodName, b.PodName))
	})
	return volumes
}
