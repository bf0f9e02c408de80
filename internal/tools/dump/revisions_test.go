package dump_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/tools/dump"
)

// daemons is a DaemonSet with its pod on a node.
const daemons = `{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1","uid":"n1"},"status":{"conditions":[{"type":"Ready","status":"True","lastHeartbeatTime":"2026-03-01T12:00:00Z"}]}}
{"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"name":"agent","namespace":"default","uid":"ds","generation":1},"spec":{"selector":{"matchLabels":{"app":"agent"}},
"template":{"metadata":{"labels":{"app":"agent"}},"spec":{"containers":[{"name":"c","image":"i"}]}}},
"status":{"observedGeneration":1,"currentNumberScheduled":1,"desiredNumberScheduled":1,"updatedNumberScheduled":1,"numberReady":1,"numberAvailable":1,"numberMisscheduled":0}}
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"agent-x","namespace":"default","uid":"p","labels":{"app":"agent","controller-revision-hash":"7d9f"},
"ownerReferences":[{"apiVersion":"apps/v1","kind":"DaemonSet","name":"agent","uid":"ds","controller":true}]},
"spec":{"nodeName":"n1","containers":[{"name":"c","image":"i"}]},"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}],"containerStatuses":[{"name":"c","ready":true,"state":{"running":{}}}]}}`

// TestRedacted: templates whose values were replaced are those that the status calls current. No pod is replaced because of them.
func TestRedacted(t *testing.T) {
	read := func(name string) string {
		data, err := os.ReadFile("../predict/testdata/cases/" + name + ".yaml")
		require.NoError(t, err)
		return string(data)
	}
	for _, tt := range []struct{ rule, text, kind string }{
		{"STS-041", read("scale-down-retain"), "StatefulSet"},
		{"DEP-002", read("csi-delete-deployment"), "Deployment"},
		{"DS-030", daemons, "DaemonSet"},
	} {
		for _, seen := range []bool{true, false} {
			d, err := dump.Read([]byte(tt.text))
			require.NoError(t, err)
			redact(t, d, tt.kind, seen)
			c, err := d.Start(dump.Options{})
			require.NoError(t, err)
			before := uids(c)
			require.NotEmpty(t, before)
			require.NoError(t, c.Advance(10*time.Minute))
			if seen {
				require.Equal(t, before, uids(c), "%s: %s", tt.rule, tt.kind)
			} else {
				require.NotEqual(t, before, uids(c), "%s: the controller of the %s has not seen the change yet", tt.rule, tt.kind)
			}
			c.Close()
		}
	}
}

// redact replaces a value in the templates of a kind. Unless the controller has seen them, they are newer than its status.
func redact(t *testing.T, d *dump.Dump, kind string, seen bool) {
	t.Helper()
	for _, obj := range d.Objects {
		other, ok := obj.(*unstructured.Unstructured)
		if !ok || other.GetKind() != kind {
			continue
		}
		containers, _, err := unstructured.NestedSlice(other.Object, "spec", "template", "spec", "containers")
		require.NoError(t, err)
		containers[0].(map[string]any)["env"] = []any{map[string]any{"name": "PASSWORD", "value": "REDACTED"}}
		require.NoError(t, unstructured.SetNestedSlice(other.Object, containers, "spec", "template", "spec", "containers"))
		if !seen {
			other.SetGeneration(other.GetGeneration() + 1)
		}
	}
}

// uids returns the pods of the namespace default, by name.
func uids(c *dump.Cluster) map[string]apitypes.UID {
	found := map[string]apitypes.UID{}
	for _, pod := range c.Pods.List() {
		found[api.KeyOf(pod)] = pod.UID
	}
	return found
}
