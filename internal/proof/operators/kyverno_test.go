package operators

import (
	"crypto/tls"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const (
	// policies are those of a cluster in which claims are limited, backed up by snapshots, and removed in time.
	policies = `
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: limit-claims}
spec:
  validationActions: [Deny]
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [persistentvolumeclaims]}]}
  validations:
  - {expression: "quantity(object.spec.resources.requests.storage).compareTo(quantity('10Gi')) <= 0", message: a claim may request 10Gi at most}
---
apiVersion: policies.kyverno.io/v1
kind: MutatingPolicy
metadata: {name: label-claims}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [persistentvolumeclaims]}]}
  matchConditions: [{name: kept, expression: "!has(object.metadata.labels) || !('cleanup.kyverno.io/ttl' in object.metadata.labels)"}]
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration: {expression: "Object{metadata: Object.metadata{labels: Object.metadata.labels{backup: 'daily'}}}"}
---
apiVersion: policies.kyverno.io/v1
kind: GeneratingPolicy
metadata: {name: snapshot-claims}
spec:
  evaluation: {synchronize: {enabled: true}}
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [persistentvolumeclaims]}]}
  matchConditions: [{name: labelled, expression: "has(object.metadata.labels) && 'backup' in object.metadata.labels"}]
  variables:
  - name: snapshot
    expression: |
      {"apiVersion": dyn("snapshot.storage.k8s.io/v1"), "kind": dyn("VolumeSnapshot"), "metadata": dyn({"name": dyn(object.metadata.name)}),
       "spec": dyn({"volumeSnapshotClassName": dyn("fast"), "source": dyn({"persistentVolumeClaimName": dyn(object.metadata.name)})})}
  generate: [{expression: "generator.apply(object.metadata.namespace, [variables.snapshot])"}]
---
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: protect-volumes}
spec:
  autogen: {validatingAdmissionPolicy: {enabled: true}}
  validationActions: [Deny]
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [DELETE], resources: [persistentvolumes]}]}
  validations:
  - {expression: "!has(oldObject.metadata.annotations) || !('keep' in oldObject.metadata.annotations)", message: the volume has the annotation keep}`

	// permitted lets the controllers of Kyverno do what the policies want.
	permitted = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: kyverno-snapshots, labels: {rbac.kyverno.io/aggregate-to-background-controller: "true", rbac.kyverno.io/aggregate-to-admission-controller: "true"}}
rules:
- {apiGroups: [snapshot.storage.k8s.io], resources: [volumesnapshots], verbs: [create, update, patch, delete, get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: kyverno-claims, labels: {rbac.kyverno.io/aggregate-to-cleanup-controller: "true"}}
rules:
- {apiGroups: [""], resources: [persistentvolumeclaims], verbs: [delete, get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: kyverno-volumes, labels: {rbac.kyverno.io/aggregate-to-reports-controller: "true"}}
rules:
- {apiGroups: [""], resources: [persistentvolumes], verbs: [get, list, watch]}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast}
provisioner: disk.example.com
---
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshotClass
metadata: {name: fast}
driver: disk.example.com
deletionPolicy: Delete`

	scratch = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: scratch, labels: {cleanup.kyverno.io/ttl: 2s}}
spec: {accessModes: [ReadWriteOnce], storageClassName: fast, resources: {requests: {storage: 1Gi}}}`

	large = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: large}
spec: {accessModes: [ReadWriteOnce], storageClassName: fast, resources: {requests: {storage: 11Gi}}}`

	oneReplica = `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  replicas: 1
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: db, image: postgres, volumeMounts: [{name: data, mountPath: /data}]}]}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], storageClassName: fast, resources: {requests: {storage: 1Gi}}}`
)

// ready waits until a program answers that it is ready. Its certificate is its own.
func ready(t *testing.T, port string) {
	t.Helper()
	probe := &http.Client{Timeout: time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer probe.CloseIdleConnections()
	require.Eventually(t, func() bool {
		resp, err := probe.Get("https://127.0.0.1:" + port + "/health/readiness")
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	}, patience, tick)
}

// TestKyverno: Kyverno refuses a claim that is too large, labels the claim of a StatefulSet, makes a snapshot of it, and makes it again when it is
// deleted. It deletes a claim whose label says when, makes a ValidatingAdmissionPolicy of a policy, and reports what the policies say of a claim.
func TestKyverno(t *testing.T) {
	const module, space = "github.com/kyverno/kyverno", "kyverno"
	files := map[string]string{}
	for _, name := range []string{"kyverno", "background-controller", "cleanup-controller", "reports-controller"} {
		files[name] = buildAs(t, name, "kyverno", module+"/cmd/"+name)
	}
	manifests := filepath.Join(source(t, "kyverno", module), "config", "install-latest-testing.yaml")
	inModes(t, func(t *testing.T, c *cluster) {
		c.applyFile(manifests)
		c.apply(permitted)
		deployment := func(name string) object { return object{"apps/v1", "Deployment", space, "kyverno-" + name} }
		programs := []*program{
			c.startDeployment(files["kyverno"], deployment("admission-controller"), "--kubeconfig", c.config, "--webhookServerHost", "127.0.0.1",
				"--webhookServerPort", "19543", "--metricsPort", "19441", "--controllerRuntimeMetricsAddress", "0", "--loggingFormat", "json"),
			c.startDeployment(files["background-controller"], deployment("background-controller"), "--kubeconfig", c.config,
				"--metricsPort", "19442", "--controllerRuntimeMetricsAddress", "0", "--loggingFormat", "json"),
			c.startDeployment(files["cleanup-controller"], deployment("cleanup-controller"), "--kubeconfig", c.config, "--cleanupServerPort", "19544",
				"--metricsPort", "19443", "--ttlReconciliationInterval", "1s", "--loggingFormat", "json"),
			c.startDeployment(files["reports-controller"], deployment("reports-controller"), "--kubeconfig", c.config, "--metricsPort", "19444",
				"--loggingFormat", "json"),
		}
		ready(t, "19543") // as the readiness probes of their pods
		ready(t, "19544")
		c.apply(policies)
		for name, kind := range map[string]string{"limit-claims": "ValidatingPolicy", "label-claims": "MutatingPolicy", "snapshot-claims": "GeneratingPolicy",
			"protect-volumes": "ValidatingPolicy"} {
			policy := object{"policies.kyverno.io/v1", kind, "", name}
			c.until(policy, "status.conditionStatus.ready", "true")
			if name != "protect-volumes" { // the API server itself enforces that one
				require.Eventually(t, func() bool { return strings.Contains(c.field(policy, "status"), "Webhook configured") }, patience, tick, name)
			}
		}

		refused := &unstructured.Unstructured{}
		require.NoError(t, yaml.Unmarshal([]byte(large), &refused.Object))
		_, err := c.of(claim("large")).Create(t.Context(), refused, metav1.CreateOptions{})
		require.ErrorContains(t, err, "a claim may request 10Gi at most")

		c.apply(oneReplica)
		c.until(pod("db-0"), "status.phase", "Running")
		data, snapshot := claim("data-db-0"), object{"snapshot.storage.k8s.io/v1", "VolumeSnapshot", "default", "data-db-0"}
		require.Contains(t, c.field(data, "metadata.labels"), "backup:daily")
		c.until(snapshot, "status.readyToUse", "true")
		before := c.field(snapshot, "metadata.uid")
		c.delete(snapshot) // it is made again
		c.changes(snapshot, "metadata.uid", before)
		c.until(snapshot, "status.readyToUse", "true")

		c.apply(scratch)
		c.until(claim("scratch"), "metadata.name", "gone")

		c.until(object{"admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", "", "vpol-protect-volumes"}, "spec.failurePolicy", "Fail")
		kept := c.field(data, "spec.volumeName")
		c.patch(volume(kept), `{"metadata":{"annotations":{"keep":"yes"}}}`)
		require.ErrorContains(t, c.of(volume(kept)).Delete(t.Context(), kept, metav1.DeleteOptions{}), "the volume has the annotation keep")

		report := object{"wgpolicyk8s.io/v1alpha2", "PolicyReport", "default", c.field(data, "metadata.uid")}
		require.Eventually(t, func() bool {
			return strings.Contains(c.field(report, "results"), "policy:limit-claims properties:map[process:background scan] result:pass")
		}, patience, tick)
		for _, p := range programs {
			// It makes the Lease at its first start. Each change of a claim makes its workers write the same snapshot, several at once.
			p.clean(`kyverno-health\" not found`, "the object has been modified", `volumesnapshots.snapshot.storage.k8s.io \"data-db-0\"`)
		}
	}, "--nodes", "n1,n2", "--driver", "disk.example.com", "--service", space+"/kyverno-svc=127.0.0.1:19543", "--service", space+"/kyverno-cleanup-controller=127.0.0.1:19544")
}
