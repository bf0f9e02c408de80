package store_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/manifests"
	"github.com/volsim/volsim/internal/core/plain"
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
		{"API-370", "", "hostAliases: [{ip: 010.0.0.1}]", "spec.hostAliases[0].ip: Invalid value: \"010.0.0.1\": must not have leading 0s"},
		{"API-370", "", "hostAliases: [{ip: 10.0.0.1, hostnames: [A]}]", "spec.hostAliases[0].hostnames[0]: Invalid value: \"A\""},
		{"API-370", "", "dnsPolicy: None", "spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None"},
		{"API-370", "", "dnsPolicy: None, dnsConfig: {}", "spec.dnsConfig.nameservers: Required value: must provide at least one DNS nameserver when `dnsPolicy` is None"},
		{"API-370", "", "dnsConfig: {nameservers: [1.1.1.1, 1.1.1.1, 1.1.1.1, 1.1.1.1]}", "must not have more than 3 nameservers"},
		{"API-370", "", "dnsConfig: {searches: [., _a., a..]}", "spec.dnsConfig.searches[2]: Invalid value: \"a.\""},
		{"API-370", "", "dnsConfig: {options: [{}]}", "spec.dnsConfig.options[0]: Required value: must not be empty"},
		{"API-370", "", "hostnameOverride: a, hostNetwork: true", "spec.hostnameOverride: Forbidden: may not be specified when hostNetwork is true"},
		{"API-370", "", "dnsPolicy: Some", `spec.dnsPolicy: Unsupported value: "Some": supported values: "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"`},
		{"API-371", "ports: [{containerPort: 80, hostPort: 81}]", "hostNetwork: true",
			at + "ports[0].hostPort: Invalid value: 81: must match `containerPort` when `hostNetwork` is true"},
		{"API-371", "ports: [{containerPort: 80, hostPort: 8}, {containerPort: 81, hostPort: 8}]", "", at + `ports[1].hostPort: Duplicate value: "TCP//8"`},
		{"API-371", "", "hostUsers: false, hostPID: true", "spec.HostPID: Forbidden: when `hostUsers` is false"},
		{"API-371", "", "hostPID: true, shareProcessNamespace: true", "spec.securityContext.shareProcessNamespace: Invalid value: true: ShareProcessNamespace and HostPID cannot"},
		{"API-371", "", "securityContext: {sysctls: [{name: a}, {name: a}]}", `spec.securityContext.sysctls[1].name: Duplicate value: "a"`},
		{"API-371", "", "securityContext: {sysctls: [{name: A}]}",
			`spec.securityContext.sysctls[0].name: Invalid value: "A": must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$`},
		{"API-371", "", "hostNetwork: true, securityContext: {sysctls: [{name: net/ipv4/x}]}", "Invalid value: \"net/ipv4/x\": may not be specified when 'hostNetwork' is true"},
		{"API-371", "", "hostIPC: true, securityContext: {sysctls: [{name: kernel.sem}]}", "Invalid value: \"kernel.sem\": may not be specified when 'hostIPC' is true"},
		{"API-372", "", "os: {name: mac}", `spec.os: Unsupported value: "mac": supported values: "linux", "windows"`},
		{"API-372", "securityContext: {windowsOptions: {}}", "os: {name: linux}", at + "securityContext.windowsOptions: Forbidden: windows options cannot be set for a linux pod"},
		{"API-372", "securityContext: {procMount: Default}", "os: {name: windows}", at + "securityContext.procMount: Forbidden: cannot be set for a windows pod"},
		{"API-372", "", "os: {name: windows}, resources: {limits: {cpu: 1}}", "spec.resources: Forbidden: may not be set for a windows pod"},
		{"API-372", "", `securityContext: {windowsOptions: {runAsUserName: a/b}}`, "runAsUserName's User cannot contain the following characters"},
		{"API-372", "", "securityContext: {windowsOptions: {gmsaCredentialSpec: " + strings.Repeat("x", 64*1024+1) + "}}", "gmsaCredentialSpec size must be under 64 KiB"},
		{"API-372", "", "securityContext: {windowsOptions: {hostProcess: true}}",
			"spec.hostNetwork: Invalid value: false: hostNetwork must be true if pod contains any hostProcess containers"},
		{"API-373", "", "readinessGates: [{conditionType: a b}]", "spec.readinessGates[0].conditionType: Invalid value: \"a b\""},
		{"API-373", "resizePolicy: [{resourceName: disk, restartPolicy: NotRequired}]", "", at + `resizePolicy: Unsupported value: "disk": supported values: "cpu", "memory"`},
		{"API-373", "resizePolicy: [{resourceName: cpu, restartPolicy: RestartContainer}]", "restartPolicy: Never",
			at + "resizePolicy: Invalid value: \"RestartContainer\": must be 'NotRequired' when pod `restartPolicy` is 'Never'"},
		{"API-373", "restartPolicyRules: [{action: Restart, exitCodes: {operator: In}}]", "", at + "restartPolicy: Required value: must specify restartPolicy when restart rules are used"},
		{"API-373", "restartPolicy: Never, restartPolicyRules: [{action: Restart}]", "", at + "restartPolicyRules[0].exitCodes: Required value: must be specified"},
		{"API-374", "", "resourceClaims: [{name: a}]",
			`spec.resourceClaims[0]: Invalid value: {"Name":"a","ResourceClaimName":null,"ResourceClaimTemplateName":null}: must specify one of`},
		{"API-374", "resources: {claims: [{name: b}]}", "resourceClaims: [{name: a, resourceClaimName: x}]",
			at + `resources.claims[0]: Not found: "b": must be one of the names in pod.spec.resourceClaims: a`},
		{"API-374", "resources: {claims: [{name: a, request: r}, {name: a}]}", "resourceClaims: [{name: a, resourceClaimName: x}]", at + `resources.claims[1]: Duplicate value: "a"`},
		{"API-375", "env: [{name: A, valueFrom: {fileKeyRef: {volumeName: v, path: p, key: K}}}]", "", env + `.fileKeyRef.volumeName: Not found: "v"`},
		{"API-375", "env: [{name: A, valueFrom: {fileKeyRef: {volumeName: v, path: ../p, key: K}}}]", "", env + `.fileKeyRef.path: Invalid value: "../p": must not contain '..'`},
		{"API-375", "securityContext: {privileged: true, allowPrivilegeEscalation: false}", "", "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"},
		{"API-375", "securityContext: {procMount: Unmasked}", "", at + "securityContext.procMount: Invalid value: \"Unmasked\": `hostUsers` must be false to use `Unmasked`"},
		{"API-375", "", "securityContext: {seLinuxChangePolicy: MountOption}", `spec.securityContext.seLinuxChangePolicy: Unsupported value: "MountOption": supported values: "Recursive"`},
		{"API-375", "", "overhead: {x: 1}", `spec.overhead.limits[x]: Invalid value: "x": must be a standard resource type or fully qualified`},
	} {
		container, pod := "{name: a, image: b}", ""
		if tt.container != "" {
			container = "{name: a, image: b, " + tt.container + "}"
		}
		if tt.pod != "" {
			pod = ", " + tt.pod
		}
		objs, err := manifests.Read([]byte("{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: default}, spec: {containers: [" + container + "]" + pod + "}}"))
		require.NoError(t, err, tt.rule)
		_, err = w.Create(objs[0])
		require.ErrorContains(t, err, tt.want, tt.rule)
	}
}

