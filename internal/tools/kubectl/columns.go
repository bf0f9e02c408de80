package kubectl

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/objkinds"
)

// namespaced reports whether the kind gets a namespace column with -A. objs are objects of the kind; they decide for a custom kind.
func namespaced(kind api.Kind, objs []api.Object) bool {
	if known := objkinds.Get(string(kind)); known != nil {
		return known.Namespaced
	}
	return len(objs) > 0 && objs[0].GetNamespace() != ""
}

// Column is one column of the table of a kind, as in the Tables of an API server.
type Column struct {
	Name string
	// Type is the type of the cells: string, integer, boolean or date. Format is "name" for names.
	Type, Format string
	// Wide: -o wide only.
	Wide bool
	// Field is the field of the object, as a pointer to its struct and its name in JSON, whose documentation describes the column; or else
	// Description does.
	Field       any
	FieldName   string
	Description string
	// Cell returns the cell of an object: a string, an int64, a bool, or nil for none. Ages are relative to now.
	Cell func(obj api.Object, now time.Time) any
}

// Text returns the cell of an object as kubectl prints it.
func (c Column) Text(obj api.Object, now time.Time) string {
	value := c.Cell(obj, now)
	if value == nil {
		return ""
	}
	return fmt.Sprint(value)
}

// header returns the title that kubectl prints.
func (c Column) header() string { return strings.ToUpper(c.Name) }

// Columns returns the columns of a kind.
func Columns(kind api.Kind) []Column {
	if columns, ok := layouts[kind]; ok {
		return columns
	}
	return otherColumns(kind)
}

// of returns a column for objects of one type. source is the struct whose field, or else the sentence that describes the column.
func of[T api.Object](name string, source any, fieldName string, cell func(T) any) Column {
	c := Column{Name: name, Type: "string", Cell: func(obj api.Object, _ time.Time) any { return cell(obj.(T)) }}
	if text, ok := source.(string); ok {
		c.Description = text
	} else {
		c.Field, c.FieldName = source, fieldName
	}
	return c
}

// wide returns a column that -o wide adds.
func wide[T api.Object](name string, source any, fieldName string, cell func(T) any) Column {
	c := of(name, source, fieldName, cell)
	c.Wide = true
	return c
}

// typed returns the column with another type.
func (c Column) typed(name string) Column {
	c.Type = name
	return c
}

func (c Column) formatted(name string) Column {
	c.Format = name
	return c
}

var (
	nameColumn = Column{
		Name: "Name", Type: "string", Format: "name", Field: metav1.ObjectMeta{}, FieldName: "name",
		Cell: func(obj api.Object, _ time.Time) any { return obj.GetName() },
	}
	ageColumn = Column{
		Name: "Age", Type: "string", Field: metav1.ObjectMeta{}, FieldName: "creationTimestamp",
		Cell: func(obj api.Object, now time.Time) any { return Age(now, obj) },
	}
)

