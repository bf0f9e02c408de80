// Package admission compares what decides about a request besides validation: namespaces, LimitRanges, priorities, default tolerations,
// default classes, finalizers, RuntimeClasses, and quotas. The real side runs the admission plugins of kube-apiserver, in their order,
// before a store of ours that decides nothing itself.
package admission
