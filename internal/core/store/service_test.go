package store_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/volsim/volsim/internal/core/plain"
)

// TestService: what a Service has when it is stored.
func TestService(t *testing.T) {
	for _, tt := range []struct{ rule, name, spec, want string }{
		{"API-309", "one port", "{ports: [{port: 80}], clusterIP: 10.96.0.7}", `
			clusterIP: 10.96.0.7, clusterIPs: [10.96.0.7], internalTrafficPolicy: Cluster, ipFamilies: [IPv4], ipFamilyPolicy: SingleStack,
			ports: [{port: 80, protocol: TCP, targetPort: 80}], sessionAffinity: None, type: ClusterIP`},
		{"API-310", "headless", "{ports: [{port: 80}], clusterIP: None, selector: {app: web}}", `
			clusterIP: None, clusterIPs: [None], internalTrafficPolicy: Cluster, ipFamilies: [IPv4], ipFamilyPolicy: SingleStack,
			ports: [{port: 80, protocol: TCP, targetPort: 80}], selector: {app: web}, sessionAffinity: None, type: ClusterIP`},
		{"API-310", "headless without a selector", "{clusterIP: None}", `
			clusterIP: None, clusterIPs: [None], internalTrafficPolicy: Cluster, ipFamilies: [IPv4, IPv6], ipFamilyPolicy: RequireDualStack,
			sessionAffinity: None, type: ClusterIP`},
		{"API-310", "another name", "{type: ExternalName, externalName: a.example.com}",
			"externalName: a.example.com, sessionAffinity: None, type: ExternalName"},
		{"API-310", "a node port", "{type: NodePort, clusterIP: 10.96.0.8, ports: [{port: 80}]}", `
			clusterIP: 10.96.0.8, clusterIPs: [10.96.0.8], externalTrafficPolicy: Cluster, internalTrafficPolicy: Cluster, ipFamilies: [IPv4],
			ipFamilyPolicy: SingleStack, ports: [{port: 80, protocol: TCP, targetPort: 80, nodePort: 31708}], sessionAffinity: None, type: NodePort`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newFixture(t)
			stored := made(w, object(t, "{apiVersion: v1, kind: Service, metadata: {name: web}, spec: "+tt.spec+"}"))
			svc, err := plain.As[*corev1.Service](stored)
			require.NoError(t, err)
			var want corev1.ServiceSpec
			require.NoError(t, yaml.Unmarshal([]byte("{"+strings.ReplaceAll(tt.want, "\t", " ")+"}"), &want))
			assert.Equal(t, want, svc.Spec, tt.rule)
		})
	}
}

// TestServiceUpdate: Services get different addresses, and keep them.
func TestServiceUpdate(t *testing.T) {
	w := newFixture(t)
	service := func(name, spec string) *corev1.Service {
		svc, err := plain.As[*corev1.Service](made(w, object(t, "{apiVersion: v1, kind: Service, metadata: {name: "+name+"}, spec: "+spec+"}")))
		require.NoError(t, err)
		return svc
	}
	a := service("a", "{type: NodePort, ports: [{port: 80}]}")
	b := service("b", "{clusterIP: "+a.Spec.ClusterIP+"1, ports: [{port: 80}]}")
	assert.NotEqual(t, a.Spec.ClusterIP, b.Spec.ClusterIP)
	change := a.DeepCopy()
	change.Spec.ClusterIP, change.Spec.ClusterIPs, change.Spec.Ports[0].NodePort, change.Spec.Selector = "", nil, 0, map[string]string{"app": "a"}
	got, err := w.Update(change)
	require.NoError(t, err)
	after, err := plain.As[*corev1.Service](got)
	require.NoError(t, err)
	a.Spec.Selector = change.Spec.Selector
	assert.Equal(t, a.Spec, after.Spec, "API-310")
	after.Spec.ClusterIP, after.Spec.ClusterIPs = "10.96.0.9", []string{"10.96.0.9"}
	_, err = w.Update(after)
	require.ErrorContains(t, err, "spec.clusterIPs[0]: Invalid value: [\"10.96.0.9\"]: may not change once set", "API-311")
	after.Spec = corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "a.example.com"}
	got, err = w.Update(after)
	require.NoError(t, err)
	assert.NotContains(t, got.(*plain.Object).Content()["spec"], "clusterIP", "API-310")
}

// TestFrozen: what cannot change of Secrets and ConfigMaps.
func TestFrozen(t *testing.T) {
	w := newFixture(t)
	made(w, object(t, "{apiVersion: v1, kind: Secret, metadata: {name: s}}"))
	_, err := w.Update(object(t, "{apiVersion: v1, kind: Secret, metadata: {name: s}, type: example.com/other}"))
	require.ErrorContains(t, err, `type: Invalid value: "example.com/other": field is immutable`, "API-312")
	made(w, object(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: b}, immutable: true}"))
	_, err = w.Update(object(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: c}, immutable: true}"))
	require.ErrorContains(t, err, "data: Forbidden: field is immutable when `immutable` is set", "API-312")
}

// TestTemplate: a bad pod template is refused where it is written.
func TestTemplate(t *testing.T) {
	w := newFixture(t)
	const spec = "metadata: {name: w}, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: []}}}}"
	for _, kind := range []string{"Deployment", "ReplicaSet", "DaemonSet", "StatefulSet"} {
		_, err := w.Create(object(t, "{apiVersion: apps/v1, kind: "+kind+", "+spec))
		require.ErrorContains(t, err, "spec.template.spec.containers: Required value", "WORK-022")
	}
	_, err := w.Create(object(t, "{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {template: {spec: {restartPolicy: Never}}}}"))
	require.ErrorContains(t, err, "spec.template.spec.containers: Required value", "WORK-022")
}