// layouts has the columns of each kind.
var layouts = map[api.Kind][]Column{
	api.PersistentVolume: {
		nameColumn,
		of("Capacity", corev1.PersistentVolumeSpec{}, "capacity", func(pv *corev1.PersistentVolume) any { return storage(pv.Spec.Capacity) }),
		of("Access Modes", corev1.PersistentVolumeSpec{}, "accessModes", func(pv *corev1.PersistentVolume) any {
			return AccessModes(pv.Spec.AccessModes)
		}),
		of("Reclaim Policy", corev1.PersistentVolumeSpec{}, "persistentVolumeReclaimPolicy", func(pv *corev1.PersistentVolume) any {
			return string(pv.Spec.PersistentVolumeReclaimPolicy)
		}),
		of("Status", corev1.PersistentVolumeStatus{}, "phase", func(pv *corev1.PersistentVolume) any {
			return status(pv, string(pv.Status.Phase))
		}),
		of("Claim", corev1.PersistentVolumeSpec{}, "claimRef", func(pv *corev1.PersistentVolume) any { return claimOf(pv) }),
		of("StorageClass", "StorageClass of the pv", "", func(pv *corev1.PersistentVolume) any { return objects.ClassOfVolume(pv) }),
		of("VolumeAttributesClass", "VolumeAttributesClass of the pv", "", func(pv *corev1.PersistentVolume) any {
			return orUnset(pv.Spec.VolumeAttributesClassName)
		}),
		of("Reason", corev1.PersistentVolumeStatus{}, "reason", func(pv *corev1.PersistentVolume) any { return pv.Status.Reason }),
		ageColumn,
		wide("VolumeMode", corev1.PersistentVolumeSpec{}, "volumeMode", func(pv *corev1.PersistentVolume) any {
			return volumeMode(pv.Spec.VolumeMode)
		}),
	},
	api.PersistentVolumeClaim: {
		nameColumn,
		of("Status", corev1.PersistentVolumeClaimStatus{}, "phase", func(pvc *corev1.PersistentVolumeClaim) any {
			return status(pvc, string(pvc.Status.Phase))
		}),
		of("Volume", corev1.PersistentVolumeClaimSpec{}, "volumeName", func(pvc *corev1.PersistentVolumeClaim) any { return pvc.Spec.VolumeName }),
		of("Capacity", corev1.PersistentVolumeClaimStatus{}, "capacity", func(pvc *corev1.PersistentVolumeClaim) any {
			if pvc.Spec.VolumeName == "" {
				return ""
			}
			return storage(pvc.Status.Capacity)
		}),
		of("Access Modes", corev1.PersistentVolumeClaimStatus{}, "accessModes", func(pvc *corev1.PersistentVolumeClaim) any {
			if pvc.Spec.VolumeName == "" {
				return ""
			}
			return AccessModes(pvc.Status.AccessModes)
		}),
		of("StorageClass", "StorageClass of the pvc", "", func(pvc *corev1.PersistentVolumeClaim) any { return objects.ClassOf(pvc) }),
		of("VolumeAttributesClass", "VolumeAttributesClass of the pvc", "", func(pvc *corev1.PersistentVolumeClaim) any {
			return orUnset(pvc.Spec.VolumeAttributesClassName)
		}),
		ageColumn,
		wide("VolumeMode", corev1.PersistentVolumeClaimSpec{}, "volumeMode", func(pvc *corev1.PersistentVolumeClaim) any {
			return volumeMode(pvc.Spec.VolumeMode)
		}),
	},
	api.StorageClass: {
		{
			Name: "Name", Type: "string", Format: "name", Field: metav1.ObjectMeta{}, FieldName: "name",
			Cell: func(obj api.Object, _ time.Time) any {
				annotations := obj.GetAnnotations()
				if annotations[objects.AnnDefaultClass] == "true" || annotations[objects.AnnBetaDefaultClass] == "true" {
					return obj.GetName() + " (default)"
				}
				return obj.GetName()
			},
		},
		of("Provisioner", storagev1.StorageClass{}, "provisioner", func(c *storagev1.StorageClass) any { return c.Provisioner }),
		of("ReclaimPolicy", storagev1.StorageClass{}, "reclaimPolicy", func(c *storagev1.StorageClass) any {
			return string(deref(c.ReclaimPolicy, corev1.PersistentVolumeReclaimDelete))
		}),
		of("VolumeBindingMode", storagev1.StorageClass{}, "volumeBindingMode", func(c *storagev1.StorageClass) any {
			return string(deref(c.VolumeBindingMode, storagev1.VolumeBindingImmediate))
		}),
		of("AllowVolumeExpansion", storagev1.StorageClass{}, "allowVolumeExpansion", func(c *storagev1.StorageClass) any {
			return deref(c.AllowVolumeExpansion, false)
		}),
		ageColumn,
	},
	api.Pod: {
		nameColumn,
		of("Ready", "The aggregate readiness state of this pod for accepting traffic.", "", func(pod *corev1.Pod) any {
			return summarize(pod).containers
		}),
		of("Status", "The aggregate status of the containers in this pod.", "", func(pod *corev1.Pod) any { return summarize(pod).status }),
		{
			Name: "Restarts", Type: "string",
			Description: "The number of times the containers in this pod have been restarted and when the last container in this pod has restarted.",
			Cell:        func(obj api.Object, now time.Time) any { return summarize(obj.(*corev1.Pod)).restarted(now) },
		},
		ageColumn,
		wide("IP", corev1.PodStatus{}, "podIP", func(pod *corev1.Pod) any {
			if len(pod.Status.PodIPs) == 0 {
				return "<none>"
			}
			return orNone(pod.Status.PodIPs[0].IP)
		}),
		wide("Node", corev1.PodSpec{}, "nodeName", func(pod *corev1.Pod) any { return orNone(pod.Spec.NodeName) }),
		wide("Nominated Node", corev1.PodStatus{}, "nominatedNodeName", func(pod *corev1.Pod) any {
			return orNone(pod.Status.NominatedNodeName)
		}),
		wide("Readiness Gates", corev1.PodSpec{}, "readinessGates", readinessGates),
	},
	api.Node: {
		nameColumn,
		of("Status", "The status of the node", "", func(n *corev1.Node) any { return nodeStatus(n) }),
		of("Roles", "The roles of the node", "", func(n *corev1.Node) any { return nodeRoles(n) }),
		ageColumn,
		of("Version", corev1.NodeSystemInfo{}, "kubeletVersion", func(n *corev1.Node) any { return n.Status.NodeInfo.KubeletVersion }),
		wide("Internal-IP", corev1.NodeStatus{}, "addresses", func(n *corev1.Node) any { return address(n, corev1.NodeInternalIP) }),
		wide("External-IP", corev1.NodeStatus{}, "addresses", func(n *corev1.Node) any { return address(n, corev1.NodeExternalIP) }),
		wide("OS-Image", corev1.NodeSystemInfo{}, "osImage", func(n *corev1.Node) any {
			return cmp.Or(n.Status.NodeInfo.OSImage, "<unknown>")
		}),
		wide("Kernel-Version", corev1.NodeSystemInfo{}, "kernelVersion", func(n *corev1.Node) any {
			version := cmp.Or(n.Status.NodeInfo.KernelVersion, "<unknown>")
			if architecture := n.Status.NodeInfo.Architecture; architecture != "" {
				version += " (" + architecture + ")"
			}
			return version
		}),
		wide("Container-Runtime", corev1.NodeSystemInfo{}, "containerRuntimeVersion", func(n *corev1.Node) any {
			return cmp.Or(n.Status.NodeInfo.ContainerRuntimeVersion, "<unknown>")
		}),
	},
	api.VolumeAttachment: {
		nameColumn,
		of("Attacher", storagev1.VolumeAttachmentSpec{}, "attacher", func(va *storagev1.VolumeAttachment) any {
			return va.Spec.Attacher
		}).formatted("name"),
		of("PV", storagev1.VolumeAttachmentSource{}, "persistentVolumeName", func(va *storagev1.VolumeAttachment) any {
			return deref(va.Spec.Source.PersistentVolumeName, "")
		}),
		of("Node", storagev1.VolumeAttachmentSpec{}, "nodeName", func(va *storagev1.VolumeAttachment) any { return va.Spec.NodeName }),
		of("Attached", storagev1.VolumeAttachmentStatus{}, "attached", func(va *storagev1.VolumeAttachment) any {
			return va.Status.Attached
		}).typed("boolean"),
		ageColumn,
	},
	api.CSIDriver: {
		nameColumn,
		of("AttachRequired", storagev1.CSIDriverSpec{}, "attachRequired", func(d *storagev1.CSIDriver) any {
			return deref(d.Spec.AttachRequired, true)
		}).typed("boolean"),
		of("PodInfoOnMount", storagev1.CSIDriverSpec{}, "podInfoOnMount", func(d *storagev1.CSIDriver) any {
			return deref(d.Spec.PodInfoOnMount, false)
		}).typed("boolean"),
		of("StorageCapacity", storagev1.CSIDriverSpec{}, "storageCapacity", func(d *storagev1.CSIDriver) any {
			return deref(d.Spec.StorageCapacity, false)
		}).typed("boolean"),
		of("TokenRequests", storagev1.CSIDriverSpec{}, "tokenRequests", func(d *storagev1.CSIDriver) any {
			if len(d.Spec.TokenRequests) == 0 {
				return "<unset>"
			}
			return joined(d.Spec.TokenRequests, func(r storagev1.TokenRequest) string { return r.Audience })
		}),
		of("RequiresRepublish", storagev1.CSIDriverSpec{}, "requiresRepublish", func(d *storagev1.CSIDriver) any {
			return deref(d.Spec.RequiresRepublish, false)
		}).typed("boolean"),
		of("Modes", storagev1.CSIDriverSpec{}, "volumeLifecycleModes", func(d *storagev1.CSIDriver) any {
			return orNone(joined(d.Spec.VolumeLifecycleModes, func(m storagev1.VolumeLifecycleMode) string { return string(m) }))
		}),
		ageColumn,
	},
	api.CSINode: {
		nameColumn,
		of("Drivers", "Drivers indicates the number of CSI drivers registered on the node", "", func(n *storagev1.CSINode) any {
			return int64(len(n.Spec.Drivers))
		}).typed("integer"),
		ageColumn,
	},
	api.VolumeAttributesClass: {
		nameColumn,
		of("DriverName", storagev1.VolumeAttributesClass{}, "driverName", func(c *storagev1.VolumeAttributesClass) any { return c.DriverName }),
		ageColumn,
	},
	// Its registry has the table of kinds without columns of their own.
	api.CSIStorageCapacity: {nameColumn, createdColumn},
	api.Event: {
		{
			Name: "Last Seen", Type: "string", Field: corev1.Event{}, FieldName: "lastTimestamp",
			Cell: func(obj api.Object, now time.Time) any { return since(now, lastObserved(obj.(*corev1.Event))) },
		},
		of("Type", corev1.Event{}, "type", func(e *corev1.Event) any { return e.Type }),
		of("Reason", corev1.Event{}, "reason", func(e *corev1.Event) any { return e.Reason }),
		of("Object", corev1.Event{}, "involvedObject", func(e *corev1.Event) any {
			kind := strings.ToLower(e.InvolvedObject.Kind)
			if e.InvolvedObject.Name == "" {
				return kind
			}
			return kind + "/" + e.InvolvedObject.Name
		}),
		wide("Subobject", corev1.ObjectReference{}, "fieldPath", func(e *corev1.Event) any { return e.InvolvedObject.FieldPath }),
		wide("Source", corev1.Event{}, "source", func(e *corev1.Event) any { return eventSource(e) }),
		of("Message", corev1.Event{}, "message", func(e *corev1.Event) any { return strings.TrimSpace(e.Message) }),
		{
			Name: "First Seen", Type: "string", Wide: true, Field: corev1.Event{}, FieldName: "firstTimestamp",
			Cell: func(obj api.Object, now time.Time) any { return since(now, firstObserved(obj.(*corev1.Event))) },
		},
		wide("Count", corev1.Event{}, "count", func(e *corev1.Event) any {
			if e.Series != nil {
				return int64(e.Series.Count)
			}
			return int64(cmp.Or(e.Count, 1))
		}),
		wide("Name", metav1.ObjectMeta{}, "name", func(e *corev1.Event) any { return e.Name }).formatted("name"),
	},
}

func claimOf(pv *corev1.PersistentVolume) string {
	if ref := pv.Spec.ClaimRef; ref != nil {
		return ref.Namespace + "/" + ref.Name
	}
	return ""
}

// storage returns the size in a list of resources; without one it is 0.
func storage(list corev1.ResourceList) string {
	size := list[corev1.ResourceStorage]
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
	for key, value := range n.Labels {
		role, ok := strings.CutPrefix(key, prefix)
		if key == "kubernetes.io/role" {
			role, ok = value, true
		}
		if ok && role != "" {
			roles = append(roles, role)
		}
	}
	slices.Sort(roles)
	return orNone(strings.Join(slices.Compact(roles), ","))
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
