package apiserver

import (
	"path"
	"testing"

	"github.com/stretchr/testify/require"

	"sigs.k8s.io/yaml"
)

// TestDamagedSubresources writes subresources of objects, deletes objects, and asks for reviews, with bodies that are damaged as the objects of
// TestDamagedWrites.
func TestDamagedSubresources(t *testing.T) {
	const pods, deployments = "/api/v1/namespaces/default/pods", "/apis/apps/v1/namespaces/default/deployments"
	run := newDamageRun(t)
	object := func(text string) (out map[string]any) {
		require.NoError(t, yaml.Unmarshal([]byte(text), &out))
		return out
	}
	for _, before := range []struct{ list, text string }{
		{pods, "{metadata: {name: free}, spec: {serviceAccountName: a, containers: [{name: a, image: b}]}}"},
		{deployments, "{metadata: {name: d}, spec: {replicas: 1, selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: a}}, spec: {containers: [{name: a, image: b}]}}}}"},
		{"/api/v1/namespaces/default/serviceaccounts", "{metadata: {name: a}}"},
		{"/api/v1/namespaces/default/configmaps", "{metadata: {name: a}}"},
		{"/api/v1/namespaces", "{metadata: {name: spare}}"},
	} {
		w := whole{damageRun: run, object: object(before.text)}
		require.Regexp(t, "^201 ", w.compare(t, "create", form{request: request{method: "POST", path: before.list}}, w.object))
	}
	for _, row := range []struct{ kind, method, path, body string }{
		{"Binding", "POST", pods + "/free/binding?dryRun=All", `{apiVersion: v1, kind: Binding, metadata: {name: free, namespace: default, labels: {a: b}, annotations: {c: d}},
			target: {apiVersion: v1, kind: Node, name: n1, namespace: default, fieldPath: x}}`},
		{"Binding", "POST", "/api/v1/namespaces/default/bindings?dryRun=All", `{apiVersion: v1, kind: Binding, metadata: {name: free, namespace: default}, target: {kind: Node, name: n1}}`},
		{"Eviction", "POST", pods + "/free/eviction?dryRun=All", `{apiVersion: policy/v1, kind: Eviction, metadata: {name: free, namespace: default},
			deleteOptions: {apiVersion: v1, kind: DeleteOptions, gracePeriodSeconds: 1, propagationPolicy: Background, dryRun: [All]}}`},
		{"Eviction", "POST", pods + "/free/eviction?dryRun=All", `{apiVersion: policy/v1, kind: Eviction, metadata: {name: free, namespace: default}}`},
		{"Scale", "PUT", deployments + "/d/scale?dryRun=All", `{apiVersion: autoscaling/v1, kind: Scale, metadata: {name: d, namespace: default}, spec: {replicas: 2}, status: {replicas: 1, selector: a=b}}`},
		{"Scale", "PATCH", deployments + "/d/scale?dryRun=All", `{spec: {replicas: 2}, status: {replicas: 1, selector: a=b}}`},
		{"TokenRequest", "POST", "/api/v1/namespaces/default/serviceaccounts/a/token?dryRun=All", `{apiVersion: authentication.k8s.io/v1, kind: TokenRequest, metadata: {name: a},
			spec: {audiences: [x], expirationSeconds: 700, boundObjectRef: {apiVersion: v1, kind: Pod, name: free}}}`},
		{"Namespace", "PUT", "/api/v1/namespaces/spare/finalize?dryRun=All", `{apiVersion: v1, kind: Namespace, metadata: {name: spare}, spec: {finalizers: [kubernetes, example.com/a]}}`},
		{"DeleteOptions", "DELETE", "/api/v1/namespaces/default/configmaps/a?dryRun=All", `{apiVersion: v1, kind: DeleteOptions, gracePeriodSeconds: 1, propagationPolicy: Background, dryRun: [All],
			ignoreStoreReadErrorWithClusterBreakingPotential: false, preconditions: {uid: u}}`},
		{"DeleteOptions", "DELETE", "/api/v1/namespaces/default/configmaps/a?dryRun=All", `{apiVersion: v1, kind: DeleteOptions, orphanDependents: true, dryRun: [All]}`},
		{"DeleteOptions", "DELETE", pods + "/free?dryRun=All", `{apiVersion: v1, kind: DeleteOptions, gracePeriodSeconds: 1, propagationPolicy: Foreground, dryRun: [All]}`},
		{"DeleteOptions", "DELETE", "/api/v1/namespaces/default/configmaps?dryRun=All", `{apiVersion: v1, kind: DeleteOptions, gracePeriodSeconds: 1, propagationPolicy: Orphan, dryRun: [All]}`},
		{"SubjectAccessReview", "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", `{apiVersion: authorization.k8s.io/v1, kind: SubjectAccessReview,
			spec: {user: u, groups: [g], uid: v, extra: {a: [b]}, resourceAttributes: {namespace: default, verb: get, group: apps, version: v1, resource: deployments, subresource: scale, name: d,
			fieldSelector: {requirements: [{key: metadata.name, operator: In, values: [a]}]}, labelSelector: {matchLabels: {a: b}, requirements: [{key: a, operator: Exists}]}}}}`},
		{"SubjectAccessReview", "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", `{apiVersion: authorization.k8s.io/v1, kind: SubjectAccessReview,
			spec: {user: u, nonResourceAttributes: {path: /healthz, verb: get}}}`},
		{"LocalSubjectAccessReview", "POST", "/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews", `{apiVersion: authorization.k8s.io/v1, kind: LocalSubjectAccessReview,
			metadata: {namespace: default}, spec: {user: u, resourceAttributes: {namespace: default, verb: get, resource: pods}}}`},
		{"SelfSubjectAccessReview", "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", `{apiVersion: authorization.k8s.io/v1, kind: SelfSubjectAccessReview,
			spec: {resourceAttributes: {namespace: default, verb: get, resource: pods}}}`},
		{"SelfSubjectRulesReview", "POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", `{apiVersion: authorization.k8s.io/v1, kind: SelfSubjectRulesReview, spec: {namespace: default}}`},
		{"TokenReview", "POST", "/apis/authentication.k8s.io/v1/tokenreviews", `{apiVersion: authentication.k8s.io/v1, kind: TokenReview, spec: {token: t, audiences: [a]}}`},
	} {
		if ok, _ := path.Match(*only, row.kind); !ok {
			continue
		}
		t.Run(row.kind, func(t *testing.T) {
			f := form{request: request{method: row.method, path: row.path}, anyPart: true}
			if row.method == "PATCH" {
				f.header = [][2]string{{"Content-Type", "application/merge-patch+json"}}
			}
			w := whole{damageRun: run, kind: row.kind, object: object(row.body)}
			w.compare(t, "whole", f, w.object)
			w.damage(t, f)
			w.end(t)
		})
	}
	run.end(t)
}
