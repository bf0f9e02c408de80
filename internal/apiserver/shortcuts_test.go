package apiserver

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/apiserver/resources"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/internal/core/plain"
)

// mergePatches are merge patches, each for some of newObjects.
var mergePatches = []string{
	`{}`, `{"metadata":{"labels":{"a":"b","x":null}}}`, `{"metadata":{"labels":{"x":null}}}`, `{"metadata":{"annotations":null}}`,
	`{"metadata":{"annotations":{}}}`, `{"metadata":{"finalizers":["example.com/z"]}}`, `{"metadata":{"finalizers":[]}}`,
	`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Y","name":"y","uid":"u","controller":false}]}}`, `{"metadata":{"resourceVersion":"7"}}`,
	`{"data":{"k":null,"n":"w"}}`, `{"data":{"k":"AAEC"}}`, `{"data":null}`, `{"data":{}}`, `{"binaryData":{"b":"AAE="}}`, `{"stringData":{"a":"b"}}`,
	`{"immutable":true}`, `{"type":"b"}`, `{"spec":{"replicas":3}}`, `{"spec":{"replicas":null}}`,
	`{"spec":{"selector":{"matchLabels":{"a":null,"c":"d"}}}}`, `{"spec":{"selector":{"a":null,"c":"d"}}}`, `{"spec":{"selector":null}}`,
	`{"spec":{"template":{"metadata":{"labels":{"z":"y"}},"spec":{"nodeSelector":{"n":"m"}}}}}`, `{"spec":{"template":null}}`,
	`{"spec":{"tolerations":[{"key":"k","operator":"Exists","tolerationSeconds":5}]}}`, `{"spec":{"nodeSelector":{"a":null}}}`,
	`{"spec":{"containers":[{"name":"d","image":"j","resources":{"limits":{"cpu":"0.1","memory":"1024Mi"}},"command":[]}]}}`,
	`{"spec":{"capacity":{"storage":"2048Mi"}}}`, `{"spec":{"capacity":{"storage":null}}}`, `{"spec":{"resources":{"requests":{"storage":"0.5Gi"}}}}`,
	`{"spec":{"csi":{"volumeAttributes":{"a":null,"c":"d"}}}}`, `{"spec":{"csi":null,"hostPath":{"path":"/x"}}}`, `{"spec":{"claimRef":{"name":"c"}}}`,
	`{"status":{"phase":"Failed","conditions":[]}}`, `{"status":{"conditions":[{"type":"Ready","status":"False","lastTransitionTime":"2026-01-01T01:00:00+01:00"}]}}`,
	`{"status":null}`, `{"spec":{"ports":[{"port":81,"targetPort":"http"},{"port":82,"targetPort":8}]}}`, `{"spec":{"taints":null}}`,
	`{"parameters":{"c":"d","a":null}}`, `{"mountOptions":[]}`, `{"allowVolumeExpansion":true}`, `{"spec":{"drivers":[{"name":"d","nodeID":"m","topologyKeys":[]}]}}`,
	`{"rules":[]}`, `{"rules":[{"verbs":["*"],"nonResourceURLs":["/x"]}]}`, `{"spec":{"renewTime":"2026-01-02T00:00:00.5Z"}}`, `{"spec":{"holderIdentity":""}}`,
	`{"endpoints":[{"addresses":["10.0.0.2"],"conditions":{"ready":true},"zone":"z"}]}`, `{"spec":{"jobTemplate":{"spec":{"parallelism":2}},"suspend":true}}`,
	`{"spec":{"rules":[{"host":"i"}],"defaultBackend":{"service":{"name":"t","port":{"name":"p"}}}}}`, `{"spec":{"volumeMode":"Block"}}`,
	`{"spec":{"resources":{"requests":{"storage":"1e99999"}}}}`, `{"spec":{"replicas":1e0}}`, `{"data":{"k":7}}`, `{"spec":{"volumes":[null]}}`,
}

// TestShortcuts: bodies that are decoded once, objects that are not converted back, and patches of fields give what serializer, conversion and
// document give.
func TestShortcuts(t *testing.T) {
	c, err := volsim.New(volsim.Config{})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	s := New(Config{Backend: ForEngine(internals.Engine(c))})
	kinds := map[string]bool{}
	for _, tt := range newObjects {
		req, err := http.NewRequest(http.MethodPost, "http://volsim.invalid"+tt[0], strings.NewReader(tt[1]))
		require.NoError(t, err)
		r, err := s.parse(req)
		require.NoError(t, err, tt[0])
		require.NotNil(t, r.decoded, tt[0])
		gvk := r.resource.GVK()
		slow, _, err := s.codec.json[true].Decode([]byte(tt[1]), &gvk, nil)
		require.NoError(t, err, tt[1])
		require.Equal(t, slow, r.decoded, tt[1])

		stored, err := r.resource.Storable(r.decoded)
		require.NoError(t, err)
		stored.SetUID("changed")
		if o, ok := stored.(*plain.Object); ok {
			checkShared(t, s, r.resource, o)
		}
		for _, text := range mergePatches {
			sent := &request{resource: r.resource, verb: resources.VerbPatch, contentType: string(types.MergePatchType), body: []byte(text)}
			sent.decode(s.codec)
			if s.checkPatch(t, sent, stored) {
				kinds[tt[0]+" "+text] = true
			}
		}
	}
	require.Greater(t, len(kinds), 200, "patches of fields")
}

// checkShared compares an object of a Go type that was kept with one that is converted from the content.
func checkShared(t *testing.T, s *Server, r *resources.Resource, o *plain.Object) {
	t.Helper()
	kept, err := o.Copy().SharedAs(r.Sample)
	require.NoError(t, err)
	require.EqualValues(t, "changed", kept.GetUID())
	converted := resources.NewObject(r.GVK())
	require.NoError(t, plain.Write(o, converted))
	require.JSONEq(t, text(t, converted), text(t, kept))

	other := o.Copy()
	other.SetContent(map[string]any{})
	kept, err = other.SharedAs(r.Sample)
	require.NoError(t, err)
	converted = resources.NewObject(r.GVK())
	require.NoError(t, plain.Write(other, converted))
	require.JSONEq(t, text(t, converted), text(t, kept), "another content")
}

// checkPatch compares a patch of fields with one of the document. It returns false for a patch that needs the document.
func (s *Server) checkPatch(t *testing.T, r *request, old api.Object) bool {
	t.Helper()
	p := patch{server: s, request: r, patchType: types.MergePatchType}
	current, err := r.resource.Presentable(old)
	require.NoError(t, err)
	before := text(t, current)
	merged, ok := p.merged(current)
	require.Equal(t, before, text(t, current), "what is stored is left alone")
	if !ok {
		return false
	}
	want, err := p.encoded(old, current)
	require.NoError(t, err, "%s", r.body)
	require.Empty(t, r.warnings, "%s", r.body)
	a, err := r.resource.Storable(want)
	require.NoError(t, err)
	b, err := r.resource.Storable(merged)
	require.NoError(t, err)
	if _, isPlain := a.(*plain.Object); isPlain {
		require.Equal(t, a.(*plain.Object).Content(), b.(*plain.Object).Content(), "%s", r.body)
	}
	require.Equal(t, text(t, a), text(t, b), "%s", r.body)
	return true
}

func text(t *testing.T, obj any) string {
	t.Helper()
	data, err := json.Marshal(obj)
	require.NoError(t, err)
	return string(data)
}
