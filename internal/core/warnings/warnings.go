package warnings

import (
	"fmt"
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/plain"
)

// list collects warnings.
type list []string

func (l *list) addf(path *field.Path, format string, args ...any) {
	*l = append(*l, fmt.Sprintf("%s: "+format, append([]any{path}, args...)...))
}

// For returns the warnings about a write to the main resource of an object, in order. obj has its defaults and is valid; old is the stored
// object, or nil for a new one. It reads both only.
func For(obj, old api.Object) []string {
	var l list
	switch obj := obj.(type) {
	case *corev1.PersistentVolume:
		l.volume(obj)
	case *corev1.PersistentVolumeClaim:
		l.claim(obj)
	case *corev1.Pod:
		// API-322: an update of a pod has no warnings.
		if isNil(old) {
			l.newPod(obj)
		}
	case *corev1.Node:
		l.node(obj)
	case *storagev1.StorageClass:
		l.class(obj)
	case *storagev1.CSIDriver:
		l.driver(obj, old)
	case *storagev1.CSIStorageCapacity:
		l.labelSelector(field.NewPath("nodeTopology"), obj.NodeTopology)
	case *plain.Object:
		l.other(obj, old)
	}
	return l
}

// other adds those of an object that is stored as data.
func (l *list) other(obj *plain.Object, old api.Object) {
	switch api.KindOf(obj) {
	case "StatefulSet.apps":
		with(obj, old, l.statefulSet)
	case "Deployment.apps":
		with(obj, old, func(obj, old *appsv1.Deployment) { l.workload(obj, old, &obj.Spec.Template) })
	case "ReplicaSet.apps":
		with(obj, old, func(obj, old *appsv1.ReplicaSet) { l.workload(obj, old, &obj.Spec.Template) })
	case "DaemonSet.apps":
		with(obj, old, l.daemonSet)
	case "Job.batch":
		with(obj, old, l.job)
	case "CronJob.batch":
		with(obj, old, l.cronJob)
	case "ReplicationController":
		with(obj, old, l.replicationController)
	case "PodTemplate":
		with(obj, old, func(obj, old *corev1.PodTemplate) {
			if old == nil || obj.Generation != old.Generation {
				l.template(field.NewPath("template"), &obj.Template)
			}
		})
	case "Service":
		with(obj, old, func(obj, _ *corev1.Service) { l.service(obj) })
	case "ResourceQuota":
		with(obj, old, l.quota)
	case "RuntimeClass.node.k8s.io":
		with(obj, old, func(obj, _ *nodev1.RuntimeClass) { l.runtimeClass(obj) })
	}
}

// with calls fn with the objects as a T. A missing old object is nil; one that is no T has no warnings.
func with[T any, P interface {
	*T
	api.Object
}](obj, old api.Object, fn func(obj, old P)) {
	typed, err := plain.As[P](obj)
	if err != nil {
		return
	}
	var before P
	if !isNil(old) {
		if before, err = plain.As[P](old); err != nil {
			return
		}
	}
	fn(typed, before)
}

func isNil(obj api.Object) bool {
	return obj == nil || reflect.ValueOf(obj).IsNil()
}

// ip warns of an IP address that is not in its usual form (API-326).
func (l *list) ip(path *field.Path, value string) {
	if netutils.ParseIPSloppy(value) != nil {
		*l = append(*l, validation.GetWarningsForIP(path, value)...)
	}
}

// cidr warns of a network that is not in its usual form (API-326).
func (l *list) cidr(path *field.Path, value string) {
	if _, network, err := netutils.ParseCIDRSloppy(value); err == nil && network != nil {
		*l = append(*l, validation.GetWarningsForCIDR(path, value)...)
	}
}

// hostname warns of a name that is not fit for the hostnames of pods (API-322).
func (l *list) hostname(name, use string) {
	if msgs := validation.IsDNS1123Label(name); len(msgs) != 0 {
		l.addf(field.NewPath("metadata", "name"), "this is used in %s, which can result in surprising behavior; a DNS label is recommended: %v",
			use, msgs)
	}
}
