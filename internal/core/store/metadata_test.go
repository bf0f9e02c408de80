package store

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/strategy"
	"github.com/volsim/volsim/internal/core/strategy/sample"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"
)

func goodMeta() *metav1.ObjectMeta {
	return &metav1.ObjectMeta{
		Name: "data", Namespace: "default", UID: "u-1", Generation: 3, ResourceVersion: "7",
		CreationTimestamp: metav1.NewTime(sample.Noon.Truncate(time.Second)),
		Labels:            map[string]string{"app.example.com/tier": "db_1", "plain": ""},
		Annotations:       map[string]string{"Example.com/Any.Case": "free text, of any form", "note": ""},
		Finalizers:        []string{"example.com/hold"},
		OwnerReferences:   []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Set", Name: "s", UID: "u-0", Controller: new(true)}},
	}
}

func TestMetadataOnCreate(t *testing.T) {
	for _, test := range []struct {
		rule, name string
		kind       api.Kind
		mutate     func(*metav1.ObjectMeta)
		want       string
	}{
		{"API-032", "a good object", api.Pod, func(*metav1.ObjectMeta) {}, ""},
		{"API-032", "a name of several parts", api.Pod, func(m *metav1.ObjectMeta) { m.Name = "a-1.b.2-c" }, ""},
		{"API-032", "the longest name", api.Pod, func(m *metav1.ObjectMeta) { m.Name = strings.Repeat("a", 253) }, ""},
		{"API-185", "the name of a driver may be as long", api.CSIDriver, func(m *metav1.ObjectMeta) {
			m.Name, m.Namespace = strings.Repeat("a", 253), ""
		}, ""},
		{"API-032", "no name", api.Pod, func(m *metav1.ObjectMeta) { m.Name = "" }, "metadata.name R"},
		{"API-032", "capitals", api.Pod, func(m *metav1.ObjectMeta) { m.Name = "Data" }, "metadata.name I"},
		{"API-032", "a dash at the end of a part", api.Pod, func(m *metav1.ObjectMeta) { m.Name = "a-.b" }, "metadata.name I"},
		{"API-032", "an empty part", api.Pod, func(m *metav1.ObjectMeta) { m.Name = "a..b" }, "metadata.name I"},
		{"API-032", "too long", api.Pod, func(m *metav1.ObjectMeta) { m.Name = strings.Repeat("a", 254) }, "metadata.name I"},
		{"API-032", "an event may be called longer", api.Event, func(m *metav1.ObjectMeta) { m.Name = strings.Repeat("a", 254) }, ""},
		{"API-032", "but not with a slash", api.Event, func(m *metav1.ObjectMeta) { m.Name = "a/b" }, "metadata.name I"},
		{"API-033", "a prefix may end in a dash", api.Pod, func(m *metav1.ObjectMeta) { m.GenerateName = "data-" }, ""},
		{"API-033", "a prefix with a blank", api.Pod, func(m *metav1.ObjectMeta) { m.GenerateName = "my data-" }, "metadata.generateName I"},
		{"API-034", "no namespace", api.Pod, func(m *metav1.ObjectMeta) { m.Namespace = "" }, "metadata.namespace R"},
		{"API-034", "a namespace with a dot", api.Pod, func(m *metav1.ObjectMeta) { m.Namespace = "a.b" }, "metadata.namespace I"},
		{"API-034", "a long namespace", api.Pod, func(m *metav1.ObjectMeta) { m.Namespace = strings.Repeat("a", 64) }, "metadata.namespace I"},
		{"API-034", "a namespace where there is none", api.Node, func(*metav1.ObjectMeta) {}, "metadata.namespace F"},
		{"API-035", "a label without a name", api.Pod, func(m *metav1.ObjectMeta) { m.Labels["example.com/"] = "" }, "metadata.labels I"},
		{"API-035", "a label with two slashes", api.Pod, func(m *metav1.ObjectMeta) { m.Labels["a/b/c"] = "" }, "metadata.labels I"},
		{"API-035", "a label with capitals in the domain", api.Pod, func(m *metav1.ObjectMeta) { m.Labels["A.com/b"] = "" }, "metadata.labels I"},
		{"API-035", "a label's value with a blank", api.Pod, func(m *metav1.ObjectMeta) { m.Labels["a"] = "b c" }, "metadata.labels I"},
		{"API-035", "a label's value that is too long", api.Pod, func(m *metav1.ObjectMeta) { m.Labels["a"] = strings.Repeat("b", 64) },
			"metadata.labels I"},
		{"API-035", "an annotation with a bad key", api.Pod, func(m *metav1.ObjectMeta) { m.Annotations["-a"] = "" }, "metadata.annotations I"},
		{"API-035", "a letter whose lower case is ASCII", api.Pod, func(m *metav1.ObjectMeta) { m.Annotations["\u212a"] = "" }, ""},
		{"API-035", "as many annotations as fit", api.Pod, func(m *metav1.ObjectMeta) {
			m.Annotations = map[string]string{"a": strings.Repeat("b", 262143)}
		}, ""},
		{"API-035", "annotations that are too long", api.Pod, func(m *metav1.ObjectMeta) {
			m.Annotations = map[string]string{"a": strings.Repeat("b", 262144)}
		}, "metadata.annotations L"},
		{"API-036", "an owner of nothing", api.Pod, func(m *metav1.ObjectMeta) { m.OwnerReferences = []metav1.OwnerReference{{}} },
			"metadata.ownerReferences.apiVersion I; metadata.ownerReferences.kind I; metadata.ownerReferences.name I; metadata.ownerReferences.uid I"},
		{"API-036", "an event as owner", api.Pod, func(m *metav1.ObjectMeta) {
			m.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Event", Name: "e", UID: "u"}}
		}, "metadata.ownerReferences I"},
		{"API-036", "two controllers", api.Pod, func(m *metav1.ObjectMeta) {
			m.OwnerReferences = append(m.OwnerReferences, m.OwnerReferences[0])
		}, "metadata.ownerReferences I"},
		{"API-036", "two owners, one controller", api.Pod, func(m *metav1.ObjectMeta) {
			m.OwnerReferences = append(m.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: "p", UID: "u"})
		}, ""},
		{"API-037", "the finalizers of Kubernetes", api.Pod, func(m *metav1.ObjectMeta) { m.Finalizers = []string{"kubernetes", "orphan"} }, ""},
		{"API-037", "a finalizer without a domain", api.Pod, func(m *metav1.ObjectMeta) { m.Finalizers = []string{"orphan", "hold"} },
			"metadata.finalizers[1] I"},
		{"API-037", "a finalizer with a blank", api.Pod, func(m *metav1.ObjectMeta) { m.Finalizers = []string{"a b"} },
			"metadata.finalizers I; metadata.finalizers[0] I"},
		{"API-037", "a finalizer with two slashes", api.Pod, func(m *metav1.ObjectMeta) { m.Finalizers = []string{"a/b/c"} },
			"metadata.finalizers I"},
		{"API-037", "dependents both kept and removed", api.Pod, func(m *metav1.ObjectMeta) {
			m.Finalizers = []string{"orphan", "foregroundDeletion"}
		}, "metadata.finalizers I"},
		{"API-031", "a negative generation", api.Pod, func(m *metav1.ObjectMeta) { m.Generation = -1 }, "metadata.generation I"},
	} {
		t.Run(test.rule+" "+test.name, func(t *testing.T) {
			meta := goodMeta()
			test.mutate(meta)
			if got := sample.Faults(validateMetaCreate(meta, resourceOf(test.kind))); got != test.want {
				t.Errorf("validateMetaCreate: %q, want %q", got, test.want)
			}
		})
	}
}

