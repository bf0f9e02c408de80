package apiserver_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/fake"
)

// TestNodeLeases: clients see the Leases of kubelets, with the time of the last renewal.
func TestNodeLeases(t *testing.T) {
	f := newFixture(t)
	const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
	require.NoError(t, f.cluster.Create(fake.Node("n1"), fake.Node("n2")))
	require.NoError(t, f.cluster.Advance(25*time.Second))
	start := f.cluster.Now().Add(-25 * time.Second)
	renewed := func(after time.Duration) string {
		return `"spec":{"holderIdentity":"n1","leaseDurationSeconds":40,"renewTime":"` + start.Add(after).Format("2006-01-02T15:04:05.000000Z") + `"}`
	}
	require.Contains(t, f.must("GET "+leases+"/n1", ""), renewed(20*time.Second), "NODE-025")
	require.Contains(t, f.must("GET "+leases+"/n1", ""), `"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"n1"`, "NODE-025")
	node, err := f.cluster.Node("n1")
	require.NoError(t, err)
	node.PowerOff()
	require.NoError(t, f.cluster.Advance(time.Minute))
	list := f.must("GET "+leases, "")
	require.Contains(t, list, renewed(20*time.Second), "NODE-022")
	require.Contains(t, list, `"holderIdentity":"n2"`, "NODE-025")
	require.Contains(t, f.must("GET "+leases, "", "Accept: application/json;as=Table;v=v1;g=meta.k8s.io"), `"cells":["n1","n1","`)

	f.must("POST "+leases, `{"metadata":{"name":"n1"},"spec":{"holderIdentity":"me"}}`)
	require.Contains(t, f.must("GET "+leases+"/n1", ""), `"holderIdentity":"me"`, "NODE-025: a stored Lease takes its place")
	resp, got := f.request("GET "+leases+"/n3", "")
	require.Equal(t, http.StatusNotFound, resp.StatusCode, got)
	require.NoError(t, f.cluster.Delete(fake.Node("n2")))
	require.NotContains(t, f.must("GET "+leases, ""), `"holderIdentity":"n2"`)
}
