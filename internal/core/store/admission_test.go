package store

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/strategy"
	"github.com/volsim/volsim/internal/core/strategy/sample"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// marked is a class with an annotation.
func marked(name, annotation, value string) *storagev1.StorageClass {
	class := sample.Class()
	class.Name = name
	class.Annotations = map[string]string{annotation: value}
	return class
}

func TestDefaultStorageClass(t *testing.T) {
	const ga, beta = "storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"
	for _, c := range []struct {
		rule, name string
		classes    []*storagev1.StorageClass // one a second
		mutate     func(*corev1.PersistentVolumeClaim)
		want       *string
	}{
		{"API-251", "the default", []*storagev1.StorageClass{sample.Class(), marked("gold", ga, "true")}, nil, new("gold")},
		{"API-251", "a class named", []*storagev1.StorageClass{marked("gold", ga, "true")}, sample.Classed(new("fast")), new("fast")},
		{"API-251", "no class, said so", []*storagev1.StorageClass{marked("gold", ga, "true")}, sample.Classed(new("")), new("")},
		{"API-251", "a class annotated, if empty", []*storagev1.StorageClass{marked("gold", ga, "true")}, sample.Annotated(""), nil},
		{"API-252", "the beta annotation", []*storagev1.StorageClass{marked("gold", beta, "true")}, nil, new("gold")},
		{"API-252", "another value", []*storagev1.StorageClass{marked("gold", ga, "True"), marked("silver", beta, "yes")}, nil, nil},
		{"API-253", "the newest", []*storagev1.StorageClass{marked("b", ga, "true"), marked("c", beta, "true"), marked("a", ga, "false")}, nil, new("c")},
		{"API-253", "none", []*storagev1.StorageClass{sample.Class()}, nil, nil},
	} {
		now := sample.Noon
		s := New(Config{Now: func() time.Time { return now }})
		for _, class := range c.classes {
			mustCreate(t, s, class)
			now = now.Add(time.Second)
		}
		claim := sample.Claim()
		if c.mutate != nil {
			c.mutate(claim)
		}
		stored := mustCreate(t, s, claim).(*corev1.PersistentVolumeClaim)
		if got := stored.Spec.StorageClassName; !strategy.EqualPointers(got, c.want) {
			t.Errorf("%s %s: class = %v, want %v", c.rule, c.name, deref(got), deref(c.want))
		}
		// API-250: the protection comes with it.
		if !slices.Equal(stored.Finalizers, []string{"kubernetes.io/pvc-protection"}) {
			t.Errorf("API-250 %s: finalizers = %v", c.name, stored.Finalizers)
		}
	}

	// API-253: of one second, the first by name.
	s := New(Config{})
	for _, name := range []string{"b", "a", "c"} {
		mustCreate(t, s, marked(name, ga, "true"))
	}
	if got := mustCreate(t, s, sample.Claim()).(*corev1.PersistentVolumeClaim).Spec.StorageClassName; got == nil || *got != "a" {
		t.Errorf("API-253: class = %v, want a", deref(got))
	}
	// API-251: an update is not a creation.
	claim := sample.Claim()
	claim.Name = "other"
	sample.Classed(new(""))(claim)
	stored := mustCreate(t, s, claim).DeepCopyObject().(*corev1.PersistentVolumeClaim)
	stored.Finalizers = nil
	updated, err := s.Claims.Update(stored)
	if err != nil || *updated.Spec.StorageClassName != "" || len(updated.Finalizers) != 0 {
		t.Errorf("API-254: update = %v, %v; want no class and no finalizer", updated, err)
	}
}

func deref(s *string) string {
	if s == nil {
		return "nil"
	}
	return `"` + *s + `"`
}

func mustCreate(t *testing.T, s *Store, obj api.Object) api.Object {
	t.Helper()
	stored, err := s.Create(obj)
	if err != nil {
		t.Fatal(err)
	}
	return stored
}

