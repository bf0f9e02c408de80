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

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/proof/differential/apiserver"
)

// loop is one of a kubelet, in the order in which their passes come if they are due at the same instant and somebody can choose.
type loop int

const (
	// report is a round of the node's status.
	report loop = iota
	populator
	reconciler
	// ends are those of calls to the driver that took time. What ends at the instant of a pass is seen by the next one (MNT-014), or by this.
	ends
	// looks are those of whoever waits for volumes of a pod to be mounted, or gone.
	looks
)

// passVerb is the verb of the turn of a pass. What it is about is the loop.
const passVerb = "pass"

var loopNames = []api.Kind{report: "report", populator: "populator", reconciler: "reconciler", ends: "ends", looks: "looks"}

// loopOf is whose pass a turn is, -1 if it is something else.
func loopOf(t *transition) loop {
	if t.Verb != passVerb {
		return -1
	}
	return loop(slices.Index(loopNames, t.Object.Kind))
}

// pass returns when the next pass of a loop may begin. A director has it come after everything else that is due at the same instant;
// otherwise, if the kubelet is Sorted, the populator goes before the reconciler.
func (k *kubelet) pass(l loop) {
	switch s := k.cluster.sequencer; {
	case s != nil:
		s.await(apiserver.Transition{Component: k.actor, Verb: passVerb, Object: api.Ref{Kind: loopNames[l]}}, k.ctx.Done())
	case k.cluster.cfg.Sorted && l == reconciler:
		yield()
	}
}

// endsAt notes that something will end then. before is closed when what began before it and ends at the same instant has ended.
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

// endAfter returns when something that took time may end. If the kubelet is Sorted what ends at the same instant ends in the order in which it began.
func (k *kubelet) endAfter(before <-chan struct{}) {
	if before != nil && k.cluster.cfg.Sorted {
		select {
		case <-before:
		case <-k.ctx.Done():
		}
	}
	k.pass(ends)
}

// yield lets others go first who are due now.
func yield() {
	for range 20 {
		runtime.Gosched()
	}
}

// watchLoops has the loops of a volume manager wait for their passes, and, if the kubelet is Sorted, its reconciler go through what is desired in
// order. By itself it goes in the order of a map, and whoever is first goes first: all that is up to chance, so it may be this.
func (k *kubelet) watchLoops(m volumemanager.VolumeManager) {
	manager := reflect.ValueOf(m).Elem()
	state := unexported(manager.FieldByName("desiredStateOfWorld"))
	state.Set(reflect.ValueOf(looked{state.Interface().(cache.DesiredStateOfWorld), k}))
	reconcilers := unexported(manager.FieldByName("reconciler")).Elem().Elem()
	// This is what a pass asks first.
	added := unexported(reconcilers.FieldByName("populatorHasAddedPods"))
	hasAdded := added.Interface().(func() bool)
	added.Set(reflect.ValueOf(func() bool { k.pass(reconciler); return hasAdded() }))
	if k.cluster.cfg.Sorted {
		desired := unexported(reconcilers.FieldByName("desiredStateOfWorld"))
		actual := unexported(reconcilers.FieldByName("actualStateOfWorld")).Interface().(cache.ActualStateOfWorld)
		desired.Set(reflect.ValueOf(sorted{desired.Interface().(cache.DesiredStateOfWorld), actual, k}))
	}
}

// looked is a desired state of the world as those see it who wait for the volumes of a pod.
type looked struct {
	cache.DesiredStateOfWorld
	kubelet *kubelet
}

// PopPodErrors is what a look asks first. The one with which a wait begins comes with the sync of the pod, and the others after passes, as here (MNT-014).
func (s looked) PopPodErrors(pod volumetypes.UniquePodName) []string {
	if _, begins := s.kubelet.begins.LoadAndDelete(pod); !begins {
		s.kubelet.pass(looks)
	}
	return s.DesiredStateOfWorld.PopPodErrors(pod)
}

// sorted is a desired state of the world in the order of volumes and pods. Pods that have a volume already come last, and of these those last
// that may only read it: what is done for them, again and again, might keep the others waiting.
type sorted struct {
	cache.DesiredStateOfWorld
	actual  cache.ActualStateOfWorld
	kubelet *kubelet
}

// GetVolumesToMount lists what is desired.
func (s sorted) GetVolumesToMount() []cache.VolumeToMount {
	if s.kubelet.cluster.sequencer == nil {
		yield()
	}
	volumes := s.DesiredStateOfWorld.GetVolumesToMount()
	ranks := map[[2]string]int{}
	key := func(v cache.VolumeToMount) [2]string { return [2]string{string(v.VolumeName), string(v.PodName)} }
	for _, v := range volumes {
		mounted, _, err := s.actual.PodExistsInVolume(discard, v.PodName, v.VolumeName, v.DesiredPersistentVolumeSize, v.SELinuxLabel)
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
