package explore

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/storage"
)

// Outcome is the result of a run as text: one line per object, then the contents of the storage, then the failures. It has phases,
// references, conditions, finalizers and attachments. It has no times, resourceVersions, uids and Kubernetes Events, so runs that differ
// only in these have the same outcome.
type Outcome string

// ID returns a short hash of the outcome, the same on every machine.
func (o Outcome) ID() string {
	text := append(make([]byte, 16), binary.LittleEndian.AppendUint64(nil, uint64(len(o)))...)
	sum := sha256.Sum256(append(text, o...))
	return hex.EncodeToString(sum[:4])
}

// newOutcome returns the outcome of objects, of lines about the storage systems, and of failures of the run itself.
func newOutcome(objects []api.Object, storage, failures []string) Outcome {
	lines := make([]string, 0, len(objects)+len(storage)+len(failures))
	for _, obj := range objects {
		lines = append(lines, describeObject(obj))
	}
	slices.Sort(lines)
	return Outcome(strings.Join(slices.Concat(lines, storage, failures), "\n"))
}

// holder is a backend that reports its contents, as fake.Memory does.
type holder interface {
	Volumes() []fake.VolumeState
	Deleted() []fake.VolumeState
	Problems() []fake.Problem
}

// storageLines describes the contents of the backends that report them.
func storageLines(backends []storage.Backend) []string {
	var lines []string
	for _, b := range backends {
		m, ok := b.(holder)
		if !ok {
			continue
		}
		lines = append(lines, fmt.Sprintf("%s: %d volumes, %d deleted", b.Name(), len(m.Volumes()), len(m.Deleted())))
		for _, v := range m.Volumes() {
			l := line{name: "  " + v.ID}
			for _, a := range v.Attached {
				l.add("attached", a.Node)
			}
			for _, s := range v.Staged {
				l.add("staged", s.Node)
			}
			for _, p := range v.Published {
				l.add("published", p.Node+":"+p.Pod.String())
			}
			if len(v.Writes) > 0 {
				l.add("writer", v.Content.Pod.String())
			}
			lines = append(lines, l.String())
		}
		for _, p := range m.Problems() {
			lines = append(lines, "  problem: "+p.String())
		}
	}
	return lines
}

// line is a name with attributes.
type line struct {
	name  string
	words []string
}

// add adds an attribute unless its value is empty.
func (l *line) add(key, value string) {
	if value != "" {
		l.words = append(l.words, key+"="+value)
	}
}

func (l *line) String() string { return strings.Join(append([]string{l.name}, l.words...), " ") }

// describeObject returns the line about an object.
func describeObject(obj api.Object) string {
	l := line{name: api.RefTo(obj).String()}
	switch obj := obj.(type) {
	case *corev1.PersistentVolume:
		l.add("phase", string(obj.Status.Phase))
		if ref := obj.Spec.ClaimRef; ref != nil {
			name := ref.Namespace + "/" + ref.Name
			if ref.UID == "" {
				name += "(reserved)"
			}
			l.add("claim", name)
		}
		l.add("policy", string(obj.Spec.PersistentVolumeReclaimPolicy))
		l.add("reason", obj.Status.Reason)
	case *corev1.PersistentVolumeClaim:
		l.add("phase", string(obj.Status.Phase))
		l.add("volume", obj.Spec.VolumeName)
		size := obj.Status.Capacity[corev1.ResourceStorage]
		if !size.IsZero() {
			l.add("size", size.String())
		}
		for _, c := range obj.Status.Conditions {
			l.add("condition", string(c.Type)+":"+string(c.Status))
		}
	case *corev1.Pod:
		l.add("phase", string(obj.Status.Phase))
		l.add("node", obj.Spec.NodeName)
		for _, c := range obj.Status.Conditions {
			if c.Status == corev1.ConditionTrue || c.Reason != "" {
				l.add("condition", strings.TrimSuffix(string(c.Type)+":"+string(c.Status)+":"+c.Reason, ":"))
			}
		}
	case *corev1.Node:
		for _, v := range obj.Status.VolumesAttached {
			l.add("attached", string(v.Name))
		}
		for _, v := range obj.Status.VolumesInUse {
			l.add("in-use", string(v))
		}
		for _, t := range obj.Spec.Taints {
			l.add("taint", t.Key+":"+string(t.Effect))
		}
	case *storagev1.VolumeAttachment:
		if obj.Spec.Source.PersistentVolumeName != nil {
			l.add("volume", *obj.Spec.Source.PersistentVolumeName)
		}
		l.add("node", obj.Spec.NodeName)
		l.add("attached", fmt.Sprint(obj.Status.Attached))
		if obj.Status.AttachError != nil {
			l.add("attach-error", firstLine(obj.Status.AttachError.Message))
		}
		if obj.Status.DetachError != nil {
			l.add("detach-error", firstLine(obj.Status.DetachError.Message))
		}
	}
	describeMeta(&l, obj)
	slices.Sort(l.words)
	return l.String()
}

func describeMeta(l *line, obj metav1.Object) {
	if obj.GetDeletionTimestamp() != nil {
		l.add("deleting", "true")
	}
	for _, f := range obj.GetFinalizers() {
		l.add("finalizer", f)
	}
	for _, o := range obj.GetOwnerReferences() {
		l.add("owner", o.Kind+":"+o.Name)
	}
}

func firstLine(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	return first
}

// kindsInOutcome are the kinds whose objects belong to the outcome of a script.
var kindsInOutcome = []api.Kind{
	api.PersistentVolume, api.PersistentVolumeClaim, api.StorageClass, api.VolumeAttributesClass, api.Pod, api.Node, api.VolumeAttachment,
	api.CSIDriver, api.CSINode, api.CSIStorageCapacity,
}

// kindsOfOutcome returns the kinds that belong to an outcome: all but Events, whose number depends on the number of retries.
func kindsOfOutcome(s *store.Store) []api.Kind {
	return slices.DeleteFunc(s.Kinds(), func(k api.Kind) bool { return k == api.Event })
}
