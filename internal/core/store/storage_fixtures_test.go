package store

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/volsim/volsim/api"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var kindLetters = map[field.ErrorType]string{
	field.ErrorTypeRequired: "R", field.ErrorTypeInvalid: "I", field.ErrorTypeForbidden: "F",
	field.ErrorTypeNotSupported: "N", field.ErrorTypeDuplicate: "D", field.ErrorTypeTooLong: "L",
}

// faults is the set of what is wrong, as "path kind" with the letters of the rules.
func faults(errs field.ErrorList) string {
	var all []string
	for _, err := range errs {
		all = append(all, err.Field+" "+kindLetters[err.Type])
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), "; ")
}

// row is one object of a table: what mutate makes of the good object, and what is wrong with that; "" is nothing.
type row[T api.Object] struct {
	rule, name string
	mutate     func(T)
	want       string
}

// change is one update of a table: of what before makes of the good object, to what after makes of that.
type change[T api.Object] struct {
	rule, name    string
	before, after func(T)
	want          string
}

func checkCreates[T api.Object](t *testing.T, s strategy[T], good func() T, rows []row[T]) {
	t.Helper()
	for _, row := range rows {
		t.Run(row.rule+" "+row.name, func(t *testing.T) {
			obj := good()
			row.mutate(obj)
			if s.defaults != nil {
				s.defaults(obj)
			}
			if got := faults(s.validateCreate(obj)); got != row.want {
				t.Errorf("create: %q, want %q", got, row.want)
			}
		})
	}
}

func checkUpdates[T api.Object](t *testing.T, s strategy[T], good func() T, changes []change[T], status bool) {
	t.Helper()
	for _, c := range changes {
		t.Run(c.rule+" "+c.name, func(t *testing.T) {
			old := good()
			if c.before != nil {
				c.before(old)
			}
			if s.defaults != nil {
				s.defaults(old)
			}
			obj := old.DeepCopyObject().(T)
			c.after(obj)
			if s.defaults != nil {
				s.defaults(obj)
			}
			validate := s.validateUpdate
			if status {
				s.prepareStatus(obj, old, clock(noon))
				validate = s.validateStatus
			} else if s.prepareUpdate != nil {
				s.prepareUpdate(obj, old)
			}
			kept := old.DeepCopyObject()
			if got := faults(validate(obj, old)); got != c.want {
				t.Errorf("update: %q, want %q", got, c.want)
			}
			if diff := cmp.Diff(kept, any(old)); diff != "" {
				t.Errorf("the stored object was written to:\n%s", diff)
			}
			if !status {
				checkSpecShared(t, s, good, c)
			}
		})
	}
}

// checkSpecShared makes the same change to a copy that shares unchanged fields with a valid object: if strategy.specShared accepts it, it
// must be valid.
func checkSpecShared[T api.Object](t *testing.T, s strategy[T], good func() T, c change[T]) {
	t.Helper()
	old := good()
	if c.before != nil {
		c.before(old)
	}
	if s.specShared == nil || len(s.validateCreate(old)) > 0 {
		return
	}
	s.defaults(old)
	kept := old.DeepCopyObject()
	obj := s.shallow(old)
	c.after(obj)
	if cmp.Diff(kept, any(old)) != "" {
		return // the change writes to shared memory
	}
	s.defaults(obj)
	s.prepareUpdate(obj, old)
	if s.specShared(obj, old) && c.want != "" {
		t.Errorf("spec shared, want %q", c.want)
	}
}

var noon = time.Date(2026, 1, 2, 12, 0, 0, 500, time.UTC)

func storageList(size string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceStorage: apiresource.MustParse(size)}
}

func goodVolume() *corePV {
	return &corePV{
		ObjectMeta: metav1.ObjectMeta{Name: "disk"},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:    storageList("10Gi"),
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeSource: volumeSource{CSI: &corev1.CSIPersistentVolumeSource{
				Driver: "csi.example.com", VolumeHandle: "h-1",
			}},
			StorageClassName: "fast",
		},
	}
}

func goodClaim() *corePVC {
	return &corePVC{
		ObjectMeta: metav1.ObjectMeta{Name: "data", Namespace: "default"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: storageList("10Gi")},
		},
	}
}

func goodClass() *storageClass {
	return &storageClass{ObjectMeta: metav1.ObjectMeta{Name: "fast"}, Provisioner: "csi.example.com",
		Parameters: map[string]string{"tier": "gold"}}
}

func goodAttributesClass() *volumeAttributesClass {
	return &volumeAttributesClass{ObjectMeta: metav1.ObjectMeta{Name: "gold"}, DriverName: "csi.example.com",
		Parameters: map[string]string{"iops": "1000"}}
}

func goodAttachment() *volumeAttachment {
	return &volumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: "csi-1"},
		Spec: storagev1.VolumeAttachmentSpec{
			Attacher: "csi.example.com", NodeName: "node-1",
			Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: new("disk")},
		},
	}
}

// affinity is a node affinity of one expression.
func affinity(key string, op corev1.NodeSelectorOperator, values ...string) *corev1.VolumeNodeAffinity {
	return &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
		{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: op, Values: values}}},
	}}}
}

// fieldAffinity is a node affinity of one field.
func fieldAffinity(key string, op corev1.NodeSelectorOperator, values ...string) *corev1.VolumeNodeAffinity {
	return &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
		{MatchFields: []corev1.NodeSelectorRequirement{{Key: key, Operator: op, Values: values}}},
	}}}
}
