package volsim_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/storage"
)

func TestAddNode(t *testing.T) {
	c := newCluster(t, volsim.Config{ManualNodes: true})
	require.NoError(t, c.Create(fake.Node("bare", fake.NotReady())))
	require.NoError(t, c.Settle())
	_, err := c.Node("bare")
	require.ErrorContains(t, err, "there is no such node", "a Node object starts no kubelet")

	added, err := c.AddNode("n1")
	require.NoError(t, err)
	require.NoError(t, c.Settle())
	require.True(t, added.Running())
	found, err := c.Node("n1")
	require.NoError(t, err)
	require.Same(t, added, found)
	node, err := c.Nodes.Get("n1")
	require.NoError(t, err, "the kubelet creates its Node")
	require.Equal(t, corev1.ConditionTrue, node.Status.Conditions[0].Status)
	bare, err := c.Nodes.Get("bare")
	require.NoError(t, err)
	require.NotEqual(t, corev1.ConditionTrue, bare.Status.Conditions[0].Status, "no kubelet reports its status")

	_, err = c.AddNode("n1")
	require.ErrorContains(t, err, `"n1"`)
	_, err = c.AddNode("A b")
	require.EqualError(t, err, `add node: mount: a node cannot have the name "A b": use lower case letters, digits, '-' and '.'`)
	_, err = c.AddNode("")
	require.ErrorContains(t, err, "without a name")
	none := newCluster(t, volsim.Config{Without: []string{volsim.Kubelets}})
	_, err = none.AddNode("n1")
	require.ErrorContains(t, err, "runs no kubelets")
}

// TestAddNodeBesidesOthers: a node that is added by hand is the one of its Node object, also if every Node object gets one.
func TestAddNodeBesidesOthers(t *testing.T) {
	c := newCluster(t, volsim.Config{})
	added, err := c.AddNode("n1")
	require.NoError(t, err)
	require.NoError(t, c.Create(fake.Node("n2")))
	require.NoError(t, c.Settle())
	for _, name := range []string{"n1", "n2"} {
		m, err := c.Node(name)
		require.NoError(t, err)
		require.True(t, m.Running())
		require.Equal(t, name == "n1", m == added)
	}
}

// Calls say for which pod a volume is set up and torn down.
func TestCallsNameThePod(t *testing.T) {
	pods := map[string]map[string]bool{}
	note := engine.InjectorFunc(func(call api.Call) api.Fault {
		if call.Target != api.APIServer {
			if pods[call.Verb] == nil {
				pods[call.Verb] = map[string]bool{}
			}
			pods[call.Verb][call.Pod] = true
		}
		return api.Fault{}
	})
	c := newCluster(t, volsim.Config{Backends: []storage.Backend{fake.CSI("disk.example.com"), fake.NFS()}, Injector: note})
	require.NoError(t, c.Create(fake.Node("n1"), fake.Class("fast", "disk.example.com"), fake.Claim("data", "1Gi", fake.InClass("fast"))))
	require.NoError(t, c.Settle())
	pod := fake.Pod("p", fake.Claims("data"), fake.OnNode("n1"))
	require.NoError(t, c.Create(pod))
	require.NoError(t, c.Advance(time.Minute))
	created, err := c.Pods.Get("default/p")
	require.NoError(t, err)
	require.Equal(t, corev1.PodRunning, created.Status.Phase)
	require.NoError(t, c.Delete(pod))
	require.NoError(t, c.Advance(time.Minute))
	uid := map[string]bool{string(created.UID): true}
	for _, op := range []storage.Op{storage.Publish, storage.Unpublish} {
		require.Equal(t, uid, pods[string(op)], op)
	}
	for _, op := range []storage.Op{storage.Attach, storage.Stage, storage.Unstage, storage.Detach} {
		require.Equal(t, map[string]bool{"": true}, pods[string(op)], op)
	}
}
