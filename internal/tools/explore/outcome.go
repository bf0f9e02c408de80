package explore

import (
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

// Outcome is what a run came to, as text: one line for each object, then what the storage holds, then what failed. It has phases, pointers,
// conditions, finalizers and who is attached; it has no times, resourceVersions or uids, nor Kubernetes Events, so that runs that only differ
// in these come to the same.
type Outcome string

// ID is short for the outcome: the same on every machine.
func (o Outcome) ID() string {
	d := digest{}.mix([]byte(o))
	return hex.EncodeToString(d[:4])
}

// newOutcome puts an outcome together. storage are lines about the storage systems, failures what went wrong with the run itself.
func newOutcome(objects []api.Object, storage, failures []string) Outcome {
	lines := make([]string, 0, len(objects)+len(storage)+len(failures))
	for _, obj := range objects {
		lines = append(lines, describeObject(obj))
	}
	slices.Sort(lines)
	return Outcome(strings.Join(slices.Concat(lines, storage, failures), "\n"))
}

// holder is a backend that tells what it holds: a fake.Memory.
type holder interface {
	Volumes() []fake.VolumeState
	Deleted() []fake.VolumeState
	Problems() []fake.Problem
}

// storageLines is what backends hold. Those that do not tell are left out.
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

// line is a name and what is said of it.
type line struct {
	name  string
	words []string
}

// add says something unless it is nothing.
func (l *line) add(key, value string) {
	if value != "" {
		l.words = append(l.words, key+"="+value)
	}
}

func (l *line) String() string { return strings.Join(append([]string{l.name}, l.words...), " ") }

// describeObject is a line about an object.
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

// kindsOfOutcome are the kinds that an outcome tells of: not Events, of which there are as many as there were tries.
func kindsOfOutcome() []api.Kind {
	return slices.DeleteFunc(store.Kinds(), func(k api.Kind) bool { return k == api.Event })
}