func TestInUseProtection(t *testing.T) {
	protected := map[api.Kind]string{
		api.PersistentVolume:      "kubernetes.io/pv-protection",
		api.PersistentVolumeClaim: "kubernetes.io/pvc-protection",
		api.VolumeAttributesClass: "kubernetes.io/vac-protection",
	}
	for _, obj := range []api.Object{sample.Volume(), sample.Claim(), sample.AttributesClass(), sample.Class(), sample.Attachment()} {
		own := protected[api.KindOf(obj)]
		finalizers := [][]string{nil, {"example.com/mine"}}
		if own != "" {
			finalizers = append(finalizers, []string{own, "example.com/mine"})
		}
		for _, sent := range finalizers {
			obj := obj.DeepCopyObject().(api.Object)
			spare := append(make([]string, 0, 8), sent...)
			obj.SetFinalizers(spare)
			want := slices.Clone(sent)
			if own != "" && !slices.Contains(want, own) {
				want = append(want, own)
			}
			stored := mustCreate(t, New(Config{}), obj)
			if got := stored.GetFinalizers(); !slices.Equal(got, want) {
				t.Errorf("API-254: %s with %v: finalizers = %v, want %v", api.KindOf(obj), sent, got, want)
			}
			if own != "" && slices.Contains(spare[:cap(spare)][len(sent):], own) {
				t.Errorf("API-254: %s: the list of the request was written to", api.KindOf(obj))
			}
		}
	}
}

func TestResizeAdmission(t *testing.T) {
	expandable := sample.Class()
	expandable.AllowVolumeExpansion = new(true)
	fixed := sample.Class()
	fixed.Name, fixed.AllowVolumeExpansion = "fixed", new(false)
	unsaid := sample.Class()
	unsaid.Name = "unsaid"
	for _, c := range []struct {
		rule, name    string
		before, after func(*corev1.PersistentVolumeClaim)
		want          string // part of the message; "" is no error
	}{
		{"API-224", "expandable", sample.Both(sample.Classed(new("fast")), sample.Bound), sample.Sized("20Gi"), ""},
		{"API-224", "by annotation", sample.Both(sample.Annotated("fast"), sample.Bound), sample.Sized("20Gi"), ""},
		{"API-224", "not expandable", sample.Both(sample.Classed(new("fixed")), sample.Bound), sample.Sized("20Gi"), "must support resize"},
		{"API-224", "not said to be expandable", sample.Both(sample.Classed(new("unsaid")), sample.Bound), sample.Sized("20Gi"), "must support resize"},
		{"API-224", "class gone", sample.Both(sample.Classed(new("gone")), sample.Bound), sample.Sized("20Gi"), "must support resize"},
		{"API-224", "no class", sample.Both(sample.Classed(new("")), sample.Bound), sample.Sized("20Gi"), "must support resize"},
		{"API-224", "class set with it", sample.Bound, sample.Both(sample.Sized("20Gi"), sample.Classed(new("fast"))), "must support resize"},
		{"API-222", "shrinking is not asked about", sample.Both(sample.Classed(new("fixed")), sample.Bound, sample.Sized("20Gi")), sample.Sized("11Gi"), ""},
		{"API-083", "the same in another notation", sample.Both(sample.Classed(new("fixed")), sample.Bound), sample.Sized("10240Mi"), ""},
	} {
		s := New(Config{})
		for _, class := range []*storagev1.StorageClass{expandable, fixed, unsaid} {
			mustCreate(t, s, class)
		}
		old := sample.Claim()
		c.before(old)
		loaded, err := s.Load(old)
		if err != nil {
			t.Fatal(err)
		}
		obj := loaded.DeepCopyObject().(*corev1.PersistentVolumeClaim)
		c.after(obj)
		_, err = s.Claims.Update(obj)
		switch {
		case c.want == "":
			if err != nil {
				t.Errorf("%s %s: %v, want no error", c.rule, c.name, err)
			}
		case !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), c.want) ||
			!strings.HasPrefix(err.Error(), `persistentvolumeclaims "data" is forbidden: `):
			t.Errorf("%s %s: %v, want Forbidden with %q", c.rule, c.name, err, c.want)
		}
	}

	// API-221: the expansion of an unbound claim is Invalid; admission, which comes later, would forbid it.
	s := New(Config{})
	stored := mustCreate(t, s, sample.Claim()).DeepCopyObject().(*corev1.PersistentVolumeClaim)
	stored.Spec.Resources.Requests = sample.StorageList("20Gi")
	if _, err := s.Claims.Update(stored); !apierrors.IsInvalid(err) {
		t.Errorf("API-221: %v, want Invalid", err)
	}
	if err := admitResize(s, stored, sample.Claim()); !apierrors.IsForbidden(err) {
		t.Errorf("API-224: unbound: %v, want Forbidden", err)
	}
}

