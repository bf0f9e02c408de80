// Package kinds has the defaults and the validation of kinds that matter only to clients of an API server: configurations of webhooks, admission policies, roles,
// flow control, autoscalers, CertificateSigningRequests, ConfigMaps and Secrets, what networks need, and the statuses that controllers write (API-380, API-410, API-451 to API-461,
// API-501, API-520, API-543, API-544, API-557 to API-563, API-565, API-566, API-579 to API-584). Simulated controllers keep these rules, so the store of a cluster without an API server does not have them. Other kinds have theirs in
// package strategy; definitions in package definition.
package kinds

import (
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/store"
)

// The kinds that the API server itself knows.
const (
	APIService              api.Kind = "APIService.apiregistration.k8s.io"
	Ingress                 api.Kind = "Ingress.networking.k8s.io"
	IngressClass            api.Kind = "IngressClass.networking.k8s.io"
	Autoscaler              api.Kind = "HorizontalPodAutoscaler.autoscaling"
	FlowSchema              api.Kind = "FlowSchema.flowcontrol.apiserver.k8s.io"
	PriorityLevel           api.Kind = "PriorityLevelConfiguration.flowcontrol.apiserver.k8s.io"
	SigningRequest          api.Kind = "CertificateSigningRequest.certificates.k8s.io"
	MutatingConfiguration   api.Kind = "MutatingWebhookConfiguration.admissionregistration.k8s.io"
	ValidatingConfiguration api.Kind = "ValidatingWebhookConfiguration.admissionregistration.k8s.io"
	MutatingPolicy          api.Kind = "MutatingAdmissionPolicy.admissionregistration.k8s.io"
	ValidatingPolicy        api.Kind = "ValidatingAdmissionPolicy.admissionregistration.k8s.io"
	MutatingBinding         api.Kind = "MutatingAdmissionPolicyBinding.admissionregistration.k8s.io"
	ValidatingBinding       api.Kind = "ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io"
)

// Rules are the rules of each kind here but those of DeviceRules.
var Rules = map[api.Kind]store.KindRules{
	"ConfigMap":                             configMapRules,
	"Secret":                                secretRules,
	"ControllerRevision.apps":               revisionRules,
	APIService:                              apiServiceRules,
	"IPAddress.networking.k8s.io":           ipAddressRules,
	"ServiceCIDR.networking.k8s.io":         serviceCIDRRules,
	"Endpoints":                             endpointsRules,
	"EndpointSlice.discovery.k8s.io":        endpointSliceRules,
	"Lease.coordination.k8s.io":             leaseRules,
	Ingress:                                 ingressRules,
	IngressClass:                            ingressClassRules,
	"NetworkPolicy.networking.k8s.io":       networkPolicyRules,
	"DaemonSet.apps":                        {CheckStatus: statusCheck(checkDaemonSetStatus)},
	"Deployment.apps":                       {CheckStatus: statusCheck(checkDeploymentStatus)},
	Autoscaler:                              autoscalerRules,
	"Job.batch":                             {CheckStatus: statusCheck(checkJobStatus)},
	"PodDisruptionBudget.policy":            {CheckStatus: statusCheck(checkBudgetStatus)},
	"ReplicaSet.apps":                       {CheckStatus: statusCheck(checkReplicaSetStatus)},
	"ResourceQuota":                         {CheckStatus: statusCheck(checkQuotaStatus)},
	"ReplicationController":                 {CheckStatus: statusCheck(checkReplicationControllerStatus)},
	"StatefulSet.apps":                      {CheckStatus: statusCheck(checkStatefulSetStatus)},
	SigningRequest:                          signingRules,
	FlowSchema:                              flowSchemaRules,
	PriorityLevel:                           priorityLevelRules,
	"Role.rbac.authorization.k8s.io":        roleRules,
	"ClusterRole.rbac.authorization.k8s.io": clusterRoleRules,
	"RoleBinding.rbac.authorization.k8s.io": roleBindingRules,
	"ClusterRoleBinding.rbac.authorization.k8s.io": clusterRoleBindingRules,
	MutatingConfiguration:                          configurationRules(MutatingConfiguration),
	ValidatingConfiguration:                        configurationRules(ValidatingConfiguration),
	MutatingPolicy:                                 policyRules(MutatingPolicy),
	ValidatingPolicy:                               policyRules(ValidatingPolicy),
	MutatingBinding:                                bindingRules(MutatingBinding),
	ValidatingBinding:                              bindingRules(ValidatingBinding),
}
