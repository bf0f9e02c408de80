package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/store"
)

// fixture is a store with a settable clock and a watch on every kind.
type fixture struct {
	*store.Store
	t   *testing.T
	now time.Time
	// seen lists the changes since the last call of changes, as "ADDED PersistentVolume/disk 7".
	seen []string
}

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func newFixture(t *testing.T) *fixture {
	t.Helper()
	w := &fixture{t: t, now: noon}
	w.Store = store.New(store.Config{Now: func() time.Time { return w.now }})
	follow(w, w.Volumes)
	follow(w, w.Claims)
	follow(w, w.Classes)
	follow(w, w.AttributesClasses)
	follow(w, w.Pods)
	follow(w, w.Nodes)
	follow(w, w.Attachments)
	follow(w, w.CSIDrivers)
	follow(w, w.CSINodes)
	follow(w, w.Capacities)
	follow(w, w.Events)
	return w
}

func follow[T api.Object](w *fixture, table store.Table[T]) {
	_, err := table.Watch(store.WatchOptions[T]{}, func(c api.Change[T]) {
		w.seen = append(w.seen, fmt.Sprintf("%s %s/%s %d", c.Type, table.Kind(), c.Key, c.Version))
	})
	require.NoError(w.t, err)
}

// changes returns the changes since the last call.
func (w *fixture) changes() []string {
	seen := w.seen
	w.seen = nil
	return seen
}

// create creates an object that must be accepted.
func create[T api.Object](w *fixture, obj T) T {
	w.t.Helper()
	stored, err := w.Create(obj)
	require.NoError(w.t, err)
	return stored.(T)
}

// update updates an object, which must be accepted.
func update[T api.Object](w *fixture, obj T) T {
	w.t.Helper()
	stored, err := w.Update(obj)
	require.NoError(w.t, err)
	return stored.(T)
}

// load loads an object, which must be accepted.
func load[T api.Object](w *fixture, obj T) T {
	w.t.Helper()
	stored, err := w.Load(obj)
	require.NoError(w.t, err)
	return stored.(T)
}

// remove deletes an object, which must be there.
func remove(w *fixture, obj api.Object) api.Object {
	w.t.Helper()
	last, err := w.Delete(api.KindOf(obj), api.KeyOf(obj), api.DeleteOptions{})
	require.NoError(w.t, err)
	return last
}

// with is a deep copy of obj, changed.
func with[T api.Object](obj T, change func(T)) T {
	c := obj.DeepCopyObject().(T)
	change(c)
	return c
}

// refused checks that a call failed as an API server would have it, and that it left no trace.
func (w *fixture) refused(rule string, err error, code int32, reason metav1.StatusReason, version uint64) metav1.Status {
	w.t.Helper()
	require.Error(w.t, err, rule)
	api, ok := err.(apierrors.APIStatus)
	require.True(w.t, ok, "%s: %T %v is no API error", rule, err, err)
	require.Equal(w.t, code, api.Status().Code, "%s: %v", rule, err)
	require.Equal(w.t, reason, api.Status().Reason, "%s: %v", rule, err)
	require.Empty(w.t, w.changes(), "%s: a refused call was seen", rule)
	require.Equal(w.t, version, w.Version(), "%s: a refused call took a version", rule)
	return api.Status()
}

func size(text string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceStorage: apiresource.MustParse(text)}
}

func disk(name string) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:    size("10Gi"),
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				CSI: &corev1.CSIPersistentVolumeSource{Driver: "csi.example.com", VolumeHandle: "h"},
			},
		},
	}
}

func claim(name string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:        corev1.VolumeResourceRequirements{Requests: size("5Gi")},
			StorageClassName: new("fast"),
		},
	}
}

func class(name string) *storagev1.StorageClass {
	return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: "csi.example.com"}
}

func attributes(name string) *storagev1.VolumeAttributesClass {
	return &storagev1.VolumeAttributesClass{ObjectMeta: metav1.ObjectMeta{Name: name}, DriverName: "csi.example.com",
		Parameters: map[string]string{"iops": "100"}}
}

func attachment(name string) *storagev1.VolumeAttachment {
	return &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: storagev1.VolumeAttachmentSpec{
		Attacher: "csi.example.com", NodeName: "n1", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: new("disk")},
	}}
}

func driver(name string) *storagev1.CSIDriver {
	return &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func csiNode(name string) *storagev1.CSINode {
	return &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: storagev1.CSINodeSpec{
		Drivers: []storagev1.CSINodeDriver{{Name: "csi.example.com", NodeID: "i-1"}},
	}}
}

func capacity(name string) *storagev1.CSIStorageCapacity {
	return &storagev1.CSIStorageCapacity{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}, StorageClassName: "fast"}
}

func node(name string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelTopologyZone: "z1"}}}
}

func pod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}, Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "main", Image: "example.com/app:1"}},
	}}
}

// running is a pod that has a node.
func running(name string) *corev1.Pod {
	return with(pod(name), func(p *corev1.Pod) { p.Spec.NodeName = "n1" })
}

func event(name string) *corev1.Event {
	return &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}, Reason: "Emitted",
		InvolvedObject: corev1.ObjectReference{Namespace: "default"}}
}

// every is one good object of each kind.
func every() []api.Object {
	return []api.Object{class("fast"), attributes("gold"), driver("csi.example.com"), node("n1"), csiNode("n1"), capacity("c"),
		disk("disk"), claim("data"), pod("web"), attachment("att"), event("told")}
}

// hold is a finalizer that no controller removes.
const hold = "example.com/hold"

func held[T api.Object](obj T) T {
	return with(obj, func(obj T) { obj.SetFinalizers([]string{hold}) })
}
