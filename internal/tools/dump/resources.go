package dump

// Resources are the resources that a whole dump of a cluster has, with their groups. A cluster need not serve all of them. Secrets are not among
// them: the Secrets of a namespace of which a dump has none are assumed to exist.
var Resources = []string{
	"namespaces",
	"persistentvolumes", "persistentvolumeclaims", "storageclasses.storage.k8s.io", "volumeattributesclasses.storage.k8s.io",
	"pods", "nodes",
	"deployments.apps", "replicasets.apps", "statefulsets.apps", "daemonsets.apps", "controllerrevisions.apps", "replicationcontrollers",
	"jobs.batch", "cronjobs.batch", "horizontalpodautoscalers.autoscaling",
	"poddisruptionbudgets.policy", "resourcequotas", "limitranges", "priorityclasses.scheduling.k8s.io", "runtimeclasses.node.k8s.io",
	"volumeattachments.storage.k8s.io", "csidrivers.storage.k8s.io", "csinodes.storage.k8s.io", "csistoragecapacities.storage.k8s.io",
	"volumesnapshots.snapshot.storage.k8s.io", "volumesnapshotcontents.snapshot.storage.k8s.io", "volumesnapshotclasses.snapshot.storage.k8s.io",
	"referencegrants.gateway.networking.k8s.io",
	"validatingadmissionpolicies.admissionregistration.k8s.io", "validatingadmissionpolicybindings.admissionregistration.k8s.io",
	"configmaps", "serviceaccounts", "leases.coordination.k8s.io", "events",
}