func TestMetadataOnUpdate(t *testing.T) {
	at := metav1.NewTime(sample.Noon.Add(time.Hour).Truncate(time.Second))
	deleted := func(m *metav1.ObjectMeta) { m.DeletionTimestamp, m.DeletionGracePeriodSeconds = &at, new(int64(30)) }
	for _, test := range []struct {
		rule, name    string
		before, after func(*metav1.ObjectMeta)
		want          string
	}{
		{"API-042", "other labels, annotations, owners", nil, func(m *metav1.ObjectMeta) {
			m.Labels, m.Annotations, m.OwnerReferences = nil, map[string]string{"a": "b"}, nil
		}, ""},
		{"API-042", "a bad label", nil, func(m *metav1.ObjectMeta) { m.Labels["a"] = "-" }, "metadata.labels I"},
		{"API-042", "a bad annotation", nil, func(m *metav1.ObjectMeta) { m.Annotations["a b"] = "" }, "metadata.annotations I"},
		{"API-042", "a bad owner", nil, func(m *metav1.ObjectMeta) { m.OwnerReferences[0].UID = "" }, "metadata.ownerReferences.uid I"},
		{"API-042", "a bad finalizer", nil, func(m *metav1.ObjectMeta) { m.Finalizers = []string{"hold"} }, "metadata.finalizers[0] I"},
		{"API-042", "a prefix with a slash", nil, func(m *metav1.ObjectMeta) { m.GenerateName = "a/b" }, "metadata.generateName I"},
		{"API-038", "a new finalizer", nil, func(m *metav1.ObjectMeta) { m.Finalizers = append(m.Finalizers, "example.com/more") }, ""},
		{"API-038", "a new finalizer on the way out", deleted, func(m *metav1.ObjectMeta) {
			m.Finalizers = append(m.Finalizers, "example.com/more")
		}, "metadata.finalizers F"},
		{"API-038", "another finalizer on the way out", deleted, func(m *metav1.ObjectMeta) {
			m.Finalizers = []string{"example.com/more"}
		}, "metadata.finalizers F"},
		{"API-038", "fewer finalizers on the way out", deleted, func(m *metav1.ObjectMeta) { m.Finalizers = nil }, ""},
		{"API-038", "finalizers in another order", func(m *metav1.ObjectMeta) {
			deleted(m)
			m.Finalizers = []string{"example.com/a", "example.com/b"}
		}, func(m *metav1.ObjectMeta) { m.Finalizers = []string{"example.com/b", "example.com/a"} }, ""},
		{"API-039", "another name", nil, func(m *metav1.ObjectMeta) { m.Name = "other" }, "metadata.name I"},
		{"API-039", "another namespace", nil, func(m *metav1.ObjectMeta) { m.Namespace = "other" }, "metadata.namespace I"},
		{"API-039", "another uid", nil, func(m *metav1.ObjectMeta) { m.UID = "u-2" }, "metadata.uid I"},
		{"API-039", "no uid", nil, func(m *metav1.ObjectMeta) { m.UID = "" }, ""},
		{"API-040", "another time of creation is ignored", nil, func(m *metav1.ObjectMeta) { m.CreationTimestamp = at }, ""},
		{"API-040", "a mark of deletion", nil, func(m *metav1.ObjectMeta) { m.DeletionTimestamp = &at }, "metadata.deletionTimestamp I"},
		{"API-040", "another mark of deletion is ignored", deleted, func(m *metav1.ObjectMeta) {
			m.DeletionTimestamp = new(metav1.NewTime(sample.Noon))
		}, ""},
		{"API-040", "the mark of deletion stays", deleted, func(m *metav1.ObjectMeta) {
			m.DeletionTimestamp, m.DeletionGracePeriodSeconds = nil, nil
		}, ""},
		{"API-040", "another grace", deleted, func(m *metav1.ObjectMeta) { m.DeletionGracePeriodSeconds = new(int64(3)) },
			"metadata.deletionGracePeriodSeconds I"},
		{"API-040", "a grace out of nothing", nil, func(m *metav1.ObjectMeta) { m.DeletionGracePeriodSeconds = new(int64(3)) },
			"metadata.deletionGracePeriodSeconds I"},
		{"API-041", "another generation is ignored", nil, func(m *metav1.ObjectMeta) { m.Generation = 9 }, ""},
	} {
		t.Run(test.rule+" "+test.name, func(t *testing.T) {
			old := goodMeta()
			if test.before != nil {
				test.before(old)
			}
			meta := old.DeepCopy()
			test.after(meta)
			carryOver(meta, old)
			if got := sample.Faults(validateMetaUpdate(meta, old, resource{}, false, nil)); got != test.want {
				t.Errorf("validateMetaUpdate: %q, want %q", got, test.want)
			}
			if meta.Generation != old.Generation || !meta.CreationTimestamp.Equal(&old.CreationTimestamp) {
				t.Errorf("carryOver left generation %d and creation %v, want those of the stored object", meta.Generation, meta.CreationTimestamp)
			}
			if old.DeletionTimestamp != nil && meta.DeletionTimestamp != old.DeletionTimestamp {
				t.Errorf("carryOver left deletion %v, want that of the stored object", meta.DeletionTimestamp)
			}
		})
	}
}

