package schedule

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
)

// verb is the kind of change to an object.
type verb int

const (
	added verb = iota
	updated
	deleted
)

// change is a change of an object. old is nil for a new object, new is nil for a deleted one.
type change struct {
	kind     api.Kind
	what     verb
	old, new api.Object
}

// migratedPlugins is the annotation of a CSINode that lists the in-tree plugins replaced by CSI drivers (SCHED-013).
const migratedPlugins = objects.AnnMigratedPlugins

// Requeues reports whether a pod that a plugin rejected is tried again after a change of an object (SCHED-251). The plugin is that of a
// [Decision]. old is nil for a new object, now is nil for a deleted one. Kinds that the scheduler does not watch help no pod.
func Requeues(plugin string, pod *corev1.Pod, old, now api.Object) bool {
	c := change{what: updated, old: old, new: now}
	switch {
	case hints[plugin] == nil || old == nil && now == nil:
		return false
	case old == nil:
		c.what, c.kind = added, api.KindOf(now)
	case now == nil:
		c.what, c.kind = deleted, api.KindOf(old)
	default:
		c.kind = api.KindOf(now)
	}
	// SCHED-251: the hint of that plugin decides.
	return worthRetry(&queuedPod{pod: pod, plugins: []string{plugin}}, c)
}

// worthRetry reports whether one of the plugins that rejected a pod reports that a change may help it (SCHED-251).
func worthRetry(item *queuedPod, c change) bool {
	// SCHED-250, SCHED-278: only the plugins that rejected it are asked.
	return c.helps() && slices.ContainsFunc(item.plugins, func(plugin string) bool { return mayHelp(plugin, item.pod, c) })
}

// mayHelp reports whether a change may help a pod that the plugin rejected.
func mayHelp(plugin string, pod *corev1.Pod, c change) bool {
	// SCHED-308: only PodTopologySpread reacts to a deleted node.
	if c.kind == api.Node && c.what == deleted && plugin != podTopologySpread {
		return false
	}
	// SCHED-279: changed taints count for these plugins, although they do not read taints.
	return slices.Contains(reactToNodes, plugin) && c.taintsChanged() || hints[plugin](pod, c)
}

// reactToNodes are the plugins that react to new nodes but did not register for changes of taints.
var reactToNodes = []string{nodeAffinity, nodePorts, nodeResourcesFit, volumeRestrictions, volumeBinding, volumeZone, interPodAffinity}

// taintsChanged reports whether the taints of a node changed, or it is no longer cordoned.
func (c change) taintsChanged() bool {
	if c.kind != api.Node || c.what != updated {
		return false
	}
	before, now := nodesOf(c)
	// SCHED-279: spec.unschedulable counts like a taint.
	return before.Spec.Unschedulable && !now.Spec.Unschedulable || !equality.Semantic.DeepEqual(before.Spec.Taints, now.Spec.Taints)
}

// helps reports whether the change can help any pod.
func (c change) helps() bool {
	switch {
	case c.what == deleted:
		// SCHED-277: no plugin reacts to a deleted volume, claim, class or capacity. SCHED-308: one reacts to a deleted node.
		return c.kind == api.Pod || c.kind == api.VolumeAttachment || c.kind == api.Node
	case c.kind == api.Node && c.what == updated:
		return nodeChanged(c.old.(*corev1.Node), c.new.(*corev1.Node))
	}
	return true
}

// hints has for each plugin the function that reports whether a change may help a pod that the plugin rejected.
var hints = map[string]func(pod *corev1.Pod, c change) bool{
	nodeUnschedulable:  hintUnschedulable,
	taintToleration:    hintTaints,
	nodeAffinity:       hintAffinity,
	nodePorts:          hintPorts,
	nodeResourcesFit:   hintResources,
	volumeRestrictions: hintRestrictions,
	nodeVolumeLimits:   hintLimits,
	volumeBinding:      hintBinding,
	volumeZone:         hintZone,
	podTopologySpread:  hintSpread,
	interPodAffinity:   hintPods,
}

// hintBinding is the hint of VolumeBinding (SCHED-260 to SCHED-266).
func hintBinding(pod *corev1.Pod, c change) bool {
	switch c.kind {
	case api.PersistentVolumeClaim:
		// SCHED-260: a claim of the pod.
		return slices.Contains(objects.ClaimsOf(pod), api.KeyOf(c.new))
	case api.PersistentVolume:
		// SCHED-261: any volume.
		return true
	case api.Node:
		// SCHED-262: a new node, or other labels.
		return c.what == added || labelsChanged(c)
	case api.StorageClass:
		// SCHED-263: a new class, or other allowedTopologies.
		return c.what == added ||
			!equality.Semantic.DeepEqual(c.old.(*storagev1.StorageClass).AllowedTopologies, c.new.(*storagev1.StorageClass).AllowedTopologies)
	case api.CSINode:
		// SCHED-264, SCHED-013: a new CSINode, or other migrated plugins.
		return c.what == added || c.old.GetAnnotations()[migratedPlugins] != c.new.GetAnnotations()[migratedPlugins]
	case api.CSIStorageCapacity:
		// SCHED-265: a new capacity, or a larger one.
		if c.what == added {
			return true
		}
		before, now := limitOf(c.old.(*storagev1.CSIStorageCapacity)), limitOf(c.new.(*storagev1.CSIStorageCapacity))
		return now != nil && (before == nil || now.Value() > before.Value())
	case api.CSIDriver:
		return c.what == updated && trackingEnded(pod, c.old.(*storagev1.CSIDriver), c.new.(*storagev1.CSIDriver))
	}
	return false
}

