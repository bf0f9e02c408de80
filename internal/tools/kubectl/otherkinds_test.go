package kubectl_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/store"
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
	} {
		t.Run(tt.name, func(t *testing.T) {
			objs, err := store.ReadManifests([]byte(strings.ReplaceAll(tt.manifest, "\t", " ")))
			require.NoError(t, err)
			var out strings.Builder
			now := time.Date(2026, 1, 1, 0, 10, 0, 0, time.UTC)
			require.NoError(t, kubectl.Print(&out, now, []api.Kind{api.KindOf(objs[0])}, objs, kubectl.Options{Wide: true}))
			require.Equal(t, strings.TrimSpace(tt.want), strings.TrimSpace(squeeze(out.String())))
		})
	}
}
