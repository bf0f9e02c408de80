// Package sample has objects for tests: each is one that an API server accepts, and as an author writes it, without defaults.
package sample

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// kindLetters abbreviate the types of errors, as the catalogue of rules does.
var kindLetters = map[field.ErrorType]string{
	field.ErrorTypeRequired: "R", field.ErrorTypeInvalid: "I", field.ErrorTypeForbidden: "F",
	field.ErrorTypeNotSupported: "N", field.ErrorTypeDuplicate: "D", field.ErrorTypeTooLong: "L",
	field.ErrorTypeNotFound: "X",
}

// Faults is the set of what is wrong, as "path kind" with the letters of the rules.
func Faults(errs field.ErrorList) string {
	var all []string
	for _, err := range errs {
		all = append(all, err.Field+" "+kindLetters[err.Type])
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), "; ")
}

// Noon is a time with a fraction of a second.
var Noon = time.Date(2026, 1, 2, 12, 0, 0, 500, time.UTC)

// StoredNoon is noon as the API server stores it, in whole seconds.
var StoredNoon = metav1.NewTime(Noon.Truncate(time.Second))

// StorageList is a list of resources with an amount of storage.
func StorageList(size string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceStorage: apiresource.MustParse(size)}
}

// Volume is a volume of a CSI driver.
func Volume() *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "disk"},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:    StorageList("10Gi"),
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{
				Driver: "csi.example.com", VolumeHandle: "h-1",
			}},
			StorageClassName: "fast",
		},
	}
}

// Claim is a claim for a volume of that size.
func Claim() *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "data", Namespace: "default"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: StorageList("10Gi")},
		},
	}
}

// Class is the class of that volume.
func Class() *storagev1.StorageClass {
	return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fast"}, Provisioner: "csi.example.com",
		Parameters: map[string]string{"tier": "gold"}}
}

// AttributesClass is a VolumeAttributesClass of the same driver.
func AttributesClass() *storagev1.VolumeAttributesClass {
	return &storagev1.VolumeAttributesClass{ObjectMeta: metav1.ObjectMeta{Name: "gold"}, DriverName: "csi.example.com",
		Parameters: map[string]string{"iops": "1000"}}
}

// Attachment is the attachment of that volume.
func Attachment() *storagev1.VolumeAttachment {
	return &storagev1.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: "csi-1"},
		Spec: storagev1.VolumeAttachmentSpec{
			Attacher: "csi.example.com", NodeName: "node-1",
			Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: new("disk")},
		},
	}
}

// Pod is a pod as an author writes it: one container, a claim, a generic ephemeral volume, a directory and a secret.
func Pod() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "db-0", Namespace: "default"},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{
				Name: "db", Image: "example.com/db:1",
				VolumeMounts: []corev1.VolumeMount{
					{Name: "data", MountPath: "/data"}, {Name: "scratch", MountPath: "/scratch"},
					{Name: "dir", MountPath: "/dir", SubPath: "a/b"}, {Name: "key", MountPath: "/key", ReadOnly: true},
				},
			}},
			Volumes: []corev1.Volume{
				{Name: "data", VolumeSource: ClaimSource("data")},
				{Name: "scratch", VolumeSource: EphemeralSource()},
				{Name: "dir"},
				{Name: "key", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "key"}}},
			},
		},
	}
}

// ClaimSource is a source of a pod's volume that names a claim.
func ClaimSource(name string) corev1.VolumeSource {
	return corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}
}

// EphemeralSource is a generic ephemeral volume.
func EphemeralSource() corev1.VolumeSource {
	return corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: Amounts("storage", "1Gi")},
		},
	}}}
}

// Amounts makes a list of resources out of pairs of a name and an amount.
func Amounts(pairs ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		list[corev1.ResourceName(pairs[i])] = apiresource.MustParse(pairs[i+1])
	}
	return list
}

// SchedulingGates are gates of these names.
func SchedulingGates(names ...string) []corev1.PodSchedulingGate {
	var all []corev1.PodSchedulingGate
	for _, name := range names {
		all = append(all, corev1.PodSchedulingGate{Name: name})
	}
	return all
}

// Node is a ready node.
func Node() *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{corev1.LabelTopologyZone: "z1", "disk": "fast"}},
		Status: corev1.NodeStatus{
			Capacity: Amounts("cpu", "4", "memory", "8Gi", "pods", "110", "example.com/gpu", "2"),
			Conditions: []corev1.NodeCondition{{
				Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.NewTime(Noon),
			}},
		},
	}
}

// Sized changes the request of a claim.
func Sized(size string) func(*corev1.PersistentVolumeClaim) {
	return func(c *corev1.PersistentVolumeClaim) { c.Spec.Resources.Requests = StorageList(size) }
}

// Both applies one change after the other.
func Both[T any](changes ...func(T)) func(T) {
	return func(obj T) {
		for _, change := range changes {
			change(obj)
		}
	}
}

// Classed changes the class of a claim.
func Classed(name *string) func(*corev1.PersistentVolumeClaim) {
	return func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = name }
}

// Annotated names the class of a claim in the old annotation.
func Annotated(class string) func(*corev1.PersistentVolumeClaim) {
	return func(c *corev1.PersistentVolumeClaim) {
		c.Annotations = map[string]string{corev1.BetaStorageClassAnnotation: class}
	}
}

// Bound is a claim with a volume of its size.
func Bound(c *corev1.PersistentVolumeClaim) {
	c.Spec.VolumeName = "disk"
	c.Status.Phase = corev1.ClaimBound
	c.Status.Capacity = c.Spec.Resources.Requests
}
