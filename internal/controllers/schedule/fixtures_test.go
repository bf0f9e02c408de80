package schedule

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/trace"
)

// fixture is a scheduler without its loop, over objects that are stored unchanged.
type fixture struct {
	*scheduler
	t      *testing.T
	engine *engine.Engine
}

func newFixture(t *testing.T, cfg Config, objs ...api.Object) *fixture {
	t.Helper()
	e, err := engine.New(engine.Config{AsGiven: true, Trace: &trace.Trace{}})
	require.NoError(t, err)
	f := &fixture{t: t, engine: e}
	f.load(objs...)
	require.NoError(t, cfg.complete())
	ix := newIndexes(e.Store())
	_, err = e.NewActor(actors.Scheduler, func(a *engine.Actor) { f.scheduler = newScheduler(a, cfg, ix) })
	require.NoError(t, err)
	return f
}

func (f *fixture) load(objs ...api.Object) {
	f.t.Helper()
	for _, obj := range objs {
		require.NoError(f.t, fake.Err(obj))
		_, err := f.engine.Store().Load(obj)
		require.NoError(f.t, err)
	}
	f.engine.Advance(0)
}

// on puts the pods that have a node into the cache.
func (f *fixture) onNodes(objs ...api.Object) {
	for _, obj := range objs {
		if pod, ok := obj.(*corev1.Pod); ok && pod.Spec.NodeName != "" {
			f.scheduler.pods.put(api.KeyOf(pod), pod)
		}
	}
}

// find is the node for a pod, or the reason why there is none as the pod's condition will have it.
func (f *fixture) find(pod *corev1.Pod) (node, why string, c *cycle) {
	f.t.Helper()
	c = newCycle(f.lookups(), pod)
	f.actor.Go("test", func(p *engine.Process) {
		var err error
		if node, err = f.findNode(p, c); err == nil {
			return
		}
		if none, ok := err.(*fitError); ok {
			f.postFilter(c, &none.diagnosis)
		}
		why = err.Error()
	})
	f.engine.Advance(0)
	return node, why, c
}

func uid(id string) fake.Option { return fake.UID(types.UID(id)) }

// boundClaim is a claim that has its volume.
func boundClaim(name, volume string, opts ...fake.Option) *corev1.PersistentVolumeClaim {
	return fake.Claim(name, "1Gi", append([]fake.Option{
		fake.VolumeName(volume), fake.Phase("Bound"), fake.Annotations(objects.AnnBindCompleted, "yes"),
	}, opts...)...)
}

// free is a volume of class wait that anybody may have.
func free(name, size string, opts ...fake.Option) *corev1.PersistentVolume {
	return fake.Volume(name, size, append([]fake.Option{fake.InClass("wait"), fake.Phase("Available")}, opts...)...)
}

// waiting is a claim of class wait.
func waitingClaim(name, size string, opts ...fake.Option) *corev1.PersistentVolumeClaim {
	return fake.Claim(name, size, append([]fake.Option{fake.InClass("wait"), uid(name + "-uid")}, opts...)...)
}

func waitClass(provisioner string, opts ...fake.Option) *storagev1.StorageClass {
	return fake.Class("wait", provisioner, append([]fake.Option{fake.WaitForFirstConsumer()}, opts...)...)
}

func topology(class *storagev1.StorageClass, terms ...corev1.TopologySelectorTerm) *storagev1.StorageClass {
	class.AllowedTopologies = terms
	return class
}

func values(key string, values ...string) corev1.TopologySelectorTerm {
	return corev1.TopologySelectorTerm{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: key, Values: values}}}
}

func driver(name string, tracks bool) *storagev1.CSIDriver {
	return &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: storagev1.CSIDriverSpec{StorageCapacity: &tracks}}
}

// capacity reports room for class wait; limit and size may be "".
func capacity(key, size, limit string, at *metav1.LabelSelector) *storagev1.CSIStorageCapacity {
	namespace, name := objects.SplitKey(key)
	c := &storagev1.CSIStorageCapacity{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, StorageClassName: "wait",
		NodeTopology: at}
	if size != "" {
		c.Capacity = new(resource.MustParse(size))
	}
	if limit != "" {
		c.MaximumVolumeSize = new(resource.MustParse(limit))
	}
	return c
}

func everywhere() *metav1.LabelSelector { return &metav1.LabelSelector{} }

