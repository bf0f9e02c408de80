package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const refusesClaims = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: p}
spec:
  matchConstraints:
    resourceRules: [{operations: ["*"], apiGroups: [""], apiVersions: [v1], resources: [persistentvolumeclaims, pods/eviction]}]
  validations: [{expression: "object != null && object.metadata.name == 'good'", message: bad}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: b}
spec: {policyName: p, validationActions: [Deny]}
`

const claimsOfScript = `-- policy.yaml --
` + refusesClaims + `-- good.yaml --
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: good}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
-- bad.yaml --
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: bad}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
`

// TestPolicies: policies review the user's writes, too, in every command that simulates a cluster (API-429).
func TestPolicies(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		name = filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		return name
	}
	good := file("good.txtar", "seeds 1..3\napply -f policy.yaml\napply -f good.yaml\nget pvc good\n"+claimsOfScript)
	bad := file("bad.txtar", "apply -f policy.yaml\napply -f bad.yaml\n"+claimsOfScript)
	deleted := file("deleted.txtar", "apply -f policy.yaml\napply -f good.yaml\nsettle\ndelete pvc good\n"+claimsOfScript)
	const refused = "is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: bad"
	policy := file("policy.yaml", refusesClaims)
	manifest := file("manifest.yaml", refusesClaims+"---\n{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: bad}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}\n")
	parameters := file("parameters.yaml", `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: p}
spec:
  paramKind: {apiVersion: example.com/v1, kind: Limit}
  matchConstraints: {resourceRules: [{operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*"]}]}
  validations: [{expression: "false"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: b}
spec: {policyName: p, paramRef: {name: l, parameterNotFoundAction: Deny}, validationActions: [Deny]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: w}
webhooks: [{name: w.example.com, clientConfig: {url: "https://w"}, admissionReviewVersions: [v1], sideEffects: None,
  rules: [{operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*"]}]}]
`)
	for _, tt := range []struct {
		rule, name string
		args       []string
		status     int
		want       string
	}{
		{"API-429", "a claim that the policy accepts", []string{"run", good}, 0, "persistentvolumeclaim/good created"},
		{"API-429", "a claim that it refuses", []string{"run", bad}, exitFailed, refused},
		{"API-429", "a delete", []string{"run", deleted}, exitFailed, refused},
		{"API-429", "a sweep", []string{"sweep", "--seeds", "1..3", bad}, exitFailed, refused},
		{"API-429", "a search", []string{"sweep", "--exhaustive", bad}, exitFailed, refused},
		{"API-429", "choices of a search", []string{"sweep", "--choices", "0", manifest}, 0, refused},
		{"API-429", "a step of a prediction", []string{"predict", "-f", "testdata/running.yaml", "-f", policy, "--", "delete", "pvc/shop/data-db-0"}, exitFailed, refused},
		{"API-429", "an eviction", []string{"predict", "-f", "testdata/running.yaml", "--", "apply", "-f", policy, "then", "drain", "ip-10-0-1-20"}, exitFailed, refused},
		{"API-429", "a dump without the parameters", []string{"predict", "-f", "testdata/running.yaml", "-f", parameters, "--", "delete", "pod/shop/db-0"}, 0,
			"Policy p has no effect here: the dump has no Limit, its parameters."},
		{"API-399", "a dump with webhooks", []string{"explain", "-f", "testdata/refused-binding.yaml", "-f", parameters, "pvc/shop/data"}, 0,
			"Admission webhooks are not asked, and change and refuse nothing: w."},
	} {
		t.Run(tt.rule+" "+tt.name, func(t *testing.T) {
			status, out, errOut := shell("", tt.args...)
			require.Equal(t, tt.status, status, "%s%s", out, errOut)
			require.Contains(t, out+errOut, tt.want)
			require.NotContains(t, errOut, "have no effect")
		})
	}
}
