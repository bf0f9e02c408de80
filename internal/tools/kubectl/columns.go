package kubectl

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
)

// namespaced lists the kinds that get a namespace column with -A.
var namespaced = map[api.Kind]bool{
	api.PersistentVolumeClaim: true, api.Pod: true, api.CSIStorageCapacity: true, api.Event: true,
}

// column is one column of the table of a kind.
type column struct {
	header string
	wide   bool // with -o wide only
	cell   func(obj api.Object, now time.Time) string
}

// of returns a column for objects of one type.
func of[T api.Object](header string, cell func(T) string) column {
	return column{header: header, cell: func(obj api.Object, _ time.Time) string { return cell(obj.(T)) }}
}

// wide returns a column that -o wide adds.
func wide[T api.Object](header string, cell func(T) string) column {
	c := of(header, cell)
	c.wide = true
	return c
}

var (
	nameColumn = column{header: "NAME", cell: func(obj api.Object, _ time.Time) string { return obj.GetName() }}
	ageColumn  = column{header: "AGE", cell: func(obj api.Object, now time.Time) string { return Age(now, obj) }}
)

// layouts has the columns of each kind.
var layouts = map[api.Kind][]column{
	api.PersistentVolume: {
		nameColumn,
		of("CAPACITY", func(pv *corev1.PersistentVolume) string { return storage(pv.Spec.Capacity) }),
		of("ACCESS MODES", func(pv *corev1.PersistentVolume) string { return AccessModes(pv.Spec.AccessModes) }),
		of("RECLAIM POLICY", func(pv *corev1.PersistentVolume) string { return string(pv.Spec.PersistentVolumeReclaimPolicy) }),
		of("STATUS", func(pv *corev1.PersistentVolume) string { return status(pv, string(pv.Status.Phase)) }),
		of("CLAIM", func(pv *corev1.PersistentVolume) string { return claimOf(pv) }),
		of("STORAGECLASS", func(pv *corev1.PersistentVolume) string { return pv.Spec.StorageClassName }),
		of("VOLUMEATTRIBUTESCLASS", func(pv *corev1.PersistentVolume) string { return orUnset(pv.Spec.VolumeAttributesClassName) }),
		of("REASON", func(pv *corev1.PersistentVolume) string { return pv.Status.Reason }),
		ageColumn,
		wide("VOLUMEMODE", func(pv *corev1.PersistentVolume) string { return volumeMode(pv.Spec.VolumeMode) }),
	},
	api.PersistentVolumeClaim: {
		nameColumn,
		of("STATUS", func(pvc *corev1.PersistentVolumeClaim) string { return status(pvc, string(pvc.Status.Phase)) }),
		of("VOLUME", func(pvc *corev1.PersistentVolumeClaim) string { return pvc.Spec.VolumeName }),
		of("CAPACITY", func(pvc *corev1.PersistentVolumeClaim) string {
			if pvc.Spec.VolumeName == "" {
				return ""
			}
			return storage(pvc.Status.Capacity)
		}),
		of("ACCESS MODES", func(pvc *corev1.PersistentVolumeClaim) string {
			if pvc.Spec.VolumeName == "" {
				return ""
			}
			return AccessModes(pvc.Status.AccessModes)
		}),
		of("STORAGECLASS", func(pvc *corev1.PersistentVolumeClaim) string { return deref(pvc.Spec.StorageClassName, "") }),
		of("VOLUMEATTRIBUTESCLASS", func(pvc *corev1.PersistentVolumeClaim) string { return orUnset(pvc.Spec.VolumeAttributesClassName) }),
		ageColumn,
		wide("VOLUMEMODE", func(pvc *corev1.PersistentVolumeClaim) string { return volumeMode(pvc.Spec.VolumeMode) }),
	},
	api.StorageClass: {
		{header: "NAME", cell: func(obj api.Object, _ time.Time) string {
			if obj.GetAnnotations()[objects.AnnDefaultClass] == "true" {
				return obj.GetName() + " (default)"
			}
			return obj.GetName()
		}},
		of("PROVISIONER", func(c *storagev1.StorageClass) string { return c.Provisioner }),
		of("RECLAIMPOLICY", func(c *storagev1.StorageClass) string {
			return string(deref(c.ReclaimPolicy, corev1.PersistentVolumeReclaimDelete))
		}),
		of("VOLUMEBINDINGMODE", func(c *storagev1.StorageClass) string {
			return string(deref(c.VolumeBindingMode, storagev1.VolumeBindingImmediate))
		}),
		of("ALLOWVOLUMEEXPANSION", func(c *storagev1.StorageClass) string { return fmt.Sprint(deref(c.AllowVolumeExpansion, false)) }),
		ageColumn,
	},
	api.Pod: {
		nameColumn,
		of("READY", readyContainers),
		of("STATUS", podStatus),
		of("RESTARTS", restarts),
		ageColumn,
		wide("IP", func(pod *corev1.Pod) string { return orNone(pod.Status.PodIP) }),
		wide("NODE", func(pod *corev1.Pod) string { return orNone(pod.Spec.NodeName) }),
		wide("NOMINATED NODE", func(pod *corev1.Pod) string { return orNone(pod.Status.NominatedNodeName) }),
		wide("READINESS GATES", func(pod *corev1.Pod) string { return "<none>" }),
	},
	api.Node: {
		nameColumn,
		of("STATUS", nodeStatus),
		of("ROLES", nodeRoles),
		ageColumn,
		of("VERSION", func(n *corev1.Node) string { return n.Status.NodeInfo.KubeletVersion }),
		wide("INTERNAL-IP", func(n *corev1.Node) string { return address(n, corev1.NodeInternalIP) }),
		wide("EXTERNAL-IP", func(n *corev1.Node) string { return address(n, corev1.NodeExternalIP) }),
		wide("OS-IMAGE", func(n *corev1.Node) string { return cmp.Or(n.Status.NodeInfo.OSImage, "<unknown>") }),
		wide("KERNEL-VERSION", func(n *corev1.Node) string { return cmp.Or(n.Status.NodeInfo.KernelVersion, "<unknown>") }),
		wide("CONTAINER-RUNTIME", func(n *corev1.Node) string { return cmp.Or(n.Status.NodeInfo.ContainerRuntimeVersion, "<unknown>") }),
	},
	api.VolumeAttachment: {
		nameColumn,
		of("ATTACHER", func(va *storagev1.VolumeAttachment) string { return va.Spec.Attacher }),
		of("PV", func(va *storagev1.VolumeAttachment) string { return deref(va.Spec.Source.PersistentVolumeName, "") }),
		of("NODE", func(va *storagev1.VolumeAttachment) string { return va.Spec.NodeName }),
		of("ATTACHED", func(va *storagev1.VolumeAttachment) string { return fmt.Sprint(va.Status.Attached) }),
		ageColumn,
	},
	api.CSIDriver: {
		nameColumn,
		of("ATTACHREQUIRED", func(d *storagev1.CSIDriver) string { return fmt.Sprint(deref(d.Spec.AttachRequired, true)) }),
		of("PODINFOONMOUNT", func(d *storagev1.CSIDriver) string { return fmt.Sprint(deref(d.Spec.PodInfoOnMount, false)) }),
		of("STORAGECAPACITY", func(d *storagev1.CSIDriver) string { return fmt.Sprint(deref(d.Spec.StorageCapacity, false)) }),
		of("TOKENREQUESTS", func(d *storagev1.CSIDriver) string {
			if d.Spec.TokenRequests == nil {
				return "<unset>"
			}
			return joined(d.Spec.TokenRequests, func(r storagev1.TokenRequest) string { return r.Audience })
		}),
		of("REQUIRESREPUBLISH", func(d *storagev1.CSIDriver) string { return fmt.Sprint(deref(d.Spec.RequiresRepublish, false)) }),
		of("MODES", func(d *storagev1.CSIDriver) string {
			return orNone(joined(d.Spec.VolumeLifecycleModes, func(m storagev1.VolumeLifecycleMode) string { return string(m) }))
		}),
		ageColumn,
	},
	api.CSINode: {
		nameColumn,
		of("DRIVERS", func(n *storagev1.CSINode) string { return fmt.Sprint(len(n.Spec.Drivers)) }),
		ageColumn,
	},
	api.VolumeAttributesClass: {
		nameColumn,
		of("DRIVERNAME", func(c *storagev1.VolumeAttributesClass) string { return c.DriverName }),
		ageColumn,
	},
	api.CSIStorageCapacity: {
		nameColumn,
		of("STORAGECLASSNAME", func(c *storagev1.CSIStorageCapacity) string { return c.StorageClassName }),
		of("CAPACITY", func(c *storagev1.CSIStorageCapacity) string {
			if c.Capacity == nil {
				return "<unset>"
			}
			return c.Capacity.String()
		}),
	},
	api.Event: {
		{header: "LAST SEEN", cell: func(obj api.Object, now time.Time) string { return since(now, lastSeen(obj.(*corev1.Event))) }},
		of("TYPE", func(e *corev1.Event) string { return e.Type }),
		of("REASON", func(e *corev1.Event) string { return e.Reason }),
		of("OBJECT", func(e *corev1.Event) string {
			return strings.ToLower(e.InvolvedObject.Kind) + "/" + e.InvolvedObject.Name
		}),
		wide("SOURCE", eventSource),
		of("MESSAGE", func(e *corev1.Event) string { return strings.TrimSpace(e.Message) }),
		wide("COUNT", func(e *corev1.Event) string { return fmt.Sprint(max(e.Count, 1)) }),
		wide("NAME", func(e *corev1.Event) string { return e.Name }),
	},
}

