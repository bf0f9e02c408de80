package apiserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/internals"
)

// TestRememberedFields: random writes of several managers get the managedFields that the field manager computes, also those that are remembered.
func TestRememberedFields(t *testing.T) {
	c, err := volsim.New(volsim.Config{})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	s := New(Config{Backend: ForEngine(internals.Engine(c))})
	slow := s.newTracker()
	slow.NoShortcuts = true
	writes, remembered := 0, 0
	s.store.TrackFields(func(obj, old api.Object, sub api.Subresource) []metav1.ManagedFieldsEntry {
		known := s.fields.Shortcuts
		got := s.fields.Track(obj, old, sub)
		if s.fields.Shortcuts > known {
			remembered++
		}
		writes++
		defer slow.Begin(s.fields.Writing())()
		want := slow.Track(obj, old, sub)
		require.Equal(t, want, got)
		return got
	})
	random := rand.New(rand.NewPCG(1, 2))
	accepted := 0
	ask := func(method, path, client string, value any) map[string]any {
		data, err := json.Marshal(value)
		require.NoError(t, err)
		req, err := http.NewRequest(method, "http://volsim.invalid"+path, bytes.NewReader(data))
		require.NoError(t, err)
		req.Header.Set("User-Agent", client)
		if method == http.MethodPatch {
			req.Header.Set("Content-Type", "application/merge-patch+json")
		}
		resp, err := s.RoundTrip(req)
		require.NoError(t, err)
		answer, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		if resp.StatusCode >= http.StatusBadRequest {
			return nil
		}
		accepted++
		var doc map[string]any
		require.NoError(t, json.Unmarshal(answer, &doc))
		return doc
	}
	for n := range 3 {
		for _, tt := range newObjects {
			var doc map[string]any
			require.NoError(t, json.Unmarshal([]byte(tt[1]), &doc))
			doc["metadata"].(map[string]any)["name"] = fmt.Sprintf("o%d", n)
			doc = ask(http.MethodPost, tt[0], "creator", doc)
			for range 25 {
				if doc == nil {
					break // the kind needs more than the row says
				}
				path := fmt.Sprintf("%s/%s", tt[0], doc["metadata"].(map[string]any)["name"])
				if random.IntN(4) == 0 {
					path += "/status"
				}
				change(random, doc)
				client := fmt.Sprintf("m%d", random.IntN(3))
				if random.IntN(2) == 0 {
					ask(http.MethodPut, path, client, doc)
				} else {
					// Elsewhere an unchanged version is a conflict.
					delete(doc["metadata"].(map[string]any), "resourceVersion")
					ask(http.MethodPatch, path, client, doc)
				}
				doc = ask(http.MethodGet, fmt.Sprintf("%s/%s", tt[0], doc["metadata"].(map[string]any)["name"]), client, nil)
			}
		}
	}
	t.Logf("%d requests accepted, %d writes tracked, %d remembered", accepted, writes, remembered)
	require.Greater(t, remembered, 50)
	require.Greater(t, writes-remembered, 50)
}

// change makes one random change of a document: a value, or a field less or more.
func change(random *rand.Rand, doc map[string]any) {
	meta := doc["metadata"].(map[string]any)
	switch random.IntN(5) {
	case 0:
		labels, _ := meta["labels"].(map[string]any)
		if labels = maps.Clone(labels); labels == nil {
			labels = map[string]any{}
		}
		labels[fmt.Sprintf("l%d", random.IntN(3))] = fmt.Sprint(random.IntN(3))
		meta["labels"] = labels
	case 1:
		meta["annotations"] = map[string]any{"n": fmt.Sprint(random.IntN(100))}
	case 2:
		delete(meta, []string{"labels", "annotations", "finalizers", "managedFields"}[random.IntN(4)])
	default:
		var at map[string]any = doc
		for {
			names := slices.Sorted(maps.Keys(at))
			names = slices.DeleteFunc(names, func(name string) bool { return name == "metadata" || name == "kind" || name == "apiVersion" })
			if len(names) == 0 {
				return
			}
			name := names[random.IntN(len(names))]
			switch value := at[name].(type) {
			case map[string]any:
				if len(value) > 0 && random.IntN(8) > 0 {
					at = value
					continue
				}
				at[name] = nil
			case []any:
				if len(value) > 0 && random.IntN(2) == 0 {
					if item, ok := value[random.IntN(len(value))].(map[string]any); ok {
						at = item
						continue
					}
				}
				at[name] = append(slices.Clone(value), value...)
			case float64:
				at[name] = float64(random.IntN(3))
			case string:
				at[name] = []string{"", value + "x", value}[random.IntN(3)]
			default:
				delete(at, name)
			}
			return
		}
	}
}
