package kubectl_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/manifests"
	"github.com/volsim/volsim/internal/tools/kubectl"
)

// TestOtherKinds prints kinds that are stored and not simulated, with the columns of the real server.
func TestOtherKinds(t *testing.T) {
	for _, tt := range []struct {
		name, manifest, want string
	}{
		{"a CronJob", `{apiVersion: batch/v1, kind: CronJob, metadata: {name: c}, spec: {schedule: "* * * * *", suspend: false, jobTemplate: {spec: {template:
			{spec: {containers: [{name: c, image: i}]}}}}}, status: {active: [{name: a}], lastScheduleTime: "2026-01-01T00:00:00Z"}}`, `
NAME SCHEDULE TIMEZONE SUSPEND ACTIVE LAST SCHEDULE AGE CONTAINERS IMAGES SELECTOR
c * * * * * <none> False 1 10m <unknown> c i <none>`},
		{"an Ingress", `{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: i}, spec: {ingressClassName: nginx, tls: [{hosts: [a]}],
			rules: [{host: a}, {host: b}, {}, {host: c}, {host: d}]}, status: {loadBalancer: {ingress: [{ip: 10.0.0.2}, {hostname: x}, {ip: 10.0.0.1}]}}}`, `
NAME CLASS HOSTS ADDRESS PORTS AGE
i nginx a,b,c + 2 more... 10.0.0.1,10.0.0.2,x 80, 443 <unknown>`},
		{"a NetworkPolicy", `{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: np}, spec: {podSelector: {matchLabels: {app: web}}}}`, `
NAME POD-SELECTOR AGE
np app=web <unknown>`},
		{"a HorizontalPodAutoscaler", `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: h}, spec: {maxReplicas: 3, minReplicas: 2,
			scaleTargetRef: {kind: Deployment, name: web}, metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}},
			{type: Pods, pods: {metric: {name: m}, target: {type: AverageValue, averageValue: "5"}}}, {type: External, external: {target: {value: "1"}}}]},
			status: {currentReplicas: 2, currentMetrics: [{type: Resource, resource: {name: cpu, current: {averageUtilization: 40}}}]}}`, `
NAME REFERENCE TARGETS MINPODS MAXPODS REPLICAS AGE
h Deployment/web cpu: 40%/80%, <unknown>/5 + 1 more... 2 3 2 <unknown>`},
		{"a ReplicationController", `{apiVersion: v1, kind: ReplicationController, metadata: {name: r}, spec: {replicas: 2, selector: {app: web},
			template: {spec: {containers: [{name: c, image: i}]}}}, status: {replicas: 1}}`, `
NAME DESIRED CURRENT READY AGE CONTAINERS IMAGES SELECTOR
r 2 1 0 <unknown> c i app=web`},
		{"Endpoints", `{apiVersion: v1, kind: Endpoints, metadata: {name: e}, subsets: [{addresses: [{ip: 192.0.2.1}, {ip: "2001:db8::1"}],
			notReadyAddresses: [{ip: 192.0.2.9}], ports: [{port: 80}, {port: 81}]}, {addresses: [{ip: 192.0.2.3}]}]}`, `
NAME ENDPOINTS AGE
e 192.0.2.1:80,[2001:db8::1]:80,192.0.2.1:81 + 2 more... <unknown>`},
		{"Endpoints without any", `{apiVersion: v1, kind: Endpoints, metadata: {name: e}}`, `
NAME ENDPOINTS AGE
e <none> <unknown>`},
		{"an EndpointSlice", `{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: e}, addressType: IPv4, ports: [{port: 80}, {name: any}, {}, {port: 1}],
			endpoints: [{addresses: [192.0.2.1, 192.0.2.2]}, {addresses: [192.0.2.3]}]}`, `
NAME ADDRESSTYPE PORTS ENDPOINTS AGE
e IPv4 80,any,* + 1 more... 192.0.2.1,192.0.2.2,192.0.2.3 <unknown>`},
		{"an EndpointSlice without any", `{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: e}, addressType: IPv6, endpoints: []}`, `
NAME ADDRESSTYPE PORTS ENDPOINTS AGE
e IPv6 <unset> <unset> <unknown>`},
		{"an IngressClass", `{apiVersion: networking.k8s.io/v1, kind: IngressClass, metadata: {name: i, annotations: {ingressclass.kubernetes.io/is-default-class: "true"}},
			spec: {controller: example.com/c, parameters: {apiGroup: example.com, kind: Settings, name: s}}}`, `
NAME CONTROLLER PARAMETERS AGE
i (default) example.com/c Settings.example.com/s <unknown>`},
		{"an IPAddress", `{apiVersion: networking.k8s.io/v1, kind: IPAddress, metadata: {name: 192.0.2.1}, spec: {parentRef: {group: Example.com, resource: services,
			namespace: shop, name: web}}}`, `
NAME PARENTREF
192.0.2.1 services.example.com/shop/web`},
		{"a ServiceCIDR", `{apiVersion: networking.k8s.io/v1, kind: ServiceCIDR, metadata: {name: c}, spec: {cidrs: [192.0.2.0/24, "2001:db8::/64"]}}`, `
NAME CIDRS AGE
c 192.0.2.0/24,2001:db8::/64 <unknown>`},
		{"a CertificateSigningRequest", `{apiVersion: certificates.k8s.io/v1, kind: CertificateSigningRequest, metadata: {name: r}, spec: {signerName: example.com/s, username: ann,
			expirationSeconds: 86400}, status: {conditions: [{type: Approved}, {type: Failed}], certificate: eA==}}`, `
NAME AGE SIGNERNAME REQUESTOR REQUESTEDDURATION CONDITION
r <unknown> example.com/s ann 24h Approved,Failed,Issued`},
		{"a VolumeSnapshot", `{apiVersion: snapshot.storage.k8s.io/v1, kind: VolumeSnapshot, metadata: {name: s}, spec: {source:
			{persistentVolumeClaimName: data}, volumeSnapshotClassName: fast}, status: {readyToUse: true, restoreSize: 1Gi,
			boundVolumeSnapshotContentName: c, creationTime: "2026-01-01T00:00:00Z"}}`, `
NAME READYTOUSE SOURCEPVC SOURCESNAPSHOTCONTENT RESTORESIZE SNAPSHOTCLASS SNAPSHOTCONTENT CREATIONTIME AGE
s true data 1Gi fast c 10m <unknown>`},
		{"a VolumeSnapshotContent without status", `{apiVersion: snapshot.storage.k8s.io/v1, kind: VolumeSnapshotContent, metadata: {name: c}, spec: {driver: d,
			deletionPolicy: Delete, source: {volumeHandle: h}, volumeSnapshotRef: {namespace: default, name: s}}}`, `
NAME READYTOUSE RESTORESIZE DELETIONPOLICY DRIVER VOLUMESNAPSHOTCLASS VOLUMESNAPSHOT VOLUMESNAPSHOTNAMESPACE AGE
c Delete d s default <unknown>`},
		{"a RoleBinding", `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: r}, roleRef: {kind: Role, name: x},
			subjects: [{kind: User, name: u}, {kind: Group, name: g}, {kind: ServiceAccount, namespace: default, name: s}]}`, `
NAME ROLE AGE USERS GROUPS SERVICEACCOUNTS
r Role/x <unknown> u g default/s`},
		{"a Service", `{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {type: ClusterIP, clusterIP: 10.0.0.1, externalIPs: [192.0.2.1, 192.0.2.2],
			ports: [{port: 80, protocol: TCP}, {port: 53, protocol: UDP}]}}`, `
NAME TYPE CLUSTER-IP EXTERNAL-IP PORT(S) AGE SELECTOR
s ClusterIP 10.0.0.1 192.0.2.1,192.0.2.2 80/TCP,53/UDP <unknown> <none>`},
		{"a Service that waits for a load balancer", `{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {type: LoadBalancer, ports: [{port: 80, nodePort: 30080}]}}`, `
NAME TYPE CLUSTER-IP EXTERNAL-IP PORT(S) AGE SELECTOR
s LoadBalancer <none> <pending> 80:30080/TCP <unknown> <none>`},
		{"a Service with a load balancer", `{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {type: LoadBalancer, externalIPs: [192.0.2.1]},
			status: {loadBalancer: {ingress: [{hostname: b.example.com}, {ip: 192.0.2.9}]}}}`, `
NAME TYPE CLUSTER-IP EXTERNAL-IP PORT(S) AGE SELECTOR
s LoadBalancer <none> 192.0.2.9,b.example.com,192.0.2.1 <none> <unknown> <none>`},
		{"a Service elsewhere", `{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {type: ExternalName, externalName: db.example.com}}`, `
NAME TYPE CLUSTER-IP EXTERNAL-IP PORT(S) AGE SELECTOR
s ExternalName <none> db.example.com <none> <unknown> <none>`},
		{"a webhook configuration", `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: w}, webhooks: [{name: a}, {name: b}]}`, `
NAME WEBHOOKS AGE
w 2 <unknown>`},
		{"a ValidatingAdmissionPolicy", `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: p},
			spec: {validations: [{expression: "true"}], paramKind: {apiVersion: v1, kind: ConfigMap}}}`, `
NAME VALIDATIONS PARAMKIND AGE
p 1 v1/ConfigMap <unknown>`},
		{"a binding to one object", `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: b},
			spec: {policyName: p, paramRef: {name: a}}}`, `
NAME POLICYNAME PARAMREF AGE
b p */a <unknown>`},
		{"a binding to objects with a label", `{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicyBinding, metadata: {name: b},
			spec: {policyName: p, paramRef: {selector: {matchLabels: {a: b}}}}}`, `
NAME POLICYNAME PARAMREF AGE
b p &LabelSelector{MatchLabels:map[string]string{a: b,},MatchExpressions:[]LabelSelectorRequirement{},} <unknown>`},
		{"a binding without parameters", `{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicyBinding, metadata: {name: b}, spec: {policyName: p}}`, `
NAME POLICYNAME PARAMREF AGE
b p <unset> <unknown>`},
		{"an APIService", `{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.example.com}, spec: {service: {namespace: a, name: b}},
			status: {conditions: [{type: Available, status: "False", reason: ServiceNotFound}]}}`, `
NAME SERVICE AVAILABLE AGE
v1.example.com a/b False (ServiceNotFound) <unknown>`},
		{"an APIService of the server", `{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.apps}, spec: {}}`, `
NAME SERVICE AVAILABLE AGE
v1.apps Local Unknown <unknown>`},
		{"a ControllerRevision", `{apiVersion: apps/v1, kind: ControllerRevision, metadata: {name: r, ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: web,
			controller: true}]}, revision: 3}`, `
NAME CONTROLLER REVISION AGE
r statefulset.apps/web 3 <unknown>`},
		{"a PodTemplate", `{apiVersion: v1, kind: PodTemplate, metadata: {name: t}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}`, `
NAME CONTAINERS IMAGES POD LABELS
t c i a=b`},
		{"a ResourceClaim", `{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: c}, status: {allocation: {}, reservedFor: [{name: p}]}}`, `
NAME STATE AGE
c allocated,reserved <unknown>`},
		{"a ResourceSlice", `{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: s}, spec: {nodeName: n1, driver: example.com, pool: {name: p}}}`, `
NAME NODE DRIVER POOL AGE
s n1 example.com p <unknown>`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			objs, err := manifests.Read([]byte(strings.ReplaceAll(tt.manifest, "\t", " ")))
			require.NoError(t, err)
			var out strings.Builder
			now := time.Date(2026, 1, 1, 0, 10, 0, 0, time.UTC)
			require.NoError(t, kubectl.Print(&out, now, []api.Kind{api.KindOf(objs[0])}, objs, kubectl.Options{Wide: true}))
			require.Equal(t, strings.TrimSpace(tt.want), strings.TrimSpace(squeeze(out.String())))
		})
	}
}
