package store_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
		{"API-310", "a node port of two protocols", "{type: NodePort, clusterIP: 10.96.0.8, ports: [{name: a, port: 80}, {name: b, port: 80, protocol: UDP, nodePort: 30001}]}", `
			clusterIP: 10.96.0.8, clusterIPs: [10.96.0.8], externalTrafficPolicy: Cluster, internalTrafficPolicy: Cluster, ipFamilies: [IPv4], ipFamilyPolicy: SingleStack,
			ports: [{name: a, port: 80, protocol: TCP, targetPort: 80, nodePort: 30001}, {name: b, port: 80, protocol: UDP, targetPort: 80, nodePort: 30001}],
			sessionAffinity: None, type: NodePort`},
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
	b := service("b", "{ports: [{port: 80}]}")
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

// TestServiceValidation: what is wrong with a Service or a PodDisruptionBudget. An update is one of the Service up, whose type is LoadBalancer, or
// of the budget up.
func TestServiceValidation(t *testing.T) {
	w := newFixture(t)
	service := func(name, spec string) *unstructured.Unstructured {
		return object(t, "{apiVersion: v1, kind: Service, metadata: {name: "+name+"}, spec: "+spec+"}")
	}
	budget := func(name, spec string) *unstructured.Unstructured {
		return object(t, "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: "+name+"}, spec: "+spec+"}")
	}
	made(w, service("up", "{type: LoadBalancer, loadBalancerClass: a.b/c, clusterIP: 10.96.0.20, ports: [{port: 80, nodePort: 30005}]}"))
	for _, tt := range []struct {
		rule string
		obj  *unstructured.Unstructured
		want string
	}{
		{"API-350", service("s", "{}"), "spec.ports: Required value"},
		{"API-350", service("s", "{ports: [{port: 80}, {port: 81}]}"), "spec.ports[0].name: Required value"},
		{"API-350", service("s", "{ports: [{port: 80, name: a}, {port: 81, name: a}]}"), `spec.ports[1].name: Duplicate value: "a"`},
		{"API-350", service("s", "{ports: [{port: 80, protocol: HTTP}]}"), `spec.ports[0].protocol: Unsupported value: "HTTP": supported values: "SCTP", "TCP", "UDP"`},
		{"API-350", service("s", "{ports: [{port: 80, nodePort: 30001}]}"), "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"},
		{"API-350", service("s", "{type: NodePort, ports: [{port: 80, nodePort: 80}]}"),
			"spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. The range of valid ports is 30000-32767"},
		{"API-350", service("s", "{type: NodePort, ports: [{port: 80, nodePort: 30005}]}"), "spec.ports[0].nodePort: Invalid value: 30005: provided port is already allocated"},
		{"API-350", service("s", "{type: NodePort, ports: [{name: a, port: 80, nodePort: 30009}, {name: b, port: 81, protocol: UDP, nodePort: 30009}]}"),
			"spec.ports[1].nodePort: Invalid value: 30009: provided port is already allocated"},
		{"API-350", service("up", "{type: LoadBalancer, loadBalancerClass: a.b/c, ports: [{name: a, port: 80, nodePort: 30005}, {name: b, port: 81, nodePort: 30005}]}"),
			"duplicate nodePort: {TCP 30005}"},
		{"API-350", service("s", "{type: LoadBalancer, externalTrafficPolicy: Local, healthCheckNodePort: 80, ports: [{port: 80}]}"),
			"failed to allocate requested HealthCheck NodePort 80: provided port is not in the valid range"},
		{"API-350", service("s", "{clusterIP: 10.96.0.20, ports: [{port: 80}]}"),
			`spec.clusterIPs: Invalid value: ["10.96.0.20"]: failed to allocate IP 10.96.0.20: provided IP is already allocated`},
		{"API-350", service("s", "{type: Other, ports: [{port: 80}]}"), `spec.type: Unsupported value: "Other"`},
		{"API-350", service("s", "{type: ExternalName}"), "spec.externalName: Required value"},
		{"API-350", service("s", "{sessionAffinity: Cookie, ports: [{port: 80}]}"), `spec.sessionAffinity: Unsupported value: "Cookie": supported values: "ClientIP", "None"`},
		{"API-350", service("s", "{clusterIP: abc, selector: {'a b': c}}"), `Service "s" is invalid: spec.clusterIPs[0]: Invalid value: "abc": must be a valid IP address`},
		{"API-350", service("s", "{selector: {a: b c}, ports: [{port: 80}]}"), `spec.selector: Invalid value: "b c"`},
		{"API-350", service("s", "{externalIPs: [127.0.0.1], ports: [{port: 80}]}"),
			`spec.externalIPs[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)`},
		{"API-351", service("up", "{type: LoadBalancer, loadBalancerClass: a.b/d, ports: [{port: 80}]}"), `spec.loadBalancerClass: Invalid value: "a.b/d": may not change once set`},
		{"API-351", service("up", "{type: ClusterIP, loadBalancerClass: x.y/z, ports: [{port: 80}]}"),
			"spec.loadBalancerClass: Forbidden: may only be used when `type` is 'LoadBalancer'"},
		{"API-351", service("up", "{type: ClusterIP, loadBalancerClass: a.b/c, ports: [{port: 80, nodePort: 30005}]}"), ""},
		{"API-350", service("up", "{type: LoadBalancer, loadBalancerClass: a.b/c, ports: [{name: a, port: 80, nodePort: 30005}, {name: b, port: 80, protocol: UDP, nodePort: 30005}]}"), ""},
		{"API-352", budget("b", "{minAvailable: 1, maxUnavailable: 1}"), `spec: Invalid value: {"MinAvailable":1,"Selector":null,"MaxUnavailable":1,` +
			`"UnhealthyPodEvictionPolicy":null}: minAvailable and maxUnavailable cannot be both set`},
		{"API-352", budget("b", "{minAvailable: 101%}"), `spec.minAvailable: Invalid value: "101%": must not be greater than 100%`},
		{"API-352", budget("b", "{maxUnavailable: half}"), `spec.maxUnavailable: Invalid value: "half": a valid percent string`},
		{"API-352", budget("b", "{selector: {matchLabels: {'a b': c}}}"), `spec.selector.matchLabels: Invalid value: "a b"`},
		{"API-352", budget("b", "{unhealthyPodEvictionPolicy: Never}"),
			`spec.unhealthyPodEvictionPolicy: Unsupported value: "Never": supported values: "AlwaysAllow", "IfHealthyBudget"`},
	} {
		write := w.Create
		if tt.obj.GetName() == "up" {
			write = w.Update
		}
		if _, err := write(tt.obj); tt.want == "" {
			require.NoError(t, err, tt.rule)
		} else {
			require.ErrorContains(t, err, tt.want, tt.rule)
		}
	}
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
