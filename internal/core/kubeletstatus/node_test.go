package kubeletstatus_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/internal/core/kubeletstatus"
)

const managed = "volumes.kubernetes.io/controller-managed-attach-detach"

func TestRegister(t *testing.T) {
	linux := map[string]string{
		"kubernetes.io/hostname": "n1", "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
		"beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": "amd64",
	}
	with := func(key, value string) map[string]string {
		labels := map[string]string{key: value}
		for k, v := range linux {
			if _, ok := labels[k]; !ok {
				labels[k] = v
			}
		}
		return labels
	}
	for _, tt := range []struct {
		rule, name  string
		node        metav1.ObjectMeta
		registered  bool
		labels      map[string]string
		annotations map[string]string
	}{
		{"MNT-363", "a node that only has a name", metav1.ObjectMeta{}, false, linux, map[string]string{managed: "true"}},
		{"MNT-363", "labels and annotations of the user stay", metav1.ObjectMeta{
			Labels: map[string]string{"topology.kubernetes.io/zone": "a"}, Annotations: map[string]string{"owner": "x"},
		}, false, with("topology.kubernetes.io/zone", "a"), map[string]string{"owner": "x", managed: "true"}},
		{"MNT-363", "the labels say what the machine is", metav1.ObjectMeta{Labels: map[string]string{"kubernetes.io/os": "windows"}}, false,
			with("kubernetes.io/os", "windows"), map[string]string{managed: "true"}},
		{"MNT-363", "nothing is missing", metav1.ObjectMeta{Labels: linux, Annotations: map[string]string{managed: "true"}}, true, linux,
			map[string]string{managed: "true"}},
	} {
		t.Run(tt.rule+" "+tt.name, func(t *testing.T) {
			tt.node.Name = "n1"
			node := &corev1.Node{ObjectMeta: tt.node}
			require.Equal(t, tt.registered, kubeletstatus.Registered(node))
			kubeletstatus.Register(node)
			require.Equal(t, tt.labels, node.Labels)
			require.Equal(t, tt.annotations, node.Annotations)
			require.True(t, kubeletstatus.Registered(node))
		})
	}
}

func TestNodeInfo(t *testing.T) {
	for _, tt := range []struct {
		rule, name string
		before     corev1.NodeSystemInfo
		want       corev1.NodeSystemInfo
	}{
		{"MNT-364", "the first report", corev1.NodeSystemInfo{},
			corev1.NodeSystemInfo{BootID: "b2", KubeletVersion: "v1.36.3", OperatingSystem: "linux", Architecture: "amd64"}},
		{"MNT-364", "a node of a dump", corev1.NodeSystemInfo{BootID: "b1", KubeletVersion: "v1.35.0", OperatingSystem: "windows"},
			corev1.NodeSystemInfo{BootID: "b2", KubeletVersion: "v1.35.0", OperatingSystem: "windows"}},
	} {
		t.Run(tt.rule+" "+tt.name, func(t *testing.T) {
			now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			node := &corev1.Node{Status: corev1.NodeStatus{NodeInfo: tt.before}}
			require.NoError(t, kubeletstatus.Report(node, nil, "b2", now)(node))
			require.Equal(t, tt.want, node.Status.NodeInfo)
		})
	}
}