// TestPodFieldsStored: what becomes of fields of a pod, and of those of a template, that the server completes, changes or drops.
func TestPodFieldsStored(t *testing.T) {
	for _, tt := range []struct{ rule, container, pod, want, template string }{
		{"API-371", "ports: [{containerPort: 80}]", "hostNetwork: true", "port 80, grace 30, hooks false", "port 0, grace 30, hooks false"},
		{"API-371", "ports: [{containerPort: 80}]", "hostNetwork: false", "port 0, grace 30, hooks false", "port 0, grace 30, hooks false"},
		{"API-375", "ports: [{containerPort: 80}]", "terminationGracePeriodSeconds: -5", "port 0, grace 1, hooks false", "port 0, grace -5, hooks false"},
		{"API-375", "lifecycle: {stopSignal: SIGTERM}", "hostNetwork: false", "grace 30, hooks false", "grace 30, hooks false"},
		{"API-375", "lifecycle: {stopSignal: SIGTERM, preStop: {exec: {command: [a]}}}", "hostNetwork: false", "grace 30, hooks true", "grace 30, hooks true"},
		{"API-375", "lifecycle: {}", "hostNetwork: false", "grace 30, hooks true", "grace 30, hooks true"},
	} {
		w := newFixture(t)
		spec := "spec: {containers: [{name: a, image: b, " + tt.container + "}], " + tt.pod + "}"
		pod, err := w.Create(manifest(t, "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: default}, "+spec+"}"))
		require.NoError(t, err, tt.rule)
		require.Equal(t, tt.want, changedFields(&pod.(*corev1.Pod).Spec), tt.rule)
		stored := made(w, manifest(t, "{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: p, namespace: default}, spec: {selector: {matchLabels: {a: b}}, "+
			"template: {metadata: {labels: {a: b}}, "+spec+"}}}"))
		set, err := plain.As[*appsv1.ReplicaSet](stored)
		require.NoError(t, err)
		require.Equal(t, tt.template, changedFields(&set.Spec.Template.Spec), tt.rule)
	}
}

// manifest reads a manifest of one object.
func manifest(t *testing.T, text string) api.Object {
	t.Helper()
	objs, err := manifests.Read([]byte(text))
	require.NoError(t, err)
	require.Len(t, objs, 1)
	return objs[0]
}

// changedFields describes the fields that TestPodFieldsStored is about.
func changedFields(spec *corev1.PodSpec) string {
	text := ""
	for _, port := range spec.Containers[0].Ports {
		text += fmt.Sprintf("port %d, ", port.HostPort)
	}
	return text + fmt.Sprintf("grace %d, hooks %t", *spec.TerminationGracePeriodSeconds, spec.Containers[0].Lifecycle != nil)
}

// TestTemplateImage: only a template may have an image with spaces around it (API-375).
func TestTemplateImage(t *testing.T) {
	w := newFixture(t)
	const spec = "spec: {containers: [{name: a, image: ' b'}]}"
	_, err := w.Create(manifest(t, "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: default}, "+spec+"}"))
	require.ErrorContains(t, err, `spec.containers[0].image: Invalid value: " b": must not have leading or trailing whitespace`, "API-375")
	made(w, manifest(t, "{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: p, namespace: default}, spec: {selector: {matchLabels: {a: b}}, "+
		"template: {metadata: {labels: {a: b}}, "+spec+"}}}"))
}
