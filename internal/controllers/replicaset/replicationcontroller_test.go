package replicaset_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/controllers/replicaset"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/proof/rig"
	"github.com/volsim/volsim/trace"
)

// ReplicationControllers have the same controller (RS-070), and their own defaults and validation (RS-071, RS-072).
func TestReplicationController(t *testing.T) {
	f := fixture{rig.New(t, engine.Config{})}
	sets, err := f.Store().Other(replicaset.ReplicationControllers)
	f.OK(err)
	_, err = replicaset.NewReplicationController(f.Engine, sets)
	f.OK(err)
	newRC := func(edits ...func(*corev1.ReplicationController)) *corev1.ReplicationController {
		set := newSet(2)
		rc := &corev1.ReplicationController{ObjectMeta: set.ObjectMeta}
		rc.Spec.Replicas, rc.Spec.Template = set.Spec.Replicas, &set.Spec.Template
		for _, edit := range edits {
			edit(rc)
		}
		return rc
	}
	for _, row := range []struct {
		rule string
		edit func(*corev1.ReplicationController)
		want string
	}{
		{"RS-072", func(rc *corev1.ReplicationController) { rc.Spec.MinReadySeconds = -1 }, "spec.minReadySeconds: Invalid value: -1"},
		{"RS-072", func(rc *corev1.ReplicationController) { rc.Spec.Replicas = new(int32(-1)) }, "spec.replicas: Invalid value: -1"},
		{"RS-072", func(rc *corev1.ReplicationController) { rc.Spec.Template = nil }, "[spec.selector: Required value, spec.template: Required value]"},
		{"RS-072", func(rc *corev1.ReplicationController) { rc.Spec.Selector = map[string]string{"a": "b"} },
			"spec.template.metadata.labels: Invalid value: {\"app\":\"web\"}: `selector` does not match template `labels`"},
		{"RS-072", func(rc *corev1.ReplicationController) { rc.Spec.Template.Spec.RestartPolicy = "Never" }, `Unsupported value: "Never": supported values: "Always"`},
		{"RS-072", func(rc *corev1.ReplicationController) { rc.Spec.Template.Spec.ActiveDeadlineSeconds = new(int64(1)) },
			"activeDeadlineSeconds in ReplicationController is not Supported"},
	} {
		if _, err := f.Store().Create(newRC(row.edit)); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: error = %v, want %s", row.rule, err, row.want)
		}
	}
	stored := func() *corev1.ReplicationController {
		obj, err := f.Store().Get(replicaset.ReplicationControllers, "default/web")
		f.OK(err)
		rc, err := plain.As[*corev1.ReplicationController](obj)
		f.OK(err)
		return rc
	}
	f.Create(newRC(), newPod("orphan"))
	f.want("RS-071", "defaults", fmt.Sprint(stored().Spec.Selector, stored().Labels, " ", stored().Spec.Template.Spec.DNSPolicy), "map[app:web] map[app:web] ClusterFirst")
	f.Settle(time.Minute)
	f.want("RS-070", "status", fmt.Sprint(stored().Status.Replicas, stored().Status.FullyLabeledReplicas, stored().Status.ObservedGeneration), "2 2 1")
	owners := map[string]bool{}
	for _, pod := range f.Store().Pods.List() {
		owners[pod.OwnerReferences[0].APIVersion+" "+pod.OwnerReferences[0].Kind] = true
	}
	f.want("RS-070", "pods", fmt.Sprint(len(f.Store().Pods.List()), owners), "2 map[v1 ReplicationController:true]")
	_, err = f.Store().Patch(replicaset.ReplicationControllers, "default/web", []byte(`{"spec":{"replicas":0}}`), api.Main)
	f.OK(err)
	f.Settle(time.Minute)
	f.want("RS-070", "scaled", fmt.Sprint(len(f.Store().Pods.List()), stored().Status.Replicas), "0 0")
	created := 0
	for e := range f.Trace().Entries() {
		if e.Type == trace.Emitted && e.Reason == "SuccessfulCreate" && e.Actor == "replication-controller" {
			created++
		}
	}
	f.want("RS-070", "Events", fmt.Sprint(created), "1")
}

// RS-073: pods per node are counted for ReplicaSets only.
func TestReplicationControllerRank(t *testing.T) {
	f := fixture{rig.New(t, engine.Config{})}
	sets, err := f.Store().Other(replicaset.ReplicationControllers)
	f.OK(err)
	_, err = replicaset.NewReplicationController(f.Engine, sets)
	f.OK(err)
	set := newSet(3)
	rc := &corev1.ReplicationController{ObjectMeta: set.ObjectMeta}
	rc.Spec.Replicas, rc.Spec.Template = set.Spec.Replicas, &set.Spec.Template
	rc.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps.openshift.io/v1", Kind: "DeploymentConfig", Name: "web", UID: "1234", Controller: new(true)}}
	on := func(node string, restarts int32) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.Spec.NodeName = node
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", RestartCount: restarts}}
		}
	}
	f.Load(newPod("a", on("n1", 1)), newPod("b", on("n2", 0)), newPod("c", on("n2", 0)))
	f.Create(rc)
	f.Advance(time.Second)
	_, err = f.Store().Patch(replicaset.ReplicationControllers, "default/web", []byte(`{"spec":{"replicas":2}}`), api.Main)
	f.OK(err)
	f.Advance(time.Second)
	f.want("RS-073", "Events", fmt.Sprint(f.events()), "[SuccessfulDelete: Deleted pod: a]")
}
