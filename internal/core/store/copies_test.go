package store

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
)

// A copy is equal, and shares nothing with its original. Equal copies share their resources.
func TestCopy(t *testing.T) {
	meta := func() metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "default", Name: "a", Labels: map[string]string{"a": "b"}, Finalizers: []string{"a", "b"}}
	}
	list := func(size string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceStorage: apiresource.MustParse(size)}
	}
	volume := func(size string, mode corev1.PersistentVolumeMode, access ...corev1.PersistentVolumeAccessMode) *corev1.PersistentVolume {
		return &corev1.PersistentVolume{ObjectMeta: meta(), Spec: corev1.PersistentVolumeSpec{Capacity: list(size), VolumeMode: &mode, AccessModes: access,
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/a"}}}}
	}
	claim := func(size, class string, mode corev1.PersistentVolumeMode, access ...corev1.PersistentVolumeAccessMode) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{ObjectMeta: meta(), Spec: corev1.PersistentVolumeClaimSpec{
			Resources: corev1.VolumeResourceRequirements{Requests: list(size), Limits: list("2Gi")}, StorageClassName: &class, VolumeMode: &mode, AccessModes: access,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}}}
	}
	s := New(Config{})
	for _, obj := range []api.Object{
		volume("1Gi", corev1.PersistentVolumeFilesystem, corev1.ReadWriteOnce),
		volume("1Gi", corev1.PersistentVolumeBlock, corev1.ReadWriteMany),
		volume("2Gi", corev1.PersistentVolumeBlock, corev1.ReadWriteOnce, corev1.ReadOnlyMany),
		volume("0.1", "", []corev1.PersistentVolumeAccessMode{}...),
		volume("1e30", corev1.PersistentVolumeFilesystem), // its size has a pointer
		&corev1.PersistentVolume{Spec: corev1.PersistentVolumeSpec{Capacity: corev1.ResourceList{}, AccessModes: []corev1.PersistentVolumeAccessMode{}}},
		claim("1Gi", "a", corev1.PersistentVolumeFilesystem, corev1.ReadWriteOnce),
		claim("1Gi", "a", corev1.PersistentVolumeBlock, corev1.ReadWriteOnce),
		claim("2Gi", "", "", corev1.ReadWriteMany),
		claim("1e30", "b", ""),
		&corev1.PersistentVolumeClaim{},
		&corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{Resources: corev1.VolumeResourceRequirements{
			Requests: corev1.ResourceList{"a": apiresource.MustParse("1"), "b": apiresource.MustParse("2")}}}},
		&corev1.Pod{ObjectMeta: meta()},
	} {
		want := obj.DeepCopyObject()
		got := s.Copy(obj)
		if diff := cmp.Diff(want, got.DeepCopyObject()); diff != "" {
			t.Errorf("Copy(%v) (-want +got):\n%s", obj, diff)
		}
		scribble(obj)
		if diff := cmp.Diff(want, got.DeepCopyObject()); diff != "" {
			t.Errorf("Copy(%v) after the original was written to (-want +got):\n%s", want, diff)
		}
	}
	allocs := testing.AllocsPerRun(100, func() { s.Copy(claim("1Gi", "a", corev1.PersistentVolumeFilesystem, corev1.ReadWriteOnce)) })
	alone := testing.AllocsPerRun(100, func() { claim("1Gi", "a", corev1.PersistentVolumeFilesystem, corev1.ReadWriteOnce) })
	// The claim, its labels (2), its finalizers, its limits, and its selector (3).
	if got := allocs - alone; got > 9 {
		t.Errorf("a copy takes %v allocations, want at most 9", got)
	}
}

// scribble writes to what an object refers to.
func scribble(obj api.Object) {
	for key := range obj.GetLabels() {
		obj.GetLabels()[key] = "changed"
	}
	for i := range obj.GetFinalizers() {
		obj.GetFinalizers()[i] = "changed"
	}
	lists := func(modes []corev1.PersistentVolumeAccessMode, mode *corev1.PersistentVolumeMode, all ...corev1.ResourceList) {
		for i := range modes {
			modes[i] = "changed"
		}
		if mode != nil {
			*mode = "changed"
		}
		for _, list := range all {
			for name, size := range list {
				if size.AsDec(); size.IsZero() {
					continue
				}
				size.AsDec().SetUnscaled(12345)
				list[name] = size
			}
		}
	}
	switch obj := obj.(type) {
	case *corev1.PersistentVolume:
		lists(obj.Spec.AccessModes, obj.Spec.VolumeMode, obj.Spec.Capacity)
		if source := obj.Spec.HostPath; source != nil {
			source.Path = "changed"
		}
	case *corev1.PersistentVolumeClaim:
		lists(obj.Spec.AccessModes, obj.Spec.VolumeMode, obj.Spec.Resources.Requests, obj.Spec.Resources.Limits)
		if obj.Spec.StorageClassName != nil {
			*obj.Spec.StorageClassName = "changed"
		}
		if obj.Spec.Selector != nil {
			obj.Spec.Selector.MatchLabels["a"] = "changed"
		}
	}
}