func claimOf(pv *corev1.PersistentVolume) string {
	if ref := pv.Spec.ClaimRef; ref != nil {
		return ref.Namespace + "/" + ref.Name
	}
	return ""
}

func storage(list corev1.ResourceList) string {
	size, ok := list[corev1.ResourceStorage]
	if !ok {
		return ""
	}
	return size.String()
}

func status(obj api.Object, phase string) string {
	if obj.GetDeletionTimestamp() != nil {
		return "Terminating"
	}
	return phase
}

func volumeMode(mode *corev1.PersistentVolumeMode) string {
	if mode == nil {
		return "<unset>"
	}
	return string(*mode)
}

func readyContainers(pod *corev1.Pod) string {
	ready := 0
	for _, c := range pod.Status.ContainerStatuses {
		if c.Ready && c.State.Running != nil {
			ready++
		}
	}
	return fmt.Sprintf("%d/%d", ready, len(pod.Spec.Containers))
}

func restarts(pod *corev1.Pod) string {
	n := int32(0)
	for _, c := range pod.Status.ContainerStatuses {
		n += c.RestartCount
	}
	return fmt.Sprint(n)
}

// podStatus returns the phase, or something more exact: why the first container waits, how it ended, or that the pod is being deleted.
func podStatus(pod *corev1.Pod) string {
	text := cmp.Or(pod.Status.Reason, string(pod.Status.Phase))
	for _, c := range slices.Backward(pod.Status.ContainerStatuses) {
		switch {
		case c.State.Waiting != nil && c.State.Waiting.Reason != "":
			text = c.State.Waiting.Reason
		case c.State.Terminated != nil:
			text = cmp.Or(c.State.Terminated.Reason, fmt.Sprintf("ExitCode:%d", c.State.Terminated.ExitCode))
		}
	}
	ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	if pod.DeletionTimestamp != nil && !ended {
		return "Terminating"
	}
	return text
}

func nodeStatus(n *corev1.Node) string {
	text := "Unknown"
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
			text = "Ready"
		} else if c.Type == corev1.NodeReady {
			text = "NotReady"
		}
	}
	if n.Spec.Unschedulable {
		text += ",SchedulingDisabled"
	}
	return text
}

func nodeRoles(n *corev1.Node) string {
	const prefix = "node-role.kubernetes.io/"
	var roles []string
	for _, key := range slices.Sorted(maps.Keys(n.Labels)) {
		if role, ok := strings.CutPrefix(key, prefix); ok && role != "" {
			roles = append(roles, role)
		}
	}
	return orNone(strings.Join(roles, ","))
}

func address(n *corev1.Node, kind corev1.NodeAddressType) string {
	for _, a := range n.Status.Addresses {
		if a.Type == kind {
			return a.Address
		}
	}
	return "<none>"
}

func joined[T any](list []T, text func(T) string) string {
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i] = text(v)
	}
	return strings.Join(texts, ",")
}

func deref[T any](p *T, without T) T {
	if p == nil {
		return without
	}
	return *p
}

func orUnset(s *string) string { return deref(s, "<unset>") }

func orNone(s string) string { return cmp.Or(s, "<none>") }
