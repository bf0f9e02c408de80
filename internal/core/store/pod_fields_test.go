package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/core/store"
)

// TestPodFields: what is wrong with the fields of a container or a pod that say how it runs. The texts are those of kube-apiserver, as is compared by
// internal/proof/apiserver.
func TestPodFields(t *testing.T) {
	w := newFixture(t)
	const at, env = "spec.containers[0].", "spec.containers[0].env[0].valueFrom"
	for _, tt := range []struct{ rule, container, pod, want string }{
		{"API-354", "livenessProbe: {}", "", at + "livenessProbe: Required value: must specify a handler type"},
		{"API-354", "livenessProbe: {exec: {}}", "", at + "livenessProbe.exec.command: Required value"},
		{"API-354", "livenessProbe: {httpGet: {}}", "", at + "livenessProbe.httpGet.port: Invalid value: 0: must be between 1 and 65535, inclusive"},
		{"API-354", "livenessProbe: {httpGet: {port: 80, scheme: FTP}}", "", at + `livenessProbe.httpGet.scheme: Unsupported value: "FTP": supported values: "HTTP", "HTTPS"`},
		{"API-354", "livenessProbe: {httpGet: {port: 80}, tcpSocket: {port: 80}}", "", at + "livenessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type"},
		{"API-354", "livenessProbe: {httpGet: {port: 80}, successThreshold: 2}", "", at + "livenessProbe.successThreshold: Invalid value: 2: must be 1"},
		{"API-354", "startupProbe: {httpGet: {port: 80}, periodSeconds: -1}", "", at + "startupProbe.periodSeconds: Invalid value: -1: must be greater than or equal to 0"},
		{"API-354", "readinessProbe: {httpGet: {port: 80}, terminationGracePeriodSeconds: 5}", "",
			at + "readinessProbe.terminationGracePeriodSeconds: Invalid value: 5: must not be set for readinessProbes"},
		{"API-354", "lifecycle: {postStart: {}}", "", at + "lifecycle.postStart: Required value: must specify a handler type"},
		{"API-354", "lifecycle: {preStop: {sleep: {seconds: 60}}}", "",
			at + "lifecycle.preStop.sleep: Invalid value: 60: must be non-negative and less than terminationGracePeriodSeconds (30)"},
		{"API-355", "env: [{name: A, valueFrom: {}}]", "", env + ": Invalid value: \"\": must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, " +
			"`secretKeyRef` or `fileKeyRef`"},
		{"API-355", "env: [{name: A, value: x, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]", "", env + ": Invalid value: \"\": may not be specified when `value` is not empty"},
		{"API-355", "env: [{name: A, valueFrom: {fieldRef: {fieldPath: spec.bogus}}}]", "",
			env + `.fieldRef.fieldPath: Invalid value: "spec.bogus": error converting fieldPath: field label not supported: spec.bogus`},
		{"API-355", "env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.labels}}}]", "", env + `.fieldRef.fieldPath: Unsupported value: "metadata.labels"`},
		{"API-355", "env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: '3'}}}]", "",
			env + `.resourceFieldRef.divisor: Invalid value: "limits.cpu": only divisor's values 1m and 1 are supported with the cpu resource`},
		{"API-355", "env: [{name: A, valueFrom: {secretKeyRef: {name: s}}}]", "", env + ".secretKeyRef.key: Required value"},
		{"API-355", "envFrom: [{}]", "", at + "envFrom: Invalid value: \"\": must specify one of: `configMapRef` or `secretRef`"},
		{"API-355", "envFrom: [{secretRef: {}}]", "", at + "envFrom[0].secretRef.name: Required value"},
		{"API-356", "securityContext: {runAsUser: -1}", "", at + "securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive"},
		{"API-356", "securityContext: {seccompProfile: {type: Localhost}}", "",
			at + "securityContext.seccompProfile.localhostProfile: Required value: must be set when seccomp type is Localhost"},
		{"API-356", "securityContext: {procMount: Some}", "", at + `securityContext.procMount: Unsupported value: "Some": supported values: "Default", "Unmasked"`},
		{"API-356", "", "securityContext: {fsGroup: -1}", "spec.securityContext.fsGroup: Invalid value: -1: must be between 0 and 2147483647, inclusive"},
		{"API-356", "", "securityContext: {fsGroupChangePolicy: Some}", `spec.securityContext.fsGroupChangePolicy: Unsupported value: "Some": supported values: "Always", "OnRootMismatch"`},
		{"API-356", "", "securityContext: {appArmorProfile: {type: Localhost}}",
			"spec.securityContext.appArmorProfile.localhostProfile: Required value: must be set when AppArmor type is Localhost"},
	} {
		container, pod := "{name: a, image: b}", ""
		if tt.container != "" {
			container = "{name: a, image: b, " + tt.container + "}"
		}
		if tt.pod != "" {
			pod = ", " + tt.pod
		}
		objs, err := store.ReadManifests([]byte("{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: default}, spec: {containers: [" + container + "]" + pod + "}}"))
		require.NoError(t, err, tt.rule)
		_, err = w.Create(objs[0])
		require.ErrorContains(t, err, tt.want, tt.rule)
	}
}