func TestSameMeta(t *testing.T) {
	for _, test := range []struct {
		rule, name string
		mutate     func(*metav1.ObjectMeta)
		want       bool
	}{
		{"API-014", "a copy", func(*metav1.ObjectMeta) {}, true},
		{"API-014", "another version, manager, link", func(m *metav1.ObjectMeta) {
			m.ResourceVersion, m.SelfLink, m.ManagedFields = "9", "/x", []metav1.ManagedFieldsEntry{{Manager: "m"}}
		}, true},
		{"API-014", "a fraction of a second", func(m *metav1.ObjectMeta) {
			m.CreationTimestamp = metav1.NewTime(m.CreationTimestamp.Add(time.Millisecond))
		}, true},
		{"API-014", "another label", func(m *metav1.ObjectMeta) { m.Labels["plain"] = "x" }, false},
		{"API-014", "a label more", func(m *metav1.ObjectMeta) { m.Labels["more"] = "" }, false},
		{"API-014", "another annotation", func(m *metav1.ObjectMeta) { m.Annotations["note"] = "x" }, false},
		{"API-014", "another finalizer", func(m *metav1.ObjectMeta) { m.Finalizers[0] = "example.com/x" }, false},
		{"API-014", "another owner", func(m *metav1.ObjectMeta) { m.OwnerReferences[0].Controller = new(false) }, false},
		{"API-014", "no owner", func(m *metav1.ObjectMeta) { m.OwnerReferences = nil }, false},
		{"API-014", "a mark of deletion", func(m *metav1.ObjectMeta) { m.DeletionTimestamp = new(metav1.NewTime(sample.Noon)) }, false},
		{"API-014", "a grace", func(m *metav1.ObjectMeta) { m.DeletionGracePeriodSeconds = new(int64(0)) }, false},
		{"API-014", "another generation", func(m *metav1.ObjectMeta) { m.Generation++ }, false},
		{"API-014", "a prefix", func(m *metav1.ObjectMeta) { m.GenerateName = "data-" }, false},
	} {
		a, b := goodMeta(), goodMeta()
		test.mutate(b)
		if got := strategy.SameMeta(a, b); got != test.want {
			t.Errorf("%s %s: sameMeta = %v, want %v", test.rule, test.name, got, test.want)
		}
	}
	assert.True(t, strategy.SameMeta(&metav1.ObjectMeta{}, &metav1.ObjectMeta{
		Labels: map[string]string{}, Finalizers: []string{}, OwnerReferences: []metav1.OwnerReference{},
	}), "nil and empty are the same bytes (API-014)")
}