// trackingEnded reports whether a driver no longer reports capacity and the pod has an inline volume of it.
func trackingEnded(pod *corev1.Pod, old, driver *storagev1.CSIDriver) bool {
	tracks := func(d *storagev1.CSIDriver) bool { return d.Spec.StorageCapacity != nil && *d.Spec.StorageCapacity }
	// SCHED-266: pods that use the driver through claims do not count.
	return tracks(old) && !tracks(driver) && slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
		return v.CSI != nil && v.CSI.Driver == driver.Name
	})
}

// hintRestrictions is the hint of VolumeRestrictions (SCHED-267, SCHED-268).
func hintRestrictions(pod *corev1.Pod, c change) bool {
	switch {
	case c.kind == api.Pod && c.what == deleted:
		// SCHED-267: a deleted pod that used a disk or claim of this one.
		gone := c.old.(*corev1.Pod)
		claims := namedClaims(gone)
		return gone.Namespace == pod.Namespace && (disksConflict(pod, gone) ||
			slices.ContainsFunc(namedClaims(pod), func(key string) bool { return slices.Contains(claims, key) }))
	case c.kind == api.PersistentVolumeClaim:
		// SCHED-268, SCHED-278: only a new claim, because access modes do not change.
		return c.what == added && slices.Contains(namedClaims(pod), api.KeyOf(c.new))
	case c.kind == api.Node:
		// SCHED-268: a new node.
		return c.what == added
	}
	return false
}

// hintZone is the hint of VolumeZone (SCHED-269 to SCHED-272).
func hintZone(pod *corev1.Pod, c change) bool {
	switch c.kind {
	case api.StorageClass:
		// SCHED-269: a new class that waits for the first consumer.
		mode := c.new.(*storagev1.StorageClass).VolumeBindingMode
		return c.what == added && mode != nil && *mode == storagev1.VolumeBindingWaitForFirstConsumer
	case api.PersistentVolumeClaim:
		// SCHED-270: a claim of the pod.
		return slices.Contains(namedClaims(pod), api.KeyOf(c.new))
	case api.PersistentVolume:
		// SCHED-271: a new volume, or other zones.
		return c.what == added ||
			!slices.EqualFunc(zonesOf(c.old.(*corev1.PersistentVolume)), zonesOf(c.new.(*corev1.PersistentVolume)), zoneLabel.equal)
	case api.Node:
		// SCHED-272: a new node, or other labels.
		return c.what == added || labelsChanged(c)
	}
	return false
}

// hintLimits is the hint of NodeVolumeLimits (SCHED-273 to SCHED-276).
func hintLimits(pod *corev1.Pod, c change) bool {
	switch {
	case c.kind == api.CSINode:
		// SCHED-273: a new CSINode, or a higher limit.
		return c.what == added || limitGrew(c.old.(*storagev1.CSINode), c.new.(*storagev1.CSINode))
	case c.kind == api.Pod && c.what == deleted:
		// SCHED-274: a deleted pod that had volumes on a node.
		gone := c.old.(*corev1.Pod)
		return (gone.Spec.NodeName != "" || gone.Status.NominatedNodeName != "") &&
			slices.ContainsFunc(gone.Spec.Volumes, func(v corev1.Volume) bool {
				return objects.ClaimOf(gone, &v) != "" || migratedDriver(&v) != ""
			})
	case c.kind == api.PersistentVolumeClaim:
		// SCHED-275: a new claim of the pod.
		return c.what == added && slices.Contains(objects.ClaimsOf(pod), api.KeyOf(c.new))
	case c.kind == api.VolumeAttachment && c.what == deleted:
		// SCHED-276: a deleted VolumeAttachment.
		attacher := c.old.(*storagev1.VolumeAttachment).Spec.Attacher
		return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
			return v.PersistentVolumeClaim != nil || attacher != "" && migratedDriver(&v) == attacher
		})
	}
	return false
}

// limitGrew reports whether the limit of a driver is higher than before.
func limitGrew(old, node *storagev1.CSINode) bool {
	// SCHED-273: no count compares as zero.
	counts := map[string]int32{}
	for i := range old.Spec.Drivers {
		counts[old.Spec.Drivers[i].Name] = countOf(&old.Spec.Drivers[i])
	}
	return slices.ContainsFunc(node.Spec.Drivers, func(d storagev1.CSINodeDriver) bool { return countOf(&d) > counts[d.Name] })
}

func countOf(d *storagev1.CSINodeDriver) int32 {
	if d.Allocatable == nil || d.Allocatable.Count == nil {
		return 0
	}
	return *d.Allocatable.Count
}

func labelsChanged(c change) bool {
	return !equality.Semantic.DeepEqual(c.old.GetLabels(), c.new.GetLabels())
}
