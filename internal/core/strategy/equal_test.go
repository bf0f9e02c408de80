package strategy

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/strategy/sample"
	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
)

// filled calls visit once for every part of a T that can be given: with its path, and a T in which that part alone is set.
func filled[T any](visit func(path string, obj *T)) {
	var walk func(path string, t reflect.Type, set func(reflect.Value) *T)
	walk = func(path string, t reflect.Type, set func(reflect.Value) *T) {
		switch t {
		case reflect.TypeFor[metav1.ObjectMeta](), reflect.TypeFor[metav1.TypeMeta]():
			return
		case reflect.TypeFor[apiresource.Quantity]():
			visit(path, set(reflect.ValueOf(apiresource.MustParse("7"))))
			return
		case reflect.TypeFor[metav1.Time]():
			visit(path, set(reflect.ValueOf(metav1.NewTime(sample.Noon))))
			return
		}
		switch t.Kind() {
		case reflect.Struct:
			for i := range t.NumField() {
				walk(path+"."+t.Field(i).Name, t.Field(i).Type, func(v reflect.Value) *T {
					outer := reflect.New(t).Elem()
					outer.Field(i).Set(v)
					return set(outer)
				})
			}
		case reflect.Pointer:
			visit(path, set(reflect.New(t.Elem())))
			walk(path, t.Elem(), func(v reflect.Value) *T {
				p := reflect.New(t.Elem())
				p.Elem().Set(v)
				return set(p)
			})
		case reflect.Slice:
			visit(path+"[]", set(reflect.MakeSlice(t, 1, 1)))
			walk(path+"[0]", t.Elem(), func(v reflect.Value) *T { return set(reflect.Append(reflect.Zero(t), v)) })
		case reflect.Map:
			walk(path+"[k]", t.Elem(), func(v reflect.Value) *T {
				m := reflect.MakeMap(t)
				m.SetMapIndex(reflect.ValueOf("k").Convert(t.Key()), v)
				return set(m)
			})
		case reflect.String:
			visit(path, set(reflect.ValueOf("x").Convert(t)))
		case reflect.Bool:
			visit(path, set(reflect.ValueOf(true).Convert(t)))
		case reflect.Int32, reflect.Int64:
			visit(path, set(reflect.ValueOf(int64(7)).Convert(t)))
		default:
			panic(fmt.Sprint(path, ": ", t))
		}
	}
	walk("", reflect.TypeFor[T](), func(v reflect.Value) *T {
		obj := new(T)
		reflect.ValueOf(obj).Elem().Set(v)
		return obj
	})
}

// checkEveryPart holds that no part of an object is forgotten in its comparison (API-014).
func checkEveryPart[T any, P interface {
	*T
	api.Object
}](t *testing.T, s Of[P]) {
	t.Helper()
	n := 0
	filled(func(path string, obj *T) {
		n++
		if s.Equal(P(new(T)), obj) || s.Equal(obj, P(new(T))) {
			t.Errorf("API-014: %T: equal without %s, want it to count", obj, path)
		}
		if !s.Equal(obj, P(obj).DeepCopyObject().(P)) {
			t.Errorf("API-014: %T: a copy with %s is not equal", obj, path)
		}
	})
	if n < 2 {
		t.Errorf("%T: %d parts, want more", *new(T), n)
	}
}

func TestEveryPartCounts(t *testing.T) {
	checkEveryPart(t, PersistentVolume)
	checkEveryPart(t, PersistentVolumeClaim)
	checkEveryPart(t, StorageClass)
	checkEveryPart(t, VolumeAttributesClass)
	checkEveryPart(t, VolumeAttachment)
}

// TestClaimSpecFixed changes every part of a claim's spec: API-217 names those that may change, API-218 and API-219 two more.
func TestClaimSpecFixed(t *testing.T) {
	free := map[string]bool{".VolumeName": true, ".StorageClassName": true}
	bindable := map[string]bool{".VolumeAttributesClassName": true}
	filled(func(path string, spec *corev1.PersistentVolumeClaimSpec) {
		for _, phase := range []corev1.PersistentVolumeClaimPhase{corev1.ClaimPending, corev1.ClaimBound} {
			old, obj := &corePVC{}, &corePVC{Spec: *spec}
			old.Status.Phase, obj.Status.Phase = phase, phase
			want := free[path] || phase == corev1.ClaimBound && bindable[path]
			a, b := immutableSpecs(obj, old, obj.Spec.StorageClassName != nil)
			if got := equalClaimSpecs(&a, &b, equalQuantity); got != want {
				t.Errorf("API-217: %s claim, %s changed: kept = %v, want %v", phase, path, got, want)
			}
		}
	})
}

