package validation

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
)

// Mutate changes one field of the object at random.
func Mutate(r *rand.Rand, obj api.Object) {
	m := mutator{r}
	for !m.change(reflect.ValueOf(obj).Elem()) {
	}
}

// Grow changes the requested storage of a claim.
func Grow(r *rand.Rand, claim *corev1.PersistentVolumeClaim) {
	if claim.Spec.Resources.Requests == nil {
		claim.Spec.Resources.Requests = corev1.ResourceList{}
	}
	claim.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse(amounts[r.IntN(len(amounts))])
}

// Values for strings: valid and invalid names, and words with a meaning in some field.
var words = []string{
	"", "a", "A", "data", "scratch", "x", "-", "a.b", "a/b", "a/b/c", "..", "../a", "/abs", "/data", "a b", "db", "n1", "1", "a_b", "a.-b",
	"é.x", "\u212a",
	"In", "Exists", "NotIn", "Gt", "NoSchedule", "NoExecute", "Equal", "Always", "Never", "OnFailure", "Block", "Filesystem", "None",
	"Enabled", "Event", "Managed", "linux", "windows", "NotRequired", "RestartContainer", "Restart", "10.0.0.1",
	"ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany", "ReadWriteOncePod", "Retain", "Delete", "Recycle", "Immediate", "WaitForFirstConsumer",
	"Bound", "Available", "Released", "Pending", "Lost", "ControllerResizeInProgress", "NodeResizePending", "InProgress", "Infeasible",
	"Persistent", "Ephemeral", "ReadWriteOnceWithFSType", "File", "Bidirectional", "PersistentVolumeClaim", "VolumeSnapshot",
	"snapshot.storage.k8s.io",
	"metadata.name", "metadata.labels['a']", "spec.nodeName", "limits.cpu", "v1", "10.0.0.0/24", "kubernetes", "iqn.2001-04.com.example:a",
	"naa.123", "eui.0123456789abcdef",
	"https://x", "h:1", "csi.example.com", "Csi.Example.com", "kubernetes.io/x", "example.com/x", "volume.kubernetes.io/selected-node",
	strings.Repeat("a", 63), strings.Repeat("a", 64), strings.Repeat("a", 253), strings.Repeat("a", 300), strings.Repeat("a.", 31) + "b",
}

// Further values for map keys.
var keys = []string{"cpu", "memory", "storage", "pods", "ephemeral-storage", "example.com/gpu", "Example.com/A", "hugepages-2Mi", "a", "-",
	"a b", "requests.example.com/x", "volume.beta.kubernetes.io/storage-class"}

var amounts = []string{"0", "1", "-1", "500m", "1Gi", "2Gi", "2Mi", "3Mi", "100u", "1m", "1k", "-0.5", "9223372036854775807",
	"9223372036854775808", "8Ei", "1e19"}

var numbers = []int64{0, 1, -1, 9, 10, 16, 30, 100, 101, 255, 256, 511, 512, 599, 600, 70000, 1 << 32, 1<<32 + 1}

// untouched are fields that are not changed: those that a server sets itself, and those of pods and nodes that have nothing to do with
// volumes, which the store does not validate.
var untouched = strings.Fields(`
	TypeMeta ManagedFields SelfLink ResourceVersion UID CreationTimestamp DeletionTimestamp DeletionGracePeriodSeconds Generation Fuzz
	LivenessProbe ReadinessProbe StartupProbe Lifecycle SecurityContext PodAffinity PodAntiAffinity TopologySpreadConstraints
	EnvFrom ValueFrom EphemeralContainers SchedulingGroup HostUsers DeprecatedServiceAccount ImagePullSecrets ClusterTrustBundle PodCertificate
	AutomountServiceAccountToken ContainerStatuses InitContainerStatuses EphemeralContainerStatuses ResourceClaimStatuses PodIPs PodIP
	HostIPs HostIP ExtendedResourceClaimStatus NodeAllocatableResourceClaimStatuses ConfigSource Config DeclaredFeatures NodeInfo RuntimeHandlers Features
	PodCIDR PreventPodSchedulingIfMissing Priority Allocatable`)

