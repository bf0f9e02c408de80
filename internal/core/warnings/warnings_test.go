package warnings_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"sigs.k8s.io/yaml"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/warnings"
)

func TestFor(t *testing.T) {
	tests := []struct {
		rule, name string
		obj, old   string // YAML; the kind of obj is that of old
		want       []string
	}{
		{
			rule: "API-320", name: "recycling and the annotations of volumes",
			obj: `{kind: PersistentVolume, metadata: {annotations: {volume.beta.kubernetes.io/storage-class: a, volume.beta.kubernetes.io/mount-options: b}},
				spec: {persistentVolumeReclaimPolicy: Recycle}}`,
			want: []string{
				`metadata.annotations[volume.beta.kubernetes.io/storage-class]: deprecated since v1.8; use "storageClassName" attribute instead`,
				`metadata.annotations[volume.beta.kubernetes.io/mount-options]: deprecated since v1.31; use "mountOptions" attribute instead`,
				`spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.`,
			},
		},
		{rule: "API-320", name: "no warning about a common volume", obj: `{kind: PersistentVolume, spec: {persistentVolumeReclaimPolicy: Retain}}`},
		{
			rule: "API-321", name: "a plugin that no longer exists", obj: `{kind: PersistentVolume, spec: {rbd: {image: i, monitors: [m]}}}`,
			want: []string{"spec.rbd: deprecated in v1.28, non-functional in v1.31+"},
		},
		{
			rule: "API-321", name: "in a pod", obj: `{kind: Pod, metadata: {name: p}, spec: {volumes: [{name: g, gitRepo: {repository: r}}]}}`,
			want: []string{"spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+"},
		},
		{
			rule: "API-322", name: "a name that is no DNS label", obj: `{kind: Pod, metadata: {name: a.b}}`,
			want: []string{"metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: " +
				`[must not contain dots]`},
		},
		{rule: "API-322", name: "an update of a pod has none", obj: `{kind: Pod, metadata: {name: a.b}}`, old: `{metadata: {name: a.b}}`},
		{
			rule: "API-322", name: "the template of a new workload",
			obj:  `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: s}, spec: {template: {spec: {nodeSelector: {beta.kubernetes.io/os: linux}}}}}`,
			want: []string{`spec.template.spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead`},
		},
		{
			rule: "API-322", name: "an update that leaves the generation has no warnings about the template",
			obj: `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: s, generation: 2}, spec: {template: {spec: {nodeSelector: {beta.kubernetes.io/os: linux}}}}}`,
			old: `{metadata: {name: s, generation: 2}}`,
		},
		{
			rule: "API-323", name: "a part of a byte", obj: `{kind: PersistentVolumeClaim, spec: {resources: {requests: {storage: 100m}}}}`,
			want: []string{`spec.resources.requests[storage]: fractional byte value "100m" is invalid, must be an integer`},
		},
		{
			rule: "API-323", name: "ports that hide each other",
			obj: `{kind: Pod, metadata: {name: p}, spec: {containers: [{name: a, ports: [{containerPort: 80, hostIP: 1.2.3.4, protocol: TCP}]},
				{name: b, ports: [{containerPort: 80, protocol: TCP}]}]}}`,
			want: []string{
				"spec.containers[0].ports[0]: hostIP set without hostPort: {Name: HostPort:0 ContainerPort:80 Protocol:TCP HostIP:1.2.3.4}",
				"spec.containers[1].ports[0]: overlapping port definition with spec.containers[0].ports[0]",
			},
		},
		{
			rule: "API-323", name: "files that hide each other",
			obj:  `{kind: Pod, metadata: {name: p}, spec: {volumes: [{name: c, configMap: {name: m, items: [{key: a, path: x}, {key: b, path: x/y}]}}]}}`,
			want: []string{`volume "c" (ConfigMap "m"): overlapping paths: "x/y" with "x"`},
		},
		{
			rule: "API-324", name: "labels of zones", obj: `{kind: StorageClass, allowedTopologies: [{matchLabelExpressions: [{key: failure-domain.beta.kubernetes.io/zone, values: [a]}]}]}`,
			want: []string{`allowedTopologies[0].matchLabelExpressions[0].key: deprecated since v1.17; use "topology.kubernetes.io/zone" instead`},
		},
		{
			rule: "API-324", name: "a missing selector",
			obj:  `{kind: Pod, metadata: {name: p}, spec: {topologySpreadConstraints: [{topologyKey: zone}]}}`,
			want: []string{"spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod"},
		},
		{
			rule: "API-325", name: "fields of nodes", obj: `{kind: Node, spec: {externalID: x}}`,
			want: []string{"spec.externalID: this field is deprecated, and is unused by Kubernetes"},
		},
		{
			rule: "API-325", name: "tokens in the volume context", obj: `{kind: CSIDriver, spec: {tokenRequests: [{audience: a}]}}`,
			want: []string{"spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens " +
				"in volume attributes"},
		},
		{
			rule: "API-325", name: "no warning if the requests stay", obj: `{kind: CSIDriver, spec: {tokenRequests: [{audience: a}]}}`,
			old: `{spec: {tokenRequests: [{audience: a}]}}`,
		},
		{
			rule: "API-325", name: "a quota with more requests than limits",
			obj:  `{kind: ResourceQuota, metadata: {name: q}, spec: {hard: {requests.storage: 2Gi, limits.storage: 1Gi}}}`,
			want: []string{"ResourceQuota requests.storage (2Gi) should be less than limits.storage (1Gi)"},
		},
		{
			rule: "API-326", name: "an odd address", obj: `{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {type: ClusterIP, sessionAffinity: None, clusterIP: 10.0.0.1, externalIPs: ["1.2.3.04"]}}`,
			want: []string{
				`spec.externalIPs[0]: non-standard IP address "1.2.3.04" is invalid: use "1.2.3.4"`,
				"spec.externalIPs is deprecated and may no longer be implemented in some clusters",
			},
		},
	}
	for _, tt := range tests {
		obj := read(t, tt.obj, kindOf(tt.obj))
		var old api.Object
		if tt.old != "" {
			old = read(t, tt.old, kindOf(tt.obj))
		}
		require.Equal(t, tt.want, warnings.For(obj, old), "%s %s", tt.rule, tt.name)
	}
}

func kindOf(text string) string {
	_, rest, _ := strings.Cut(text, "kind: ")
	kind, _, _ := strings.Cut(rest, ",")
	return kind
}

func read(t *testing.T, text, kind string) api.Object {
	t.Helper()
	var obj api.Object
	switch kind {
	case "PersistentVolume":
		obj = &corev1.PersistentVolume{}
	case "PersistentVolumeClaim":
		obj = &corev1.PersistentVolumeClaim{}
	case "Pod":
		obj = &corev1.Pod{}
	case "Node":
		obj = &corev1.Node{}
	case "StorageClass":
		obj = &storagev1.StorageClass{}
	case "CSIDriver":
		obj = &storagev1.CSIDriver{}
	default:
		obj = &plain.Object{}
	}
	require.NoError(t, yaml.Unmarshal([]byte(strings.ReplaceAll(text, "\t", " ")), obj))
	return obj
}