func TestEqualQuantities(t *testing.T) {
	parse := apiresource.MustParse
	for _, c := range []struct {
		a, b            apiresource.Quantity
		same, semantics bool
	}{
		{parse("1Gi"), parse("1Gi"), true, true},
		{parse("1Gi"), parse("1024Mi"), true, true}, // API-081: one text
		{parse("1Gi"), parse("1073741824"), false, true},
		{parse("1Gi"), parse("1G"), false, false},
		{parse("1e3"), parse("1k"), false, true},
		{parse("512"), apiresource.NewQuantity(512, apiresource.BinarySI).DeepCopy(), true, true},
		{apiresource.Quantity{}, parse("0Gi"), true, true},
	} {
		a, b := corev1.ResourceList{"storage": c.a}, corev1.ResourceList{"storage": c.b}
		if same, semantics := equalLists(a, b, sameQuantity), equalLists(a, b, equalQuantity); same != c.same || semantics != c.semantics {
			t.Errorf("API-083: %s and %s: same %v, semantically equal %v; want %v, %v", c.a.String(), c.b.String(), same, semantics, c.same,
				c.semantics)
		}
		if storedEqual(a, b) != c.same || SemanticEqual(a, b) != c.semantics {
			t.Errorf("API-083: %s and %s: the walk disagrees", c.a.String(), c.b.String())
		}
	}
	second := &corePVC{Status: corev1.PersistentVolumeClaimStatus{Conditions: []corev1.PersistentVolumeClaimCondition{{LastProbeTime: metav1.NewTime(sample.Noon)}}}}
	within := second.DeepCopy()
	within.Status.Conditions[0].LastProbeTime.Time = sample.Noon.Truncate(time.Second).In(time.FixedZone("x", 3600))
	if !sameClaim(second, within) {
		t.Error("API-006: times within a second are stored differently, want the same")
	}
}

// drawn applies some of the changes in the tables, in any order and number, to the good object.
func drawn[T api.Object](t *rapid.T, good func() T, rows []row[T], changes []change[T]) T {
	obj := good()
	for _, i := range rapid.SliceOfN(rapid.IntRange(0, len(rows)+2*len(changes)-1), 0, 6).Draw(t, "changes") {
		func() {
			// A change of a volume source that an earlier change removed does nothing.
			defer func() { _ = recover() }()
			switch {
			case i < len(rows):
				rows[i].mutate(obj)
			case i < len(rows)+len(changes):
				changes[i-len(rows)].after(obj)
			case changes[i-len(rows)-len(changes)].before != nil:
				changes[i-len(rows)-len(changes)].before(obj)
			}
		}()
	}
	return obj
}

// checkLaws holds for any object that what a strategy is given stays as it is, inside, and that defaults settle.
func checkLaws[T api.Object](t *testing.T, s Of[T], good func() T, rows []row[T], changes []change[T]) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) {
		sent := drawn(t, good, rows, changes)
		old := drawn(t, good, rows, changes)
		before, oldBefore := sent.DeepCopyObject(), old.DeepCopyObject()

		obj := s.Shallow(sent)
		if s.Defaults != nil {
			s.Defaults(obj)
			once := obj.DeepCopyObject()
			again := s.Shallow(obj)
			s.Defaults(again)
			if diff := cmp.Diff(once, any(again)); diff != "" {
				t.Errorf("API-090: defaults are not settled:\n%s", diff)
			}
		}
		if !s.Equal(obj, obj.DeepCopyObject().(T)) || !s.Equal(obj, s.Shallow(obj)) {
			t.Error("API-014: an object is not equal to its copy")
		}
		// API-101: an update that sends the stored object back changes nothing, for every kind.
		if same := s.Shallow(obj); s.Equal(same, obj) != s.Equal(obj, same) {
			t.Error("API-014: equality is not symmetric")
		}
		s.ValidateCreate(obj)
		created := s.Shallow(obj)
		if s.PrepareCreate != nil {
			s.PrepareCreate(created, sample.StoredNoon)
		}
		updated := s.Shallow(obj)
		if s.PrepareUpdate != nil {
			s.PrepareUpdate(updated, old)
		}
		if first, second := sample.Faults(s.ValidateUpdate(updated, old)), sample.Faults(s.ValidateUpdate(updated, old)); first != second {
			t.Errorf("API-002: validated twice: %q, then %q", first, second)
		}
		if s.PrepareStatus != nil {
			s.PrepareStatus(s.Shallow(obj), old, sample.StoredNoon)
		}
		if diff := cmp.Diff(before, any(sent)) + cmp.Diff(oldBefore, any(old)); diff != "" {
			t.Errorf("API-101: the request or the stored object was written to:\n%s", diff)
		}
	})
}

