//go:build !js

package kubectl

import (
	"github.com/volsim/volsim/api"
)

func init() {
	for kind, l := range map[api.Kind]layout{
		api.Node:                          described((*description).node),
		"ConfigMap":                       described((*description).configMap),
		"Secret":                          described((*description).secretData).withoutEvents(),
		"ServiceAccount":                  described((*description).serviceAccount),
		"Service":                         described((*description).service),
		"LimitRange":                      described((*description).limits).withoutEvents(),
		"Namespace":                       described((*description).namespace).withoutEvents(),
		"PriorityClass.scheduling.k8s.io": described((*description).priorityClass),
		"PodDisruptionBudget.policy":      described((*description).budget),
		"StatefulSet.apps":                described((*description).statefulSet),
		"Deployment.apps":                 described((*description).deployment),
		"ReplicaSet.apps":                 described((*description).replicaSet),
		"DaemonSet.apps":                  described((*description).daemonSet),
		"Job.batch":                       described((*description).job),
		"CronJob.batch":                   described((*description).cronJob),
	} {
		describers[kind] = l
	}
}
