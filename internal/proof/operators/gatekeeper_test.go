package operators

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

const (
	// templates are rules for claims: in Rego, which also reads the StorageClass of the claim, and in CEL, of which Gatekeeper makes admission policies.
	templates = `
apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: claimlimit}
spec:
  crd:
    spec:
      names: {kind: ClaimLimit}
      validation: {openAPIV3Schema: {type: object, properties: {max: {type: string}}}}
  targets:
  - target: admission.k8s.gatekeeper.sh
    rego: |
      package claimlimit
      violation[{"msg": msg}] {
        size := input.review.object.spec.resources.requests.storage
        units.parse_bytes(size) > units.parse_bytes(input.parameters.max)
        msg := sprintf("%v is more than %v", [size, input.parameters.max])
      }
      violation[{"msg": msg}] {
        name := input.review.object.spec.storageClassName
        class := data.inventory.cluster["storage.k8s.io/v1"].StorageClass[name]
        class.reclaimPolicy != "Retain"
        msg := sprintf("class %v does not retain volumes", [name])
      }
---
apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: requiredlabels}
spec:
  crd:
    spec:
      names: {kind: RequiredLabels}
      validation: {openAPIV3Schema: {type: object, properties: {labels: {type: array, items: {type: string}}}}}
  targets:
  - target: admission.k8s.gatekeeper.sh
    code:
    - engine: K8sNativeValidation
      source:
        generateVAP: true
        validations:
        - expression: "variables.params.labels.all(l, has(variables.anyObject.metadata.labels) && l in variables.anyObject.metadata.labels)"
          messageExpression: "'the labels ' + variables.params.labels.join(', ') + ' are required'"`

	// synced names the kinds that Gatekeeper reads for its rules.
	synced = `
apiVersion: config.gatekeeper.sh/v1alpha1
kind: Config
metadata: {name: config, namespace: gatekeeper-system}
spec: {sync: {syncOnly: [{group: storage.k8s.io, version: v1, kind: StorageClass}]}}`

	// constraints are the templates with parameters, and what claims get.
	constraints = `
apiVersion: constraints.gatekeeper.sh/v1beta1
kind: ClaimLimit
metadata: {name: limit-claims}
spec:
  match: {kinds: [{apiGroups: [""], kinds: [PersistentVolumeClaim]}]}
  parameters: {max: 10Gi}
---
apiVersion: constraints.gatekeeper.sh/v1beta1
kind: RequiredLabels
metadata: {name: owned-claims}
spec:
  match: {kinds: [{apiGroups: [""], kinds: [PersistentVolumeClaim]}]}
  parameters: {labels: [owner]}
---
apiVersion: mutations.gatekeeper.sh/v1
kind: AssignMetadata
metadata: {name: label-claims}
spec:
  match: {scope: Namespaced, kinds: [{apiGroups: [""], kinds: [PersistentVolumeClaim]}]}
  location: metadata.labels.backup
  parameters: {assign: {value: daily}}`

	// retained are classes, one of which retains volumes.
	retained = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: kept}
provisioner: disk.example.com
reclaimPolicy: Retain
allowVolumeExpansion: true
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: scratch}
provisioner: disk.example.com`

	// anyClaim has a name, labels, a class and a size.
	anyClaim = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: NAME, labels: {LABELS}}
spec: {accessModes: [ReadWriteOnce], storageClassName: CLASS, resources: {requests: {storage: SIZE}}}`

	// labelledSet is a StatefulSet whose claims have labels.
	labelledSet = `
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
  - metadata: {name: data, labels: {LABELS}}
    spec: {accessModes: [ReadWriteOnce], storageClassName: kept, resources: {requests: {storage: 1Gi}}}`
)

