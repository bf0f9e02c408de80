package sidecars

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/csi/internal/testdriver"
)

const capacities = "/apis/storage.k8s.io/v1/namespaces/kube-system/csistoragecapacities"

// TestCapacity: external-provisioner reports the capacity of a driver, as the simulated one does (XPROV-060 to XPROV-068). An object for a zone
// stays; one of a driver without topology is deleted as soon as it is seen (XPROV-068).
func TestCapacity(t *testing.T) {
	bin := os.Getenv("SIDECARS")
	if bin == "" {
		bin = t.TempDir()
	}
	provisioner := build(t, bin, ".", sidecars[1])
	t.Setenv("NAMESPACE", "kube-system")
	for _, zone := range []string{"a", ""} {
		t.Run("zone "+zone, func(t *testing.T) {
			_, socket := driverIn(t, zone)
			config := serve(t, bin)
			c := newClient(t, config)
			if zone != "" {
				// The driver of the served cluster has no topology, so its kubelet registers none.
				c.must("PATCH", "/api/v1/nodes/n1", `{"metadata":{"labels":{"topology.test.csi.volsim.dev/zone":"a"}}}`)
				c.must("DELETE", storage+"csinodes/n1", "")
				c.must("POST", storage+"csinodes", `{"apiVersion":"storage.k8s.io/v1","kind":"CSINode","metadata":{"name":"n1"},"spec":{"drivers":[
					{"name":"`+testdriver.Name+`","nodeID":"n1","topologyKeys":["topology.test.csi.volsim.dev/zone"]}]}}`)
			}
			c.must("POST", storage+"storageclasses", `{"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"fast"},"provisioner":"`+
				testdriver.Name+`","volumeBindingMode":"WaitForFirstConsumer"}`)
			start(t, provisioner, "--kubeconfig", config, "--csi-address", socket, "-v", "5", "--enable-capacity", "--capacity-ownerref-level", "-1",
				"--feature-gates", "Topology="+fmt.Sprint(zone != ""))
			if zone == "" {
				c.created(capacities, 3) // XPROV-062, XPROV-068: the item is synced three times, and no object is recognised
				c.gone(capacities)
				return
			}
			c.created(capacities, 1)
			items, _ := c.field(capacities, "items").([]any)
			require.NotEmpty(t, items)
			object := items[0].(map[string]any)
			require.Equal(t, map[string]any{"matchLabels": map[string]any{"topology.test.csi.volsim.dev/zone": "a"}}, object["nodeTopology"])
			require.Equal(t, "fast", object["storageClassName"])
			require.Equal(t, "16Ti", object["capacity"])
			meta := object["metadata"].(map[string]any)
			require.Equal(t, map[string]any{"csi.storage.k8s.io/drivername": testdriver.Name, "csi.storage.k8s.io/managed-by": "external-provisioner"}, meta["labels"])
			require.Equal(t, "csisc-", meta["generateName"])
		})
	}
}
