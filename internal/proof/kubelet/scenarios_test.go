package kubelet

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// scenario is a namespace with what happens in it.
type scenario struct {
	name  string
	steps []step
}

// step is what a user does, and how long nothing happens after it.
type step struct {
	do   func(*testing.T, side, string)
	wait time.Duration
}

var (
	graceful = metav1.DeleteOptions{}
	atOnce   = metav1.DeleteOptions{GracePeriodSeconds: new(int64)}
)

// Times after which a kubelet has done what it does at once, and has tried again what failed.
const (
	soon  = 8 * time.Second
	later = 22 * time.Second
)

var scenarios = []scenario{
	{"plain", []step{
		{create(pod("p", `containers: [{name: c, image: i}, {name: a, image: i}]`)), soon},
		{remove("p", graceful), soon},
	}},
	{"init", []step{
		{create(pod("p", `initContainers: [{name: first, image: i, env: [{name: EXIT_CODE, value: "0"}]}], containers: [{name: c, image: i}]`)), soon},
		{remove("p", graceful), soon},
	}},
	{"sidecar", []step{
		{create(pod("p", `initContainers: [{name: first, image: i, restartPolicy: Always}], containers: [{name: c, image: i}]`)), soon},
		{remove("p", graceful), soon},
	}},
	{"succeeds", []step{
		{create(job("p", "0", `restartPolicy: Never, containers: [{name: c, image: i, ENV}]`)), soon},
		{remove("p", graceful), soon},
	}},
	{"fails", []step{
		{create(job("p", "1", `restartPolicy: Never, containers: [{name: c, image: i, ENV}]`)), soon},
		{remove("p", graceful), soon},
	}},
	{"job-with-sidecar", []step{
		{create(job("p", "0", `restartPolicy: Never, initContainers: [{name: first, image: i, restartPolicy: Always}], containers: [{name: c, image: i, ENV}]`)), soon},
		{remove("p", graceful), soon},
	}},
	{"missing-secret", []step{
		{create(pod("p", `containers: [{name: c, image: i, envFrom: [{secretRef: {name: s}}]}]`)), later},
		{create(`{apiVersion: v1, kind: Secret, metadata: {name: s}}`), later},
		{remove("p", graceful), soon},
	}},
	{"missing-secret-key", []step{
		{create(`{apiVersion: v1, kind: Secret, metadata: {name: s}}`), 0},
		{create(pod("p", `containers: [{name: c, image: i, env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}]}]`)), later},
		{remove("p", graceful), later},
	}},
	{"missing-in-one-container", []step{
		{create(pod("p", `containers: [{name: c, image: i, envFrom: [{secretRef: {name: s}}]}, {name: d, image: i}]`)), later},
		{remove("p", graceful), later},
	}},
	{"missing-in-sidecar", []step{
		{create(pod("p", `initContainers: [{name: first, image: i, restartPolicy: Always, envFrom: [{secretRef: {name: s}}]}], containers: [{name: d, image: i}]`)), later},
		{remove("p", graceful), later},
	}},
	{"missing-after-sidecar", []step{
		{create(pod("p", `initContainers: [{name: first, image: i, restartPolicy: Always}], containers: [{name: d, image: i, envFrom: [{secretRef: {name: s}}]}]`)), later},
		{remove("p", graceful), later},
	}},
	{"missing-then-found-in-one-container", []step{
		{create(pod("p", `containers: [{name: c, image: i, envFrom: [{secretRef: {name: s}}]}, {name: d, image: i}]`)), later},
		{create(`{apiVersion: v1, kind: Secret, metadata: {name: s}}`), later},
		{remove("p", graceful), soon},
	}},
	{"missing-key", []step{
		{create(`{apiVersion: v1, kind: ConfigMap, metadata: {name: cm}, data: {k: v}}`), 0},
		{create(pod("p", `containers: [{name: c, image: i, env: [{name: A, valueFrom: {configMapKeyRef: {name: cm, key: x}}}]}]`)), later},
		{remove("p", graceful), later},
	}},
	{"missing-in-init", []step{
		{create(pod("p", `initContainers: [{name: first, image: i, envFrom: [{configMapRef: {name: cm}}]}], containers: [{name: c, image: i}]`)), later},
		{remove("p", graceful), later},
	}},
	{"missing-never-restarted", []step{
		{create(pod("p", `restartPolicy: Never, containers: [{name: c, image: i, envFrom: [{configMapRef: {name: cm}}]}]`)), later},
		{remove("p", graceful), later},
	}},
	{"missing-deleted-at-once", []step{
		{create(pod("p", `containers: [{name: c, image: i, envFrom: [{configMapRef: {name: cm}}]}]`)), later},
		{remove("p", atOnce), soon},
	}},
	{"optional", []step{
		{create(pod("p", `containers: [{name: c, image: i, envFrom: [{configMapRef: {name: cm, optional: true}}, {secretRef: {name: s, optional: true}}],
			env: [{name: A, valueFrom: {configMapKeyRef: {name: cm, key: k, optional: true}}}, {name: B, valueFrom: {secretKeyRef: {name: s, key: k, optional: true}}}]}]`)), soon},
		{remove("p", atOnce), soon},
	}},
	{"missing-volume", []step{
		{create(pod("p", `containers: [{name: c, image: i, volumeMounts: [{name: v, mountPath: /v}]}], volumes: [{name: v, configMap: {name: cm}}]`)), later},
		{remove("p", graceful), later},
	}},
	{"claim", []step{
		{create(claim("data", "standard")), 0},
		{create(pod("p", `containers: [{name: c, image: i, volumeMounts: [{name: v, mountPath: /v}]}], volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]`)), later},
		{remove("p", graceful), later},
	}},
	{"no-claim", []step{
		{create(pod("p", `nodeName: n1, containers: [{name: c, image: i, volumeMounts: [{name: v, mountPath: /v}]}], volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]`)), later},
		{remove("p", graceful), later},
	}},
	{"pending-claim", []step{
		{create(claim("data", "absent")), 0},
		{create(pod("p", `nodeName: n1, containers: [{name: c, image: i, volumeMounts: [{name: v, mountPath: /v}]}], volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]`)), later},
		{remove("p", graceful), later},
	}},
	{"shared-claim", []step{
		{create(claim("data", "standard")), 0},
		{create(pod("a", `containers: [{name: c, image: i, volumeMounts: [{name: v, mountPath: /v}]}], volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]`)), later},
		{create(pod("b", `containers: [{name: c, image: i, volumeMounts: [{name: v, mountPath: /v}]}], volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]`)), later},
		{remove("a", graceful), later},
		{remove("b", graceful), later},
	}},
	{"ephemeral-volume", []step{
		{create(pod("p", `containers: [{name: c, image: i, volumeMounts: [{name: v, mountPath: /v}]}], volumes: [{name: v, ephemeral: {volumeClaimTemplate: {spec: {
			accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}}]`)), later},
		{remove("p", graceful), later},
	}},
	{"projected", []step{
		{create(`{apiVersion: v1, kind: ConfigMap, metadata: {name: cm}, data: {k: v}}`), 0},
		{create(pod("p", `containers: [{name: c, image: i, volumeMounts: [{name: v, mountPath: /v}]}], volumes: [{name: v, projected: {sources: [
			{secret: {name: s}}, {configMap: {name: cm, items: [{key: x, path: x}]}}, {configMap: {name: other, optional: true}}]}}]`)), later},
		{remove("p", graceful), later},
	}},
	{"unused-volume", []step{
		{create(pod("p", `containers: [{name: c, image: i}], volumes: [{name: v, configMap: {name: cm}}, {name: e, emptyDir: {}}]`)), soon},
		{remove("p", graceful), soon},
	}},
	{"second-init", []step{
		{create(pod("p", `initContainers: [{name: first, image: i, env: [{name: EXIT_CODE, value: "0"}]}, {name: second, image: i, envFrom: [{secretRef: {name: s}}]}, {name: third, image: i}],
			containers: [{name: c, image: i}]`)), 2 * later},
		{remove("p", graceful), later},
	}},
	{"two-sidecars", []step{
		{create(pod("p", `initContainers: [{name: z, image: i, restartPolicy: Always}, {name: first, image: i, env: [{name: EXIT_CODE, value: "0"}]}, {name: x, image: i, restartPolicy: Always}],
			containers: [{name: c, image: i}, {name: b, image: i}]`)), later},
		{remove("p", graceful), soon},
	}},
	{"host-network", []step{
		{create(pod("p", `hostNetwork: true, containers: [{name: c, image: i}]`)), soon},
		{remove("p", graceful), soon},
	}},
	{"debugged", []step{
		{create(pod("p", `containers: [{name: c, image: i}]`)), soon},
		{debug("p"), soon},
		{remove("p", graceful), soon},
	}},
	{"debugged-before-start", []step{
		{create(pod("p", `containers: [{name: c, image: i, envFrom: [{secretRef: {name: s}}]}]`)), soon},
		{debug("p"), later},
		{remove("p", graceful), soon},
	}},
	{"deadline", []step{
		{create(pod("p", `activeDeadlineSeconds: 5, containers: [{name: c, image: i}]`)), later},
		{remove("p", graceful), soon},
	}},
	{"deadline-while-waiting", []step{
		{create(pod("p", `activeDeadlineSeconds: 5, containers: [{name: c, image: i, volumeMounts: [{name: v, mountPath: /v}]}], volumes: [{name: v, configMap: {name: cm}}]`)), later},
		{remove("p", graceful), soon},
	}},
	{"kept-by-finalizer", []step{
		{create(`{apiVersion: v1, kind: Pod, metadata: {name: p, finalizers: [example.com/keep]}, spec: {containers: [{name: c, image: i}]}}`), soon},
		{remove("p", graceful), soon},
	}},
	{"path-of-no-variable", []step{
		{create(pod("p", `containers: [{name: c, image: i, volumeMounts: [{name: v, mountPath: /v, subPathExpr: "$(B)/$(A)"}]}], volumes: [{name: v, emptyDir: {}}]`)), later},
		{remove("p", graceful), later},
	}},
	{"absolute-path", []step{
		{create(pod("p", `containers: [{name: c, image: i, env: [{name: A, value: /tmp}], volumeMounts: [{name: v, mountPath: /v, subPathExpr: $(A)}]}], volumes: [{name: v, emptyDir: {}}]`)), later},
		{remove("p", graceful), later},
	}},
	{"path-out-of-the-volume", []step{
		{create(pod("p", `containers: [{name: c, image: i, env: [{name: A, value: ..}], volumeMounts: [{name: v, mountPath: /v, subPathExpr: "a/$(A)"}]}], volumes: [{name: v, emptyDir: {}}]`)), later},
		{remove("p", graceful), later},
	}},
	{"path-of-a-name", []step{
		{create(pod("p", `containers: [{name: c, image: i, env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}}, {name: B, value: "$(A)-$(C)"}], volumeMounts: [{name: v, mountPath: /v, subPathExpr: "$(B)"}]}], volumes: [{name: v, emptyDir: {}}]`)), later},
		{remove("p", graceful), later},
	}},
	{"wrong-node", []step{
		{create(pod("p", `nodeName: n1, nodeSelector: {a: b}, containers: [{name: c, image: i}]`)), soon},
		{label("p"), soon},
		{remove("p", graceful), soon},
	}},
	{"wrong-node-with-volumes", []step{
		{create(claim("data", "standard")), 0},
		{create(pod("p", `nodeName: n1, nodeSelector: {a: b}, initContainers: [{name: first, image: i}], containers: [{name: c, image: i, volumeMounts: [{name: v, mountPath: /v}]}],
			volumes: [{name: v, persistentVolumeClaim: {claimName: data}}], readinessGates: [{conditionType: example.com/ok}]`)), later},
		{label("p"), soon},
		{remove("p", atOnce), soon},
	}},
	{"wrong-node-by-affinity", []step{
		{create(pod("p", `nodeName: n1, affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [
			{matchExpressions: [{key: a, operator: Exists}]}]}}}, containers: [{name: c, image: i}]`)), soon},
		{remove("p", graceful), soon},
	}},
	{"wrong-node-kept-by-finalizer", []step{
		{create(`{apiVersion: v1, kind: Pod, metadata: {name: p, finalizers: [example.com/keep]}, spec: {nodeName: n1, nodeSelector: {a: b}, containers: [{name: c, image: i}]}}`), soon},
		{remove("p", graceful), soon},
	}},
	{"wrong-system", []step{
		{create(pod("p", `nodeName: n1, os: {name: windows}, containers: [{name: c, image: i}]`)), soon},
		{remove("p", graceful), soon},
	}},
	{"wrong-system-by-label", []step{
		{create(`{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {kubernetes.io/os: windows}}, spec: {nodeName: n1, containers: [{name: c, image: i}]}}`), soon},
		{remove("p", graceful), soon},
	}},
	{"taken-port", []step{
		{create(pod("a", `nodeName: n1, containers: [{name: c, image: i, ports: [{containerPort: 80, hostPort: 8080}]}]`)), soon},
		{create(pod("b", `nodeName: n1, containers: [{name: c, image: i, ports: [{containerPort: 81, hostPort: 8080, hostIP: 127.0.0.1}]}]`)), soon},
		{create(pod("d", `nodeName: n1, containers: [{name: c, image: i, ports: [{containerPort: 81, hostPort: 8080, protocol: UDP}]}]`)), soon},
		{remove("a", graceful), soon},
		{create(pod("e", `nodeName: n1, nodeSelector: {a: b}, containers: [{name: c, image: i, ports: [{containerPort: 81, hostPort: 8080}]}]`)), soon},
	}},
	{"taken-port-of-sidecar", []step{
		{create(pod("a", `nodeName: n1, hostNetwork: true, initContainers: [{name: z, image: i, restartPolicy: Always, ports: [{containerPort: 8081}]}], containers: [{name: c, image: i}]`)), soon},
		{create(pod("b", `nodeName: n1, containers: [{name: c, image: i, ports: [{containerPort: 81, hostPort: 8081}]}]`)), soon},
	}},
	{"too-little-cpu", []step{
		{create(pod("p", `nodeName: n1, nodeSelector: {a: b}, containers: [{name: c, image: i, resources: {requests: {cpu: "1000", memory: 100Ti}}}]`)), soon},
		{remove("p", graceful), soon},
	}},
	{"too-little-memory", []step{
		{create(pod("p", `nodeName: n1, containers: [{name: c, image: i, resources: {requests: {memory: 100Ti}}}]`)), soon},
		{remove("p", graceful), soon},
	}},
	{"preempted", []step{
		{create(pod("a", `nodeName: n1, containers: [{name: c, image: i, resources: {limits: {example.com/token: 2}}}]`)), soon},
		{create(pod("b", `nodeName: n1, containers: [{name: c, image: i, resources: {limits: {example.com/token: 1}}}]`)), soon},
		{create(pod("d", `nodeName: n1, priorityClassName: system-node-critical, containers: [{name: c, image: i, resources: {limits: {example.com/token: 3}}}]`)), soon},
		{create(pod("e", `nodeName: n1, priorityClassName: system-node-critical, containers: [{name: c, image: i, resources: {limits: {example.com/token: 1}}}]`)), later},
		{create(pod("f", `nodeName: n1, containers: [{name: c, image: i, resources: {limits: {example.com/token: 1}}}]`)), soon},
		{create(pod("g", `nodeName: n1, nodeSelector: {a: b}, priorityClassName: system-node-critical, containers: [{name: c, image: i, resources: {limits: {example.com/token: 3}}}]`)), soon},
	}},
	{"sysctls", []step{
		{create(pod("p", `nodeName: n1, securityContext: {sysctls: [{name: kernel.shm_rmid_forced, value: "0"}]}, containers: [{name: c, image: i}]`)), soon},
		{create(pod("q", `nodeName: n1, securityContext: {sysctls: [{name: kernel.msgmax, value: "10000000000"}]}, containers: [{name: c, image: i}]`)), soon},
		{remove("q", graceful), soon},
	}},
	{"no-device", []step{
		{create(pod("p", `nodeName: n1, containers: [{name: c, image: i, resources: {limits: {example.com/gpu: 1}}}]`)), soon},
		{remove("p", graceful), soon},
	}},
	{"gate", []step{
		{create(pod("p", `readinessGates: [{conditionType: example.com/ok}], containers: [{name: c, image: i}]`)), soon},
		{remove("p", graceful), soon},
	}},
}

// job is the manifest of a pod that exits soon with a code.
func job(name, code, spec string) string {
	spec = strings.ReplaceAll(spec, "ENV", `env: [{name: EXIT_CODE, value: "`+code+`"}]`)
	phase := "Succeeded"
	if code != "0" {
		phase = "Failed"
	}
	return `{apiVersion: v1, kind: Pod, metadata: {name: ` + name + `, annotations: {volsim.dev/run-for: 3s, volsim.dev/exit-phase: ` + phase + `}}, spec: {` + spec + `}}`
}

// pod is the manifest of a pod.
func pod(name, spec string) string {
	return `{apiVersion: v1, kind: Pod, metadata: {name: ` + name + `}, spec: {automountServiceAccountToken: false, ` + spec + `}}`
}

// claim is the manifest of a PersistentVolumeClaim.
func claim(name, class string) string {
	return `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: ` + name + `}, spec: {storageClassName: ` + class +
		`, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`
}
