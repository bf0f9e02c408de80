package expand_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/storage"
)

// A whole cluster, kubelet included: the volume of a running pod grows, controller, sidecar and node each doing their part.
func TestWholeCluster(t *testing.T) {
	w := &fixture{t: t, disk: fake.CSI(driver)}
	w.start(volsim.Config{Backends: []storage.Backend{w.disk}})
	w.must(w.Create(fake.Node("n1"), fake.Class("fast", driver, fake.Expandable())))
	w.settle()
	w.must(w.Create(fake.Claim("data", "1Gi", fake.InClass("fast")), fake.Pod("db", fake.Claims("data"), fake.OnNode("n1"))))
	w.must(w.Until(func() bool {
		pod, err := w.Pods.Get("default/db")
		return err == nil && pod.Status.Phase == corev1.PodRunning
	}, minute))
	w.pv = w.claim().Spec.VolumeName
	w.must(w.ask("2Gi"))
	w.must(w.Until(func() bool { return w.claim().Status.Capacity.Storage().String() == "2Gi" }, 10*minute))
	w.settle()
	w.wantState("EXP-004, EXP-020", "2Gi, allocated 2Gi | 2Gi")
	v, _ := w.disk.Volume(w.pv)
	require.EqualValues(t, 2<<30, v.Usable)
}
