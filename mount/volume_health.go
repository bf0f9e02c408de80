package mount

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/mount/internal/volumes"
)

// statsPeriod is how often the kubelet looks for new pods, and asks for the statistics of the volumes of each (MNT-343).
const statsPeriod = time.Minute

// volumeHealth asks drivers for the condition of the volumes of each pod (MNT-343 to MNT-346). Without the feature gate CSIVolumeHealth
// there is none: the statistics that the kubelet asks for change no object.
type volumeHealth struct {
	k      *kubelet
	ticker *engine.Ticker
	checks map[types.UID]*podHealth
}

// podHealth is the check of one pod.
type podHealth struct {
	pod    *corev1.Pod // as first seen
	passes int
	ticker *engine.Ticker
}

// startHealth begins to look for pods, with the gate.
func (k *kubelet) startHealth() {
	// MNT-342: without the gate, conditions are ignored.
	if !k.actor.Engine().Store().Gates().CSIVolumeHealth {
		return
	}
	h := &volumeHealth{k: k, checks: map[types.UID]*podHealth{}}
	// MNT-343: at the start the kubelet knows no pods; the first look that finds any comes a period later.
	h.ticker = k.actor.NewTicker(engine.TickerConfig{Name: "volume statistics", Period: statsPeriod, First: statsPeriod, Rank: rankPoll,
		Pass: h.look})
	k.health = h
	h.podsChanged()
}

// podsChanged requests the next look: there is a new pod, or one less.
func (h *volumeHealth) podsChanged() {
	if h != nil {
		h.ticker.ArmBackground()
	}
}

// look starts the checks of new pods, and ends those of pods that the kubelet does not know any more.
func (h *volumeHealth) look(*engine.Process) {
	for _, uid := range sorted(h.k.pods) {
		if _, known := h.checks[uid]; !known {
			h.checks[uid] = h.newCheck(h.k.pods[uid])
		}
	}
	for _, uid := range sorted(h.checks) {
		if _, there := h.k.pods[uid]; !there {
			// MNT-343: until now the volumes of a removed pod were still checked. A check that runs completes.
			h.checks[uid].stop()
			delete(h.checks, uid)
		}
	}
}

// newCheck starts the periodic check of a pod.
func (h *volumeHealth) newCheck(pod *corev1.Pod) *podHealth {
	c := &podHealth{pod: pod}
	if !slices.ContainsFunc(pod.Spec.Volumes, mayBeCSI) {
		return c
	}
	// MNT-344: the first check comes at once, each other one a period after the end of the one before.
	c.ticker = h.k.actor.NewTicker(engine.TickerConfig{Name: "volume statistics of " + pod.Namespace + "/" + pod.Name, Period: statsPeriod,
		Pass: func(p *engine.Process) {
			h.check(p, c)
			c.passes++
			if h.k.opts.StatsPeriod != nil {
				c.ticker.Reset(h.k.opts.StatsPeriod(c.pod, c.passes))
			}
			c.ticker.ArmBackground()
		}})
	c.ticker.ArmBackground()
	return c
}

func (c *podHealth) stop() {
	if c.ticker != nil {
		c.ticker.Stop()
	}
}

// mayBeCSI reports whether a CSI driver may provide the volume: the others have no condition.
func mayBeCSI(v corev1.Volume) bool {
	in := &v.VolumeSource
	return in.EmptyDir == nil && in.ConfigMap == nil && in.Secret == nil && in.Projected == nil && in.DownwardAPI == nil && in.Image == nil
}

// check asks for the condition of each volume that is mounted for the pod.
func (h *volumeHealth) check(p *engine.Process, c *podHealth) {
	for _, v := range h.mounted(c.pod) {
		problem, err := h.k.plugins.Condition(p, v.spec, c.pod.UID, h.statsPath(v.spec, c.pod))
		if err == nil && problem != "" {
			// MNT-346: an error and a healthy volume give nothing.
			h.k.Event(p, c.pod, corev1.EventTypeWarning, "VolumeConditionAbnormal", "Volume %s: %s", v.name, problem)
		}
	}
}

// namedVolume is a volume under its name in a pod.
type namedVolume struct {
	name string
	spec *volumes.Spec
}

// mounted returns the volumes that are mounted for the pod.
func (h *volumeHealth) mounted(pod *corev1.Pod) (named []namedVolume) {
	// [SIM] MNT-344: in the order of the pod.
	for i := range pod.Spec.Volumes {
		name := pod.Spec.Volumes[i].Name
		v := h.k.desiredVolume(pod.UID, name)
		// MNT-344: volumes that are mounted now; one that is unmounted during the check is asked for all the same.
		if v == nil || !h.k.actual.IsMounted(v.Name, pod.UID) {
			continue
		}
		if of, ok := v.Pods.Get(pod.UID); ok {
			named = append(named, namedVolume{name, of.Spec})
		}
	}
	return named
}

// statsPath returns the path that the kubelet names to the driver (MNT-345).
func (h *volumeHealth) statsPath(spec *volumes.Spec, pod *corev1.Pod) string {
	if spec.Block() {
		// MNT-345: the bind file of the pod, not where the driver has published the volume.
		return h.k.plugins.For(objects.CSIPluginName).GlobalMapPath(spec) + "/" + string(pod.UID)
	}
	return h.k.podMountPath(spec, pod)
}