func TestGoodMetadataCostsNothing(t *testing.T) {
	old := goodMeta()
	meta := old.DeepCopy()
	pods := resourceOf(api.Pod)
	allocs := testing.AllocsPerRun(100, func() {
		carryOver(meta, old)
		if len(validateMetaCreate(meta, pods)) > 0 || len(validateMetaUpdate(meta, old, resource{}, false, nil)) > 0 || !strategy.SameMeta(meta, old) {
			t.Fatal("good metadata was refused")
		}
	})
	assert.Zero(t, allocs, "allocations for good metadata")
}

// The checks of our own agree with those whose messages we give.
func TestSyntaxIsThatOfKubernetes(t *testing.T) {
	text := rapid.OneOf(
		rapid.StringMatching(`[aZ09._/-]{0,9}`),
		rapid.StringMatching(`[a-z]{55,70}`),
		rapid.StringMatching(`[a.]{240,260}`),
		rapid.StringMatching(`[a-z.]{245,258}/[a-z]{1,3}`),
		rapid.String(),
	)
	rapid.Check(t, func(t *rapid.T) {
		s := text.Draw(t, "text")
		for _, check := range []struct {
			name string
			ours bool
			real []string
		}{
			{"isSubdomain", strategy.IsSubdomain(s), validation.IsDNS1123Subdomain(s)},
			{"isDNSLabel", strategy.IsDNSLabel(s), validation.IsDNS1123Label(s)},
			{"isQualifiedName", strategy.IsQualifiedName(s), validation.IsQualifiedName(s)},
			{"isLabelValue", strategy.IsLabelValue(s), validation.IsValidLabelValue(s)},
		} {
			if check.ours != (len(check.real) == 0) {
				t.Fatalf("%s(%q) = %v, Kubernetes says %q", check.name, s, check.ours, check.real)
			}
		}
		annotated := map[string]string{s: ""}
		if ours, real := strategy.AnnotationsValid(annotated), apivalidation.ValidateAnnotations(annotated, nil); ours && len(real) > 0 {
			t.Fatalf("annotationsValid(%q), Kubernetes says %v", s, real)
		}
		if ours, real := strategy.ValidateAnnotations(annotated, nil), apivalidation.ValidateAnnotations(annotated, nil); len(ours) != len(real) {
			t.Fatalf("validateAnnotations(%q) = %v, Kubernetes says %v", s, ours, real)
		}
	})
}

func BenchmarkValidateMeta(b *testing.B) {
	old := goodMeta()
	meta := old.DeepCopy()
	b.ReportAllocs()
	for b.Loop() {
		carryOver(meta, old)
		if len(validateMetaUpdate(meta, old, resource{}, false, nil)) > 0 {
			b.Fatal("good metadata was refused")
		}
	}
}
