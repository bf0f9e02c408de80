package replicaset

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/plain"
)

// kind is a kind of sets. Its objects are handled as ReplicaSets (RS-070).
type kind struct {
	of                         api.Kind
	apiVersion, name, resource string
	actor, queueName           string
	// set returns an object as a ReplicaSet that shares its fields, and withStatus an object with a status, for an update.
	set        func(obj *plain.Object) *appsv1.ReplicaSet
	withStatus func(set *appsv1.ReplicaSet, status appsv1.ReplicaSetStatus) api.Object
	// consistent: the controller waits until its informers have its own writes (RS-011). terminating: the status counts terminating pods (RS-040).
	// ranked: the pods of the sets of one controller are counted per node (RS-073).
	consistent, terminating, ranked bool
}

var replicaSets = kind{
	of: Kind, apiVersion: "apps/v1", name: "ReplicaSet", resource: "replicasets", actor: actors.ReplicaSet, queueName: "replicaset",
	set: plain.Shared[*appsv1.ReplicaSet],
	withStatus: func(set *appsv1.ReplicaSet, status appsv1.ReplicaSetStatus) api.Object {
		c := set.DeepCopy()
		c.APIVersion, c.Kind, c.Status = "apps/v1", "ReplicaSet", status
		return c
	},
	consistent: true, terminating: true, ranked: true,
}

// RS-070: ReplicationControllers have no terminating replicas, and their controller does not wait for its own writes.
var replicationControllers = kind{
	of: ReplicationControllers, apiVersion: "v1", name: "ReplicationController", resource: "replicationcontrollers",
	actor: actors.ReplicationController, queueName: "replicationmanager",
	set: asReplicaSet, withStatus: asReplicationController,
}

// asReplicaSet returns a ReplicationController as a ReplicaSet.
func asReplicaSet(obj *plain.Object) *appsv1.ReplicaSet {
	rc := plain.Shared[*corev1.ReplicationController](obj)
	set := &appsv1.ReplicaSet{ObjectMeta: rc.ObjectMeta}
	set.Spec.Replicas, set.Spec.MinReadySeconds = rc.Spec.Replicas, rc.Spec.MinReadySeconds
	if rc.Spec.Selector != nil {
		set.Spec.Selector = &metav1.LabelSelector{MatchLabels: rc.Spec.Selector}
	}
	if rc.Spec.Template != nil {
		set.Spec.Template = *rc.Spec.Template
	}
	set.Status = appsv1.ReplicaSetStatus{
		Replicas: rc.Status.Replicas, FullyLabeledReplicas: rc.Status.FullyLabeledReplicas, ReadyReplicas: rc.Status.ReadyReplicas,
		AvailableReplicas: rc.Status.AvailableReplicas, ObservedGeneration: rc.Status.ObservedGeneration,
	}
	for _, c := range rc.Status.Conditions {
		set.Status.Conditions = append(set.Status.Conditions, appsv1.ReplicaSetCondition{
			Type: appsv1.ReplicaSetConditionType(c.Type), Status: c.Status, LastTransitionTime: c.LastTransitionTime, Reason: c.Reason, Message: c.Message,
		})
	}
	return set
}

// asReplicationController is the reverse of asReplicaSet, with another status.
func asReplicationController(set *appsv1.ReplicaSet, status appsv1.ReplicaSetStatus) api.Object {
	set = set.DeepCopy()
	rc := &corev1.ReplicationController{ObjectMeta: set.ObjectMeta}
	rc.APIVersion, rc.Kind = "v1", "ReplicationController"
	rc.Spec = corev1.ReplicationControllerSpec{Replicas: set.Spec.Replicas, MinReadySeconds: set.Spec.MinReadySeconds, Template: &set.Spec.Template}
	if set.Spec.Selector != nil {
		rc.Spec.Selector = set.Spec.Selector.MatchLabels
	}
	rc.Status = corev1.ReplicationControllerStatus{
		Replicas: status.Replicas, FullyLabeledReplicas: status.FullyLabeledReplicas, ReadyReplicas: status.ReadyReplicas,
		AvailableReplicas: status.AvailableReplicas, ObservedGeneration: status.ObservedGeneration,
	}
	for _, c := range status.Conditions {
		rc.Status.Conditions = append(rc.Status.Conditions, corev1.ReplicationControllerCondition{
			Type: corev1.ReplicationControllerConditionType(c.Type), Status: c.Status, LastTransitionTime: c.LastTransitionTime, Reason: c.Reason,
			Message: c.Message,
		})
	}
	return rc
}