type mutator struct{ *rand.Rand }

func oneOf[T any](m mutator, from []T) T { return from[m.IntN(len(from))] }

// change changes v, or something in it, and reports whether it changed anything.
func (m mutator) change(v reflect.Value) bool {
	switch v.Interface().(type) {
	case resource.Quantity:
		v.Set(reflect.ValueOf(resource.MustParse(oneOf(m, amounts))))
		return true
	case metav1.Time:
		return false
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(oneOf(m, words))
	case reflect.Bool:
		v.SetBool(m.IntN(2) == 0)
	case reflect.Int32:
		v.SetInt(int64(int32(oneOf(m, numbers))))
	case reflect.Int64, reflect.Int:
		v.SetInt(oneOf(m, numbers))
	case reflect.Pointer:
		return m.changePointer(v)
	case reflect.Slice:
		return m.changeSlice(v)
	case reflect.Map:
		return m.changeMap(v)
	case reflect.Struct:
		return m.changeStruct(v)
	default:
		return false
	}
	return true
}

func (m mutator) changePointer(v reflect.Value) bool {
	switch {
	case v.IsNil() && m.IntN(6) == 0:
		v.Set(reflect.New(v.Type().Elem()))
		if m.IntN(2) == 0 {
			m.change(v.Elem())
		}
		return true
	case v.IsNil():
		return false
	case m.IntN(8) == 0:
		v.SetZero()
		return true
	}
	return m.change(v.Elem())
}

func (m mutator) changeSlice(v reflect.Value) bool {
	n := v.Len()
	switch c := m.IntN(8); {
	case n == 0 && c < 2:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		m.change(v.Index(0))
	case n == 0:
		return false
	case c == 0: // one twice
		again := reflect.New(v.Type().Elem()).Elem()
		copyInto(again, v.Index(m.IntN(n)))
		v.Set(reflect.Append(reflect.AppendSlice(reflect.MakeSlice(v.Type(), 0, n+1), v), again))
		if m.IntN(2) == 0 {
			m.change(v.Index(n))
		}
	case c == 1: // one less
		i := m.IntN(n)
		v.Set(reflect.AppendSlice(reflect.AppendSlice(reflect.MakeSlice(v.Type(), 0, n), v.Slice(0, i)), v.Slice(i+1, n)))
	default:
		return m.change(v.Index(m.IntN(n)))
	}
	return true
}

// copyInto makes a deep copy where the type can.
func copyInto(to, from reflect.Value) {
	if method := from.Addr().MethodByName("DeepCopy"); method.IsValid() {
		to.Set(method.Call(nil)[0].Elem())
		return
	}
	to.Set(from)
}

func (m mutator) changeMap(v reflect.Value) bool {
	if v.IsNil() {
		if m.IntN(3) != 0 {
			return false
		}
		v.Set(reflect.MakeMap(v.Type()))
	}
	if n := v.Len(); n > 0 && m.IntN(4) == 0 {
		present := v.MapKeys()
		slices.SortFunc(present, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		v.SetMapIndex(present[m.IntN(n)], reflect.Value{})
		return true
	}
	key, element := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
	if m.IntN(2) == 0 {
		key.SetString(oneOf(m, words))
	} else {
		key.SetString(oneOf(m, keys))
	}
	m.change(element)
	v.SetMapIndex(key, element)
	return true
}

func (m mutator) changeStruct(v reflect.Value) bool {
	for range 40 {
		field := v.Type().Field(m.IntN(v.NumField()))
		if !field.IsExported() || slices.Contains(untouched, field.Name) {
			continue
		}
		// A pod's own resources have nothing to do with volumes.
		if owner := v.Type().Name(); field.Name == "Resources" && (owner == "PodSpec" || owner == "PodStatus") ||
			field.Name == "AllocatedResources" && owner == "PodStatus" {
			continue
		}
		if m.change(v.FieldByIndex(field.Index)) {
			return true
		}
	}
	return false
}