// TestGatekeeper: Gatekeeper, with the permissions of its ServiceAccount only, refuses claims that are too large, of a class that does not retain
// volumes, or without an owner, labels claims, and reports one that was there before.
func TestGatekeeper(t *testing.T) {
	const module, space = "github.com/open-policy-agent/gatekeeper/v3", "gatekeeper-system"
	file := build(t, "gatekeeper", module)
	manifests := filepath.Join(source(t, "gatekeeper", module), "deploy", "gatekeeper.yaml")
	claimOf := func(name, labels, class, size string) string {
		return strings.NewReplacer("NAME", name, "LABELS", labels, "CLASS", class, "SIZE", size).Replace(anyClaim)
	}
	inModes(t, func(t *testing.T, c *cluster) {
		c.apply(retained)
		c.apply(claimOf("old", "", "scratch", "20Gi"))
		c.applyFile(manifests)
		deployment := func(name string) object { return object{"apps/v1", "Deployment", space, "gatekeeper-" + name} }
		config, certs := c.as(object{"v1", "ServiceAccount", space, "gatekeeper-admin"}), t.TempDir()
		webhook := c.startDeployment(file, deployment("controller-manager"), "--kubeconfig", config, "--host", "127.0.0.1", "--port", "19545",
			"--health-addr", "127.0.0.1:19445", "--prometheus-port", "19446", "--cert-dir", certs)
		c.mount(object{"v1", "Secret", space, "gatekeeper-webhook-server-cert"}, certs)
		audit := c.startDeployment(file, deployment("audit"), "--kubeconfig", config, "--health-addr", "127.0.0.1:19447", "--prometheus-port", "19448",
			"--cert-dir", certs, "--audit-interval", "2", "--api-cache-dir", t.TempDir(), "--default-wait-for-vapb-generation", "1")
		c.apply(synced)
		c.apply(templates)
		c.apply(constraints)

		refuse := func(message, claim string) { // the constraints take effect in their time
			t.Helper()
			obj := &unstructured.Unstructured{}
			require.NoError(t, yaml.Unmarshal([]byte(claim), &obj.Object))
			for deadline := time.Now().Add(patience); ; time.Sleep(tick) {
				_, err := c.of(object{"v1", "PersistentVolumeClaim", "default", ""}).Create(t.Context(), obj, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
				if err != nil && strings.Contains(err.Error(), message) {
					return
				}
				require.True(t, time.Now().Before(deadline), "%v", err)
			}
		}
		refuse("[limit-claims] 11Gi is more than 10Gi", claimOf("large", "owner: me", "kept", "11Gi"))
		refuse("[limit-claims] class scratch does not retain volumes", claimOf("lost", "owner: me", "scratch", "1Gi"))
		refuse("ValidatingAdmissionPolicy 'gatekeeper-requiredlabels' with binding 'gatekeeper-requiredlabels-owned-claims' denied request: the labels owner are required",
			claimOf("nobodys", "", "kept", "1Gi"))

		// What the controllers write is reviewed too: the claim of a StatefulSet is made when its template has the label.
		set, data := object{"apps/v1", "StatefulSet", "default", "db"}, claim("data-db-0")
		c.apply(strings.Replace(labelledSet, "LABELS", "", 1))
		require.Eventually(t, func() bool {
			return strings.Contains(c.messages("default", "FailedCreate"), "the labels owner are required")
		}, patience, tick)
		require.Equal(t, "gone", c.field(data, "metadata.name"))
		c.delete(set)
		c.until(set, "metadata.name", "gone")
		c.apply(strings.Replace(labelledSet, "LABELS", "owner: me", 1))
		c.until(pod("db-0"), "status.phase", "Running")
		require.Contains(t, c.field(data, "metadata.labels"), "backup:daily")
		grow := func(size string) error {
			_, err := c.of(data).Patch(t.Context(), data.name, types.MergePatchType, []byte(`{"spec":{"resources":{"requests":{"storage":"`+size+`"}}}}`), metav1.PatchOptions{})
			return err
		}
		require.ErrorContains(t, grow("11Gi"), "[limit-claims] 11Gi is more than 10Gi")
		require.NoError(t, grow("10Gi"))
		c.until(data, "status.capacity", "map[storage:10Gi]")

		// A claim that was there before is reported until it goes.
		limit, owned := object{"constraints.gatekeeper.sh/v1beta1", "ClaimLimit", "", "limit-claims"}, object{"constraints.gatekeeper.sh/v1beta1", "RequiredLabels", "", "owned-claims"}
		c.until(limit, "status.totalViolations", "2") // its size and its class
		c.until(owned, "status.totalViolations", "1")
		require.Contains(t, c.field(limit, "status.violations"), "message:20Gi is more than 10Gi name:old namespace:default")
		require.Contains(t, c.field(owned, "status.violations"), "name:old namespace:default")
		// The removal of its finalizer is an update, so they refuse that too.
		c.delete(claim("old"))
		require.Contains(t, c.field(claim("old"), "metadata.finalizers"), "pvc-protection")
		for _, constraint := range []object{limit, owned} {
			c.patch(constraint, `{"spec":{"enforcementAction":"dryrun"}}`)
			require.Eventually(t, func() bool {
				return strings.Contains(c.field(constraint, "status.violations"), "enforcementAction:dryrun")
			}, patience, tick)
		}
		c.patch(claim("old"), `{"metadata":{"annotations":{"again":"yes"}}}`) // the controller waits longer after each refusal
		c.until(claim("old"), "metadata.name", "gone")
		c.until(limit, "status.totalViolations", "0")
		c.until(owned, "status.totalViolations", "0")
		// Its caches lag: it does not see at once what it has created, nor what it has written to the Secret, which is empty at first.
		webhook.clean("the object has been modified", "already exists", "Cert secret is not well-formed, missing ca.crt")
		audit.clean("the object has been modified", "already exists")
	}, "--nodes", "n1,n2", "--driver", "disk.example.com", "--service", space+"/gatekeeper-webhook-service=127.0.0.1:19545")
}
