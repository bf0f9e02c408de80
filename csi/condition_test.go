package csi_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/csi"
	"github.com/volsim/volsim/csi/internal/testdriver"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/storage"
)

// The kubelet and the health monitor get the condition of a real driver's volumes.
func TestConditions(t *testing.T) {
	disk := testdriver.New()
	conn := func(node string) csi.Conn {
		return csi.Serve(func(s grpc.ServiceRegistrar) { disk.Register(s, node) })
	}
	driver, err := csi.New(context.Background(), csi.Config{Controller: conn(""), Nodes: map[string]csi.Conn{"n1": conn("n1")}})
	require.NoError(t, err)
	c, err := volsim.New(volsim.Config{Backends: []storage.Backend{driver}, HealthMonitors: []string{testdriver.Name},
		FeatureGates: map[string]bool{"CSIVolumeHealth": true}})
	require.NoError(t, err)
	defer c.Close()
	driver.Clock = c.Now
	require.NoError(t, c.Create(fake.Node("n1"), fake.Class("fast", testdriver.Name), fake.Claim("data", "1Gi", fake.InClass("fast")),
		fake.Pod("web", fake.Claims("data"))))
	require.NoError(t, c.Advance(6*time.Minute))
	said := func() (texts []string) {
		for _, e := range c.Events() {
			if e.Reason == "VolumeConditionAbnormal" {
				texts = append(texts, e.InvolvedObject.Kind+" "+e.Message)
			}
		}
		return texts
	}
	require.Empty(t, said())
	disk.Problem = "the disk is worn out"
	require.NoError(t, c.Advance(5*time.Minute))
	require.ElementsMatch(t, []string{"Pod Volume data: the disk is worn out", "PersistentVolumeClaim the disk is worn out"}, said())
	problem, err := driver.GetCondition(c.Volumes.List()[0].Spec.CSI.VolumeHandle)
	require.NoError(t, err)
	require.Equal(t, "the disk is worn out", problem)
}