// TestBackDoor follows an object that was stored unvalidated: its status can be written, itself cannot.
func TestBackDoor(t *testing.T) {
	s := New(Config{})
	volume := sample.Volume()
	volume.Spec.PersistentVolumeReclaimPolicy = "Keep"
	stored, err := s.Volumes.CreateWith(volume, CreateOptions{SkipValidation: true})
	if err != nil {
		t.Fatal(err)
	}
	obj := stored.DeepCopy()
	obj.Labels = map[string]string{"a": "b"}
	if _, err := s.Volumes.Update(obj); !apierrors.IsInvalid(err) {
		t.Errorf("API-122: update: %v, want Invalid", err)
	}
	obj.Status.Phase = corev1.VolumeAvailable
	if updated, err := s.Volumes.UpdateStatus(obj); err != nil || updated.Status.Phase != corev1.VolumeAvailable ||
		updated.Labels["a"] != "b" {
		t.Errorf("API-240: status update = %v, %v; want phase and labels written", updated, err)
	}
}

// TestSpareWrites holds that what changes nothing is not written (API-014), another notation is (API-083).
func TestSpareWrites(t *testing.T) {
	s := New(Config{})
	stored := mustCreate(t, s, sample.Volume()).(*corev1.PersistentVolume)
	for _, c := range []struct {
		rule, name string
		change     func(*corev1.PersistentVolume)
		written    bool
	}{
		{"API-014", "a copy", func(*corev1.PersistentVolume) {}, false},
		{"API-101", "a missing field with a default", func(v *corev1.PersistentVolume) { v.Spec.VolumeMode = nil }, false},
		{"API-014", "empty for none", func(v *corev1.PersistentVolume) { v.Spec.MountOptions = []string{} }, false},
		{"API-210", "a status", func(v *corev1.PersistentVolume) { v.Status.Phase = "Odd" }, false},
		{"API-081", "the same text", func(v *corev1.PersistentVolume) { v.Spec.Capacity = sample.StorageList("10240Mi") }, false},
		{"API-083", "another text", func(v *corev1.PersistentVolume) { v.Spec.Capacity = sample.StorageList("10737418240") }, true},
	} {
		obj := stored.DeepCopy()
		c.change(obj)
		before := s.Version()
		updated, err := s.Volumes.Update(obj)
		if err != nil || (s.Version() != before) != c.written {
			t.Errorf("%s %s: written = %v, %v; want %v", c.rule, c.name, s.Version() != before, err, c.written)
		}
		stored = updated
	}

	attachment := mustCreate(t, s, sample.Attachment()).DeepCopyObject().(*storagev1.VolumeAttachment)
	attachment.Status = storagev1.VolumeAttachmentStatus{Attached: true}
	attachment.Labels = map[string]string{"a": "b"}
	attached, err := s.Attachments.UpdateStatus(attachment)
	if err != nil || !attached.Status.Attached || len(attached.Labels) != 0 {
		t.Errorf("API-243: status update = %v, %v; want attached and no labels", attached, err)
	}
	if _, err := s.Attachments.Update(attached); err != nil {
		t.Errorf("API-232: update: %v", err)
	}
}
