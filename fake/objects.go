package fake

import (
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/internal/core/objects"
)

// errorAnnotation records invalid arguments in the object: an option that does not apply to its kind, or a size that cannot be parsed. A
// cluster rejects an object with this annotation.
const errorAnnotation = "volsim.dev/builder-error"

// Err returns an error for invalid arguments of the builder that returned the object, nil if there are none.
func Err(obj metav1.Object) error {
	if text, bad := obj.GetAnnotations()[errorAnnotation]; bad {
		return errors.New(text)
	}
	return nil
}

// Option sets a field of an object that [Volume], [Claim], [Class], [Pod] or [Node] builds.
type Option func(*object)

// object is the object that options change. One of the first five pointers is set.
type object struct {
	volume   *corev1.PersistentVolume
	claim    *corev1.PersistentVolumeClaim
	class    *storagev1.StorageClass
	pod      *corev1.Pod
	node     *corev1.Node
	kind     string
	meta     *metav1.ObjectMeta
	mistakes []string // in arguments
}

func (o *object) apply(opts []Option) {
	for i, opt := range opts {
		if opt == nil {
			o.mistake("option %d is nil", i+1)
			continue
		}
		opt(o)
	}
	if len(o.mistakes) > 0 {
		o.annotate(errorAnnotation, fmt.Sprintf("%s %s: %s", o.kind, o.meta.Name, strings.Join(o.mistakes, "; ")))
	}
}

func (o *object) mistake(format string, args ...any) {
	o.mistakes = append(o.mistakes, fmt.Sprintf(format, args...))
}

// inapplicable records that the option does not apply to the kind of the object.
func (o *object) inapplicable(option string) { o.mistake("a %s has no option %s", o.kind, option) }

func (o *object) annotate(key, value string) {
	if o.meta.Annotations == nil {
		o.meta.Annotations = map[string]string{}
	}
	o.meta.Annotations[key] = value
}

// quantity parses a size. It records an invalid one as a mistake and returns zero.
func (o *object) quantity(size string) resource.Quantity {
	q, err := resource.ParseQuantity(size)
	if err != nil {
		o.mistake("%q is not a size; write it like 10Gi", size)
		return resource.Quantity{}
	}
	return q
}

func (o *object) storage(size string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceStorage: o.quantity(size)}
}

// split splits "namespace/name". Without a namespace it is default.
func split(name string) types.NamespacedName {
	if namespace, rest, ok := strings.Cut(name, "/"); ok {
		return types.NamespacedName{Namespace: namespace, Name: rest}
	}
	return types.NamespacedName{Namespace: metav1.NamespaceDefault, Name: name}
}

// Volume returns a PersistentVolume with that capacity. By default it is ReadWriteOnce, Filesystem, of class "", with policy Retain and the
// hostPath source /tmp/<name>.
func Volume(name, capacity string, opts ...Option) *corev1.PersistentVolume {
	pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}}
	o := &object{volume: pv, kind: "PersistentVolume", meta: &pv.ObjectMeta}
	pv.Spec = corev1.PersistentVolumeSpec{
		Capacity:                      o.storage(capacity),
		AccessModes:                   []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		VolumeMode:                    new(corev1.PersistentVolumeFilesystem),
		PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
		PersistentVolumeSource:        corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/tmp/" + name}},
	}
	o.apply(opts)
	return pv
}

// Claim returns a PersistentVolumeClaim that requests that much storage. The name is "name", in namespace default, or "namespace/name". By
// default the claim is ReadWriteOnce, Filesystem, and of class "", which means a volume without a class, and not the default class. See
// [InClass] and [NoClass].
func Claim(name, request string, opts ...Option) *corev1.PersistentVolumeClaim {
	key := split(name)
	pvc := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	o := &object{claim: pvc, kind: "PersistentVolumeClaim", meta: &pvc.ObjectMeta}
	pvc.Spec = o.claimSpec(request)
	o.apply(opts)
	return pvc
}

func (o *object) claimSpec(request string) corev1.PersistentVolumeClaimSpec {
	return corev1.PersistentVolumeClaimSpec{
		AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		VolumeMode:       new(corev1.PersistentVolumeFilesystem),
		Resources:        corev1.VolumeResourceRequirements{Requests: o.storage(request)},
		StorageClassName: new(string),
	}
}

// Class returns a StorageClass whose volumes the backend with the name provisioner creates. By default it has policy Delete, binds
// immediately and does not allow expansion.
func Class(name, provisioner string, opts ...Option) *storagev1.StorageClass {
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: provisioner,
		ReclaimPolicy: new(corev1.PersistentVolumeReclaimDelete), VolumeBindingMode: new(storagev1.VolumeBindingImmediate)}
	o := &object{class: class, kind: "StorageClass", meta: &class.ObjectMeta}
	o.apply(opts)
	return class
}

// Pod returns a Pod with one container, named main. The name is "name", in namespace default, or "namespace/name". By default it has no
// volumes, and the scheduler chooses its node.
func Pod(name string, opts ...Option) *corev1.Pod {
	key := split(name)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "main"}}
	o := &object{pod: pod, kind: "Pod", meta: &pod.ObjectMeta}
	o.apply(opts)
	return pod
}

// Node returns a Node object that is ready and has the labels of a Linux node: kubernetes.io/hostname, kubernetes.io/os and
// kubernetes.io/arch, and the beta forms of the last two.
func Node(name string, opts ...Option) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: objects.NodeLabels(name)}}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	o := &object{node: node, kind: "Node", meta: &node.ObjectMeta}
	o.apply(opts)
	return node
}
