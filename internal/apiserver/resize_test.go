package apiserver_test

import (
	"strings"
	"testing"

	"github.com/volsim/volsim/internal/apiserver"
)

// TestResize: pods are resized in place (API-589, API-590, API-591). testdata/resize.txt in internal/proof/apiserver has more.
func TestResize(t *testing.T) {
	const (
		resize = pods + "/a/resize"
		patch  = "Content-Type: application/strategic-merge-patch+json"
	)
	f := newFixture(t)
	f.must("POST /api/v1/nodes", `{"metadata":{"name":"n1"},"status":{"allocatable":{"cpu":"2","memory":"1Gi"}}}`)
	f.must("PUT /api/v1/nodes/n1/status", `{"metadata":{"name":"n1"},"status":{"allocatable":{"cpu":"2","memory":"1Gi"}}}`)
	f.must("POST "+pods, `{"metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"1"}}}]}}`)
	f.must("PATCH "+resize, `{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"other","resources":{"requests":{"cpu":"1500m"}}}]}}`, patch)
	for _, path := range []string{resize, pods + "/a"} {
		got := f.must("GET "+path, "")
		for part, want := range map[string]bool{`"generation":2`: true, `"cpu":"1500m"`: true, `"image":"i"`: true, `"labels"`: false} {
			if strings.Contains(got, part) != want {
				t.Errorf("%s: %s: not %t", path, part, want)
			}
		}
	}
	for _, test := range []struct {
		body, want string
		code       int
	}{
		{`{"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":null}}}]}}`, "spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed", 422},
		{`{"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":null}}}]}}`, "Pod QOS Class may not change as a result of resizing", 422},
		{`{"spec":{"containers":[{"name":"d","image":"i"}]}}`, "spec.containers: Forbidden: containers may not be added or removed on resize", 422},
		{`{"spec":{"containers":[{"name":"c","resources":{"requests":{"ephemeral-storage":"1"}}}]}}`, "spec: Forbidden: only cpu and memory resources are mutable", 422},
		{`{"spec":{"resources":{"requests":{"cpu":"2"}}}}`, "", 200},
	} {
		resp, got := f.request("PATCH "+resize+"?dryRun=All", test.body, patch)
		if resp.StatusCode != test.code || !strings.Contains(got, test.want) {
			t.Errorf("%s: %d %s", test.body, resp.StatusCode, got)
		}
	}
	f.must("POST "+pods+"/a/binding", `{"metadata":{"name":"a"},"target":{"kind":"Node","name":"n1"}}`)
	resp, got := f.request("PATCH "+resize, `{"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"3"}}}]}}`, patch)
	if resp.StatusCode != 403 || !strings.Contains(got, `"causes":[{"reason":"NodeCapacity"}]`) || !strings.Contains(got, "cpu, requested: 3000, allocatable: 2000") {
		t.Errorf("%d %s", resp.StatusCode, got)
	}
}

// TestEvictedFields: an eviction leaves managedFields as they are.
func TestEvictedFields(t *testing.T) {
	f := newFixtureWith(t, apiserver.Config{})
	f.must("POST "+pods, `{"metadata":{"name":"a","finalizers":["example.com/f"]},"spec":{"containers":[{"name":"c","image":"i"}]}}`)
	f.must("POST "+pods+"/a/binding", `{"metadata":{"name":"a"},"target":{"kind":"Node","name":"n1"}}`)
	f.must("POST "+pods+"/a/eviction", `{"metadata":{"name":"a"}}`)
	got := f.must("GET "+pods+"/a", "")
	if !strings.Contains(got, `"type":"DisruptionTarget"`) || strings.Contains(got, "DisruptionTarget\\\"") {
		t.Error(got)
	}
}