func at(pairs ...string) *metav1.LabelSelector {
	s := &metav1.LabelSelector{MatchLabels: map[string]string{}}
	for i := 0; i < len(pairs); i += 2 {
		s.MatchLabels[pairs[i]] = pairs[i+1]
	}
	return s
}

// csiNode is a node where drivers attach up to that many volumes; a negative count is no limit.
func csiNode(name string, drivers map[string]int32) *storagev1.CSINode {
	n := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, driver := range objects.SortedKeys(drivers) {
		d := storagev1.CSINodeDriver{Name: driver, NodeID: name}
		if count := drivers[driver]; count >= 0 {
			d.Allocatable = &storagev1.VolumeNodeResources{Count: new(count)}
		}
		n.Spec.Drivers = append(n.Spec.Drivers, d)
	}
	return n
}

func attachment(name, driver, node, pv string) *storagev1.VolumeAttachment {
	return &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: storagev1.VolumeAttachmentSpec{
		Attacher: driver, NodeName: node, Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &pv},
	}}
}

// with changes an object in place.
func with[T any](obj T, change func(T)) T {
	change(obj)
	return obj
}

func inline(source corev1.VolumeSource) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "inline", VolumeSource: source})
	}
}

func gce(disk string, readOnly bool) corev1.VolumeSource {
	return corev1.VolumeSource{GCEPersistentDisk: &corev1.GCEPersistentDiskVolumeSource{PDName: disk, ReadOnly: readOnly}}
}

// affine limits a volume to nodes by a single term.
func affine(term corev1.NodeSelectorTerm) func(*corev1.PersistentVolume) {
	return func(pv *corev1.PersistentVolume) {
		pv.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term}}}
	}
}

func expression(key string, op corev1.NodeSelectorOperator, values ...string) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: op, Values: values}}}
}

func priority(n int32) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.Priority = &n }
}

// again gives a pod another volume with the claim.
func again(claim string) func(*corev1.Pod) {
	return inline(corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}})
}

func resources(pairs ...string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Requests: list(pairs...)}
}

func list(pairs ...string) corev1.ResourceList {
	l := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		l[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return l
}

func allocatable(pairs ...string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Status.Allocatable = list(pairs...) }
}

func requesting(name, cpu, memory string) *corev1.Pod {
	pod := fake.Pod(name, uid(name))
	pod.Spec.Containers[0].Resources = resources("cpu", cpu, "memory", memory)
	return pod
}

// withPort is a pod that needs a port of its node.
func withPort(name string, port int32, address string) *corev1.Pod {
	pod := fake.Pod(name, uid(name))
	pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: port, HostPort: port, HostIP: address}}
	return pod
}

// wants requires a node field in the pod's affinity.
func wants(field, value string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{{Key: field,
				Operator: corev1.NodeSelectorOpIn, Values: []string{value}}}}},
		}}}
	}
}

const host = corev1.LabelHostname

// labeled is a pod with the label app. The node may be "".
func labeled(name, node, app string) *corev1.Pod {
	return fake.Pod(name, uid(name), fake.OnNode(node), fake.Labels("app", app))
}

func zoned(name, zone string) *corev1.Node { return fake.Node(name, fake.Labels(gaZone, zone)) }

func taintedNode(name string) *corev1.Node {
	return with(fake.Node(name), func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}} })
}

func app(name string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
}

// to is a term about pods with the label app.
func to(name, key string) corev1.PodAffinityTerm {
	return corev1.PodAffinityTerm{LabelSelector: app(name), TopologyKey: key}
}

// affinity requires pods in the node's domains.
func affinity(pod *corev1.Pod, terms ...corev1.PodAffinityTerm) *corev1.Pod {
	pod.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms}}
	return pod
}

// exclusion forbids pods in the node's domains.
func exclusion(pod *corev1.Pod, terms ...corev1.PodAffinityTerm) *corev1.Pod {
	pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms}}
	return pod
}

// spread spreads a pod over nodes with others that have the label app=a. The change may be nil.
func spread(pod *corev1.Pod, change func(*corev1.TopologySpreadConstraint)) *corev1.Pod {
	c := corev1.TopologySpreadConstraint{MaxSkew: 1, TopologyKey: host, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: app("a")}
	if change != nil {
		change(&c)
	}
	pod.Spec.TopologySpreadConstraints = append(pod.Spec.TopologySpreadConstraints, c)
	return pod
}

// oneOf is the message for a cluster of one node, which was rejected for the reason.
func oneOf(reason string) string { return "0/1 nodes are available: 1 " + reason + "." }
