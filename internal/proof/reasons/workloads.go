package reasons

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/explain"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/manifests"
	"github.com/volsim/volsim/internal/core/plain"
)

// manifest reads a workload named db whose uid is that of owned pods. It panics if the table is wrong.
func manifest(kind, version, fields string) *plain.Object {
	text := fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: db, namespace: default, uid: w1}, %s}", version, kind, fields)
	all, err := manifests.Read([]byte(text))
	if err != nil {
		panic(fmt.Sprintf("reasons: %s: %v", text, err))
	}
	obj, err := plain.From(all[0])
	if err != nil {
		panic(fmt.Sprintf("reasons: %s: %v", text, err))
	}
	return obj
}

// owned returns a pod of the workload w1; ready, unless it has no node.
func owned(kind, name, node string) *corev1.Pod {
	return With(fake.Pod(name, fake.OnNode(node), fake.UID("u1")), func(pod *corev1.Pod) {
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: "db", UID: "w1", Controller: new(true)}}
		pod.Status.Phase = corev1.PodPending
		if node != "" {
			pod.Status.Phase = corev1.PodRunning
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		}
	})
}

// failed is the Event of a workload whose pod cannot be created.
func failed(kind, message string) *corev1.Event {
	return &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "e1"}, Reason: "FailedCreate", Type: corev1.EventTypeWarning, Message: message,
		InvolvedObject: corev1.ObjectReference{APIVersion: "apps/v1", Kind: kind, Namespace: "default", Name: "db", UID: "w1"}, LastTimestamp: metav1.NewTime(Now)}
}