func TestStrategyLaws(t *testing.T) {
	checkLaws(t, PersistentVolume, sample.Volume, volumeRows, volumeChanges)
	checkLaws(t, PersistentVolumeClaim, sample.Claim, claimRows, append(claimChanges, claimStatusChanges...))
	checkLaws(t, StorageClass, sample.Class, classRows, classChanges)
	checkLaws(t, VolumeAttributesClass, sample.AttributesClass, attributesClassRows, attributesClassChanges)
	checkLaws(t, VolumeAttachment, sample.Attachment, attachmentRows, append(attachmentChanges, attachmentStatusChanges...))
}

// TestDefaultsAllocateNothing is for the writes of controllers, whose objects come from the store.
func TestDefaultsAllocateNothing(t *testing.T) {
	volume, claim, class, attachment := sample.Volume(), sample.Claim(), sample.Class(), sample.Attachment()
	sample.Bound(claim)
	inline(func(*corev1.PersistentVolumeSpec) {})(attachment)
	volume.Spec.NodeAffinity = affinity("zone", corev1.NodeSelectorOpIn, "a")
	all := func() {
		defaultVolume(volume)
		defaultClaim(claim)
		defaultClass(class)
		defaultAttachment(attachment)
	}
	all()
	if n := testing.AllocsPerRun(100, all); n != 0 {
		t.Errorf("API-101: defaulting defaulted objects allocates %v times, want none", n)
	}
	same := PersistentVolume.Shallow(volume)
	sameBinding := PersistentVolumeClaim.Shallow(claim)
	if n := testing.AllocsPerRun(100, func() {
		PersistentVolume.Equal(same, volume)
		PersistentVolumeClaim.Equal(sameBinding, claim)
	}); n != 0 {
		t.Errorf("API-014: comparing objects that share everything allocates %v times, want none", n)
	}
}

func BenchmarkVolumeUpdate(b *testing.B) {
	old := sample.Volume()
	old.Spec.NodeAffinity = affinity("topology.kubernetes.io/zone", corev1.NodeSelectorOpIn, "a")
	defaultVolume(old)
	b.ReportAllocs()
	for b.Loop() {
		obj := PersistentVolume.Shallow(old)
		obj.Spec.ClaimRef = &corev1.ObjectReference{Name: "data"}
		PersistentVolume.Defaults(obj)
		PersistentVolume.PrepareUpdate(obj, old)
		if errs := PersistentVolume.ValidateUpdate(obj, old); len(errs) > 0 || PersistentVolume.Equal(obj, old) {
			b.Fatal(errs)
		}
	}
}

func BenchmarkClaimUpdate(b *testing.B) {
	old := sample.Claim()
	old.Spec.StorageClassName = new("fast")
	defaultClaim(old)
	b.ReportAllocs()
	for b.Loop() {
		obj := PersistentVolumeClaim.Shallow(old)
		obj.Spec.VolumeName = "disk"
		PersistentVolumeClaim.Defaults(obj)
		PersistentVolumeClaim.PrepareUpdate(obj, old)
		if errs := PersistentVolumeClaim.ValidateUpdate(obj, old); len(errs) > 0 || PersistentVolumeClaim.Equal(obj, old) {
			b.Fatal(errs)
		}
	}
}
