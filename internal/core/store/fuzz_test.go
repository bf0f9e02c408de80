package store_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/manifests"
	"github.com/volsim/volsim/internal/core/store"
)

// FuzzMergePatch: any bytes as a patch give an error, or the object of RFC 7386, which then is validated.
func FuzzMergePatch(f *testing.F) {
	for _, seed := range []string{`{}`, `null`, `[]`, `{"metadata":null}`, `{"spec":null}`, `{"metadata":{"labels":{"a":"b","c":null}}}`,
		`{"spec":{"capacity":{"storage":"1e3"}}}`, `{"spec":{"nodeAffinity":{"required":{"nodeSelectorTerms":[{}]}}}}`,
		`{"spec":{"claimRef":{"name":"a"},"mountOptions":["a",null,{"b":null}]}}`, `{"status":{"phase":7}}`,
		`{"metadata":{"resourceVersion":"0"}}`,
		`{"spec":{"containers":[{"name":"main","image":"x"}]}}`, `{"spec":{"tolerations":[{"key":"a","operator":"Exists"}]}}`,
		`{"metadata":{"finalizers":["a/b"],"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"a","uid":"b"}]}}`,
		`{"spec":{"volumeName":"x"}}`,
		`{"metadata":{"annotations":{"a":{"b":{"c":null}}}}}`, `{"spec":{"activeDeadlineSeconds":1e3}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, patch []byte) {
		for _, obj := range []api.Object{
			with(disk("disk"), func(v *corev1.PersistentVolume) { v.Labels = map[string]string{"a": "1", "c": "2"} }), claim("data"), running("web"),
		} {
			s := store.New(store.Config{})
			stored, err := s.Create(obj)
			if err != nil {
				t.Fatal(err)
			}
			kind, key := api.KindOf(obj), api.KeyOf(obj)
			before := encode(t, stored)
			for _, sub := range []api.Subresource{api.Main, api.Status} {
				was, err := s.Get(kind, key)
				if err != nil {
					t.Fatal(err)
				}
				wasText := encode(t, was)
				got, err := s.Patch(kind, key, patch, sub)
				if encode(t, was) != wasText {
					t.Fatalf("the stored object was written to: %s", wasText)
				}
				if err != nil {
					if _, ok := err.(apierrors.APIStatus); !ok {
						t.Fatalf("patch: %T %v", err, err)
					}
					continue
				}
				checkMerged(t, wasText, patch, encode(t, got), sub)
				if _, err := s.UpdateWith(got, sub, store.UpdateOptions{}); err != nil {
					t.Fatalf("what a patch made is refused when it comes again: %v", err)
				}
			}
			if encode(t, stored) != before {
				t.Fatal("the first version was written to")
			}
		}
	})
}

// checkMerged compares the labels, and the spec or the status, with what a plain reading of the RFC makes of them.
func checkMerged(t *testing.T, before string, patch []byte, after string, sub api.Subresource) {
	t.Helper()
	want, got := mergeRFC(decoded(t, before), decoded(t, string(patch))), decoded(t, after)
	// Labels are strings and nothing else, and no rule but the RFC changes them.
	if w, g := part(want, "metadata", "labels"), part(got, "metadata", "labels"); !reflect.DeepEqual(w, g) {
		t.Fatalf("labels: %v, want %v", g, w)
	}
	name, other := "storageClassName", "spec"
	if sub == api.Status {
		name, other = "message", "status"
	}
	if w, g := part(want, other, name), part(got, other, name); !reflect.DeepEqual(w, g) && w != "" {
		t.Fatalf("%s.%s: %v, want %v", other, name, g, w)
	}
}

// mergeRFC is section 2 of RFC 7386, word by word.
func mergeRFC(target, patch any) any {
	change, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	was, _ := target.(map[string]any)
	merged := map[string]any{}
	for name, value := range was {
		merged[name] = value
	}
	for name, value := range change {
		if value == nil {
			delete(merged, name)
		} else {
			merged[name] = mergeRFC(merged[name], value)
		}
	}
	return merged
}

// part is a part of a document; an empty object is none.
func part(doc any, path ...string) any {
	for _, name := range path {
		entries, _ := doc.(map[string]any)
		doc = entries[name]
	}
	if entries, ok := doc.(map[string]any); ok && len(entries) == 0 {
		return nil
	}
	return doc
}

func decoded(t *testing.T, text string) (doc any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

func encode(t *testing.T, obj api.Object) string {
	t.Helper()
	data, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(data))
}

// FuzzQuantityThroughStore: API-080, API-082, API-084: any text as the capacity of a volume is refused, or stored as a positive
// quantity that reads back as itself, and writing it back changes nothing.
func FuzzQuantityThroughStore(f *testing.F) {
	for _, seed := range []string{"1", "0", "-1Gi", "1.5Gi", "100u", "1e3", "1e99", "9223372036854775808", "12E", "1 Gi", "gb", "\"",
		"null", "\\u0031"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		size, err := json.Marshal(text)
		if err != nil {
			return
		}
		objs, err := manifests.Read([]byte(`{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"pv"},"spec":{` +
			`"accessModes":["ReadWriteOnce"],"hostPath":{"path":"/tmp/pv"},"capacity":{"storage":` + string(size) + `}}}`))
		if err != nil {
			return
		}
		s := store.New(store.Config{})
		if _, err := s.Create(objs[0]); err != nil {
			require.Zero(t, s.Volumes.Len(), "what is refused is not stored")
			return
		}
		pv, err := s.Volumes.Get("pv")
		require.NoError(t, err)
		stored := pv.Spec.Capacity[corev1.ResourceStorage]
		require.Positive(t, stored.Sign(), "%q was stored as %s", text, stored.String())
		again, err := s.Volumes.Update(pv.DeepCopy())
		require.NoError(t, err)
		require.Equal(t, pv.ResourceVersion, again.ResourceVersion, "%q is not steady", text)
	})
}
