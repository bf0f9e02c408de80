package kubectl

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/objkinds"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

// Surroundings are the other objects that a description mentions.
type Surroundings struct {
	Events []*corev1.Event
	Pods   []*corev1.Pod
}

// description is a description in progress. The width of its columns fits their contents.
type description struct {
	*tabwriter.Writer
	now    time.Time
	around Surroundings
}

func (d *description) field(name, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	fmt.Fprintf(d, "%s:\t%s\n", name, text)
}

// lines writes a field with one line for each value.
func (d *description) lines(name string, values []string) {
	if len(values) == 0 {
		values = []string{"<none>"}
	}
	for i, v := range values {
		label := ""
		if i == 0 {
			label = name + ":"
		}
		fmt.Fprintf(d, "%s\t%s\n", label, v)
	}
}

// Describe writes an object with its Events, as `kubectl describe` does.
func Describe(w io.Writer, now time.Time, obj api.Object, around Surroundings) error {
	d := &description{Writer: tabwriter.NewWriter(w, 0, 8, 2, ' ', 0), now: now, around: around}
	d.field("Name", "%s", obj.GetName())
	if obj.GetNamespace() != "" || anyLayout(obj) {
		d.field("Namespace", "%s", obj.GetNamespace())
	}
	switch obj := obj.(type) {
	case *corev1.PersistentVolumeClaim:
		d.claim(obj)
	case *corev1.PersistentVolume:
		d.volume(obj)
	case *corev1.Pod:
		d.pod(obj)
	case *corev1.Node:
		d.node(obj)
	case *storagev1.StorageClass:
		d.class(obj)
	case *storagev1.VolumeAttachment:
		d.attachment(obj)
	case *plain.Object:
		if api.KindOf(obj) == store.QuotaKind {
			d.quota(plain.Shared[*corev1.ResourceQuota](obj))
			return d.Flush() // without Events
		}
		d.other(obj)
	default:
		d.other(obj)
	}
	d.events(obj)
	return d.Flush()
}

// anyLayout reports whether an object is of a kind that a CustomResourceDefinition adds. kubectl shows the namespace of such an object even if
// there is none.
func anyLayout(obj api.Object) bool {
	if _, ok := obj.(*plain.Object); !ok {
		return false
	}
	known := objkinds.Get(string(api.KindOf(obj)))
	return known == nil || known.Group == objkinds.SnapshotGroup || known.Group == objkinds.GroupSnapshotGroup
}

// meta writes the fields that every object has.
func (d *description) meta(obj api.Object) {
	d.lines("Labels", pairs(obj.GetLabels(), "="))
	annotations := maps.Clone(obj.GetAnnotations())
	delete(annotations, corev1.LastAppliedConfigAnnotation) // which kubectl does not show
	d.lines("Annotations", pairs(annotations, ": "))
}

func pairs(m map[string]string, between string) []string {
	var texts []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		texts = append(texts, key+between+m[key])
	}
	return texts
}

// terminating returns the phase, or how long the object has been terminating.
func (d *description) terminating(obj api.Object, phase string) {
	if at := obj.GetDeletionTimestamp(); at != nil {
		d.field("Status", "Terminating (lasts %s)", duration.HumanDuration(d.now.Sub(at.Time)))
		return
	}
	d.field("Status", "%s", phase)
}

func (d *description) claim(pvc *corev1.PersistentVolumeClaim) {
	d.field("StorageClass", "%s", deref(pvc.Spec.StorageClassName, ""))
	d.terminating(pvc, string(pvc.Status.Phase))
	d.field("Volume", "%s", pvc.Spec.VolumeName)
	d.meta(pvc)
	d.field("Finalizers", "%v", pvc.Finalizers)
	capacity, modes := "", ""
	if pvc.Spec.VolumeName != "" {
		capacity, modes = storage(pvc.Status.Capacity), AccessModes(pvc.Status.AccessModes)
	}
	d.field("Capacity", "%s", capacity)
	d.field("Access Modes", "%s", modes)
	d.field("VolumeMode", "%s", volumeMode(pvc.Spec.VolumeMode))
	if source := pvc.Spec.DataSource; source != nil {
		d.field("DataSource", "%s/%s", source.Kind, source.Name)
	}
	var users []string
	for _, pod := range d.around.Pods {
		if pod.Namespace == pvc.Namespace && uses(pod, pvc.Name) {
			users = append(users, pod.Name)
		}
	}
	d.lines("Used By", users)
	if len(pvc.Status.Conditions) > 0 {
		fmt.Fprintf(d, "Conditions:\n  Type\tStatus\tReason\tMessage\n  ----\t------\t------\t-------\n")
		for _, c := range pvc.Status.Conditions {
			fmt.Fprintf(d, "  %s\t%s\t%s\t%s\n", c.Type, c.Status, c.Reason, c.Message)
		}
	}
}

// uses reports whether a volume of the pod uses that claim of its namespace.
func uses(pod *corev1.Pod, claim string) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
		return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim || v.Ephemeral != nil && pod.Name+"-"+v.Name == claim
	})
}

func (d *description) volume(pv *corev1.PersistentVolume) {
	d.meta(pv)
	d.field("Finalizers", "%v", pv.Finalizers)
	d.field("StorageClass", "%s", pv.Spec.StorageClassName)
	d.terminating(pv, string(pv.Status.Phase))
	d.field("Claim", "%s", claimOf(pv))
	d.field("Reclaim Policy", "%s", pv.Spec.PersistentVolumeReclaimPolicy)
	d.field("Access Modes", "%s", AccessModes(pv.Spec.AccessModes))
	d.field("VolumeMode", "%s", volumeMode(pv.Spec.VolumeMode))
	d.field("Capacity", "%s", storage(pv.Spec.Capacity))
	d.affinity(pv.Spec.NodeAffinity)
	d.field("Message", "%s", pv.Status.Message)
	d.source(pv.Spec.PersistentVolumeSource)
}

