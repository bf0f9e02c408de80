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
		"ReplicationController":           described((*description).replicationController),
		"Endpoints":                       described((*description).endpointsObject),

		"EndpointSlice.discovery.k8s.io":               described((*description).endpointSlice),
		"HorizontalPodAutoscaler.autoscaling":          described((*description).autoscaler),
		"Ingress.networking.k8s.io":                    described((*description).ingress).withoutNamespace(),
		"IngressClass.networking.k8s.io":               described((*description).ingressClass),
		"IPAddress.networking.k8s.io":                  described((*description).ipAddress),
		"ServiceCIDR.networking.k8s.io":                described((*description).serviceCIDR),
		"NetworkPolicy.networking.k8s.io":              described((*description).networkPolicy).withoutEvents(),
		"Role.rbac.authorization.k8s.io":               described((*description).role).withoutEvents().withoutNamespace(),
		"RoleBinding.rbac.authorization.k8s.io":        described((*description).roleBinding).withoutEvents().withoutNamespace(),
		"ClusterRole.rbac.authorization.k8s.io":        described((*description).clusterRole).withoutEvents(),
		"ClusterRoleBinding.rbac.authorization.k8s.io": described((*description).clusterRoleBinding).withoutEvents(),

		"CertificateSigningRequest.certificates.k8s.io": {describe: (*description).signingRequest},
	} {
		describers[kind] = l
	}
}
