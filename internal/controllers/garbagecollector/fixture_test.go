package garbagecollector_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/proof/rig"
	"github.com/volsim/volsim/trace"
)

type fixture struct {
	*rig.Rig
	faults []func(api.Call) api.Fault
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	w := &fixture{}
	w.Rig = rig.New(t, engine.Config{Injector: engine.InjectorFunc(func(c api.Call) api.Fault {
		for _, fault := range w.faults {
			if f := fault(c); f != (api.Fault{}) {
				return f
			}
		}
		return api.Fault{}
	})})
	return w
}

func (w *fixture) must(_ *engine.Actor, err error) { w.OK(err) }

func (w *fixture) settle() { w.Advance(10 * time.Second) }

func (w *fixture) hasClaim(key string) bool {
	_, ok := w.Store().Claims.Lookup(key)
	return ok
}

// writes lists the successful writes of the controllers.
func (w *fixture) writes(since uint64) []string {
	var writes []string
	for entry := range w.Trace().Since(since) {
		if entry.Type == trace.Write && entry.Err == nil && entry.Actor != api.User && entry.Old != entry.New {
			writes = append(writes, entry.Verb+" "+entry.Object.String())
		}
	}
	return writes
}

func equal(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %q\nwant %q", what, got, want)
	}
}

func newVolume() *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "pv1", UID: "pv1-uid"},
		Spec:       corev1.PersistentVolumeSpec{Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}
}

func newClaim(name string, uid types.UID) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: uid},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
}

func newPod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name + "-uid")},
		Spec:       corev1.PodSpec{NodeName: "n1", Containers: []corev1.Container{{Name: "c", Image: "i"}}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
}

func csiNode(name string) *storagev1.CSINode {
	return &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: name}}
}