func (d *description) affinity(affinity *corev1.VolumeNodeAffinity) {
	if affinity == nil || affinity.Required == nil {
		d.field("Node Affinity", "<none>")
		return
	}
	fmt.Fprintf(d, "Node Affinity:\n  Required Terms:\n")
	for i, term := range affinity.Required.NodeSelectorTerms {
		var texts []string
		for _, e := range term.MatchExpressions {
			text := fmt.Sprintf("%s %s", e.Key, strings.ToLower(string(e.Operator)))
			if len(e.Values) > 0 {
				text += fmt.Sprintf(" [%s]", strings.Join(e.Values, ", "))
			}
			texts = append(texts, text)
		}
		fmt.Fprintf(d, "    Term %d:\t%s\n", i, strings.Join(texts, ", "))
	}
}

// attributes returns one line for each attribute of a volume, indented as kubectl does.
func attributes(m map[string]string) string {
	if len(m) == 0 {
		return "<none>"
	}
	return "    " + strings.Join(pairs(m, "="), "\n        \t    ")
}

func (d *description) source(s corev1.PersistentVolumeSource) {
	fmt.Fprintln(d, "Source:")
	row := func(name, value string) { fmt.Fprintf(d, "    %s:\t%s\n", name, value) }
	switch {
	case s.CSI != nil:
		row("Type", "CSI (a Container Storage Interface (CSI) volume source)")
		row("Driver", s.CSI.Driver)
		row("FSType", s.CSI.FSType)
		row("VolumeHandle", s.CSI.VolumeHandle)
		row("ReadOnly", fmt.Sprint(s.CSI.ReadOnly))
		row("VolumeAttributes", attributes(s.CSI.VolumeAttributes))
	case s.HostPath != nil:
		row("Type", "HostPath (bare host directory volume)")
		row("Path", s.HostPath.Path)
		row("HostPathType", string(deref(s.HostPath.Type, "")))
	case s.NFS != nil:
		row("Type", "NFS (an NFS mount that lasts the lifetime of a pod)")
		row("Server", s.NFS.Server)
		row("Path", s.NFS.Path)
		row("ReadOnly", fmt.Sprint(s.NFS.ReadOnly))
	case s.Local != nil:
		row("Type", "LocalVolume (a persistent volume backed by local storage on a node)")
		row("Path", s.Local.Path)
	default:
		row("Type", "<unknown>")
	}
}

func (d *description) class(c *storagev1.StorageClass) {
	d.field("IsDefaultClass", "%s", map[bool]string{true: "Yes", false: "No"}[c.Annotations[objects.AnnDefaultClass] == "true"])
	d.field("Annotations", "%s", orNone(strings.Join(pairs(c.Annotations, "="), ",")))
	d.field("Provisioner", "%s", c.Provisioner)
	d.field("Parameters", "%s", orNone(strings.Join(pairs(c.Parameters, "="), ",")))
	expands := "<unset>"
	if c.AllowVolumeExpansion != nil {
		expands = map[bool]string{true: "True", false: "False"}[*c.AllowVolumeExpansion]
	}
	d.field("AllowVolumeExpansion", "%s", expands)
	if len(c.MountOptions) == 0 {
		d.field("MountOptions", "<none>")
	} else {
		d.lines("MountOptions", c.MountOptions)
	}
	d.field("ReclaimPolicy", "%s", deref(c.ReclaimPolicy, corev1.PersistentVolumeReclaimDelete))
	d.field("VolumeBindingMode", "%s", deref(c.VolumeBindingMode, storagev1.VolumeBindingImmediate))
}

func (d *description) attachment(va *storagev1.VolumeAttachment) {
	d.meta(va)
	d.field("Finalizers", "%v", va.Finalizers)
	d.field("Attacher", "%s", va.Spec.Attacher)
	d.field("Node Name", "%s", va.Spec.NodeName)
	d.field("Persistent Volume", "%s", deref(va.Spec.Source.PersistentVolumeName, ""))
	d.field("Attached", "%t", va.Status.Attached)
	if e := va.Status.AttachError; e != nil {
		d.field("Attach Error", "%s", e.Message)
	}
	if e := va.Status.DetachError; e != nil {
		d.field("Detach Error", "%s", e.Message)
	}
}

func (d *description) events(obj api.Object) {
	var about []*corev1.Event
	for _, e := range d.around.Events {
		if About(e, api.RefTo(obj)) {
			about = append(about, e)
		}
	}
	if len(about) == 0 {
		d.field("Events", "<none>")
		return
	}
	fmt.Fprintf(d, "Events:\n  Type\tReason\tAge\tFrom\tMessage\n  ----\t------\t----\t----\t-------\n")
	for _, e := range slices.SortedStableFunc(slices.Values(about), byTime) {
		age := since(d.now, lastSeen(e))
		if e.Count > 1 {
			age += fmt.Sprintf(" (x%d over %s)", e.Count, since(d.now, e.FirstTimestamp))
		}
		fmt.Fprintf(d, "  %s\t%s\t%s\t%s\t%s\n", e.Type, e.Reason, age, eventSource(e), oneLine(strings.TrimSpace(e.Message)))
	}
}