// Workloads ask about StatefulSets, Deployments and so on.
func Workloads() []Row {
	const template = "template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}"
	const seen = "status: {observedGeneration: 1}" // without it a dump may lack the pods
	set := func(fields string) *plain.Object {
		return manifest("StatefulSet", "apps/v1", "spec: {serviceName: db, selector: {matchLabels: {a: b}}, "+template+", "+fields+"}, "+seen)
	}
	three := set("replicas: 3")
	data := set("replicas: 1, volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]")
	node := ManagedNode("n1", true, true)
	cordoned := With(node.DeepCopy(), func(node *corev1.Node) { node.Spec.Unschedulable = true })
	first := owned("StatefulSet", "db-0", "n1")
	replicas := func(n int) *plain.Object {
		return manifest("ReplicaSet", "apps/v1", fmt.Sprintf("spec: {replicas: %d, selector: {matchLabels: {a: b}}, %s}, %s", n, template, seen))
	}
	daemons := manifest("DaemonSet", "apps/v1", "spec: {selector: {matchLabels: {a: b}}, "+template+"}, status: {observedGeneration: 1, desiredNumberScheduled: 1}")
	job := func(fields, status string) *plain.Object {
		return manifest("Job", "batch/v1", "spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}, "+fields+"}, status: {startTime: '2026-01-01T00:00:00Z', "+status+"}")
	}
	const quota = `pods "x" is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2`
	automatic, settled := explain.Automatic, explain.Settled
	var rows []Row
	add := func(ask string, more ...Row) { rows = append(rows, asking(ask, more)...) }
	add("sts/db", []Row{
		{Rule: "STS-020", Name: "all pods are ready", Objs: []api.Object{set("replicas: 1"), first, node}, When: settled},
		{Rule: "STS-020", Name: "its first pod is missing", Objs: []api.Object{three}, When: automatic, Actor: actors.StatefulSet},
		{Rule: "QUO-020", Name: "a quota forbids a pod", Objs: []api.Object{three, first, node, failed("StatefulSet", quota)}, Actor: Admin},
		{Rule: "QUO-021", Name: "a quota wants limits", Objs: []api.Object{three, failed("StatefulSet", "failed quota: q: must specify limits.cpu for: c")}, Actor: Admin},
		{Rule: "STS-020", Name: "a webhook forbids a pod", Objs: []api.Object{three, failed("StatefulSet", "admission webhook denied the request")}, Actor: Admin},
		{Rule: "STS-020", Name: "a pod has no node", Objs: []api.Object{three, first, owned("StatefulSet", "db-1", ""), cordoned}, Root: "SCHED-024"},
		{Rule: "STS-022", Name: "a pod is being deleted on a node that does not respond",
			Objs: []api.Object{three, Deleting(owned("StatefulSet", "db-0", "n1")), NotReady(ManagedNode("n1", true, true))}, Root: "ATT-195"},
		{Rule: "STS-023", Name: "a pod has failed", Objs: []api.Object{three, With(owned("StatefulSet", "db-0", "n1"), func(pod *corev1.Pod) {
			pod.Status.Phase = corev1.PodFailed
		}), node}, When: automatic, Actor: actors.StatefulSet},
		{Rule: "STS-021", Name: "a claim is being deleted",
			Objs: []api.Object{data, Deleting(fake.Claim("data-db-0", "1Gi"), "example.com/keep")}, Root: "BIND-016"},
		{Rule: "STS-027", Name: "a surplus pod", Objs: []api.Object{set("replicas: 0"), first, node}, When: automatic, Actor: actors.StatefulSet},
		{Rule: "GC-020", Name: "it is deleted in the foreground", Objs: []api.Object{Deleting(set("replicas: 0"), metav1.FinalizerDeleteDependents)},
			When: automatic, Actor: actors.GarbageCollector},
		{Rule: "BIND-016", Name: "another finalizer", Objs: []api.Object{Deleting(set("replicas: 0"), "example.com/keep")}, Actor: Admin},
	}...)
	add("rs/db", []Row{
		{Rule: "RS-020", Name: "all pods are ready", Objs: []api.Object{replicas(1), owned("ReplicaSet", "a", "n1"), node}, When: settled},
		{Rule: "RS-020", Name: "a pod is missing", Objs: []api.Object{replicas(1)}, When: automatic, Actor: actors.ReplicaSet},
		{Rule: "RS-020", Name: "RS-021: a pod that is being deleted has a successor", When: settled,
			Objs: []api.Object{replicas(1), owned("ReplicaSet", "a", "n1"), Deleting(owned("ReplicaSet", "b", "n2")), node}},
		{Rule: "QUO-020", Name: "a quota forbids a pod", Objs: []api.Object{replicas(2), owned("ReplicaSet", "a", "n1"), node, failed("ReplicaSet", quota)},
			Actor: Admin},
		{Rule: "RS-020", Name: "a pod has no node", Objs: []api.Object{replicas(1), owned("ReplicaSet", "a", "")}, Root: "SCHED-022"},
	}...)
	add("ds/db", Row{Rule: "DS-020", Name: "a pod that is being deleted blocks its successor", Root: "ATT-195",
		Objs: []api.Object{daemons, Deleting(owned("DaemonSet", "a", "n1")), NotReady(ManagedNode("n1", true, true))}})
	add("job/db", []Row{
		{Rule: "JOB-053", Name: "it is complete", Objs: []api.Object{job("", "conditions: [{type: Complete, status: 'True'}]")}, When: settled},
		{Rule: "JOB-055", Name: "it has failed", Objs: []api.Object{job("", "conditions: [{type: Failed, status: 'True', reason: BackoffLimitExceeded}]")},
			When: settled},
		{Rule: "JOB-024", Name: "it is suspended", Objs: []api.Object{job("suspend: true", "")}, Actor: Admin},
		{Rule: "JOB-020", Name: "its pod runs", Objs: []api.Object{job("", ""), owned("Job", "a", "n1"), node}, When: settled},
		{Rule: "JOB-020", Name: "its pod has no node", Objs: []api.Object{job("", ""), owned("Job", "a", "")}, Root: "SCHED-022"},
		{Rule: "JOB-020", Name: "its pod is missing", Objs: []api.Object{job("", "")}, When: automatic, Actor: actors.Job},
	}...)
	deployment := func(fields, status string) *plain.Object {
		return manifest("Deployment", "apps/v1", "spec: {replicas: 1, selector: {matchLabels: {a: b}}, "+template+", "+fields+"}, status: {observedGeneration: 1, "+status+"}")
	}
	of := func(kind, set string) func(*plain.Object) {
		return func(obj *plain.Object) {
			obj.Name, obj.UID = "db-1", "w2"
			obj.OwnerReferences = []metav1.OwnerReference{{APIVersion: set, Kind: kind, Name: "db", UID: "w1", Controller: new(true)}}
		}
	}
	inSet := func(pod *corev1.Pod) { pod.OwnerReferences[0].Name, pod.OwnerReferences[0].UID = "db-1", "w2" }
	waiting := With(owned("ReplicaSet", "a", ""), inSet)
	leaving := With(Deleting(owned("ReplicaSet", "a", "n1")), inSet)
	add("deploy/db", []Row{
		{Rule: "DEP-030", Name: "all pods are ready", Objs: []api.Object{deployment("", "readyReplicas: 1, updatedReplicas: 1"),
			With(replicas(1), of("Deployment", "apps/v1")), With(owned("ReplicaSet", "a", "n1"), inSet), node}, When: settled},
		{Rule: "DEP-030", Name: "a pod of its set has no node", Root: "SCHED-022",
			Objs: []api.Object{deployment("", "updatedReplicas: 1"), With(replicas(1), of("Deployment", "apps/v1")), waiting}},
		{Rule: "DEP-030", Name: "DEP-040: an old pod is being deleted on a node that does not respond", Root: "ATT-195", Actor: actors.Deployment,
			Objs: []api.Object{deployment("strategy: {type: Recreate}", "readyReplicas: 0"), With(replicas(0), of("Deployment", "apps/v1")), leaving,
				NotReady(ManagedNode("n1", true, true))}},
		{Rule: "DEP-030", Name: "it has no set yet", Objs: []api.Object{deployment("", ""), With(replicas(0), of("Deployment", "apps/v1"))},
			When: automatic, Actor: actors.Deployment},
		{Rule: "DEP-060", Name: "it is paused", Objs: []api.Object{deployment("paused: true", ""), With(replicas(0), of("Deployment", "apps/v1"))}, Actor: Admin},
	}...)
	cron := func(fields string) *plain.Object {
		return manifest("CronJob", "batch/v1", "spec: {schedule: '*/5 * * * *', jobTemplate: {spec: {"+template+"}}, "+fields+"}")
	}
	add("cj/db", []Row{
		{Rule: "JOB-091", Name: "no Job has a problem", Objs: []api.Object{cron("")}, When: settled},
		{Rule: "JOB-123", Name: "it is suspended", Objs: []api.Object{cron("suspend: true")}, When: settled},
		{Rule: "JOB-091", Name: "a pod of its Job has no node", Root: "SCHED-022",
			Objs: []api.Object{cron(""), With(job("", ""), of("CronJob", "batch/v1")), With(owned("Job", "a", ""), inSet)}},
	}...)
	for i := range rows {
		rows[i].Objs = append(rows[i].Objs, fake.Class("std", Driver)) // a dump has an object of a simulated kind
	}
	return rows
}
