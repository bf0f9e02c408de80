package mount

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/options"
	"github.com/volsim/volsim/internal/proof/rig"
	"github.com/volsim/volsim/mount/internal/volumes"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

// The defaults of the scenarios: driver d, volume pv1 with handle h1, bound to claim c1, on node n1.
const (
	driverName = "d"
	handle     = "h1"
	nodeName   = "n1"
)

var volumeName = objects.CSIVolumeName(driverName, handle)

// fixture is a node without controllers. The test takes the part of the attach/detach controller.
type fixture struct {
	*rig.Rig
	nodes  *Nodes
	node   *Node
	driver *fake.Memory
}

type setup struct {
	cfg      Config
	opts     options.Kubelet
	engine   engine.Config
	driver   []fake.MemoryOption
	backends []storage.Backend
	object   func(*storagev1.CSIDriver)
	volume   []fake.Option
	wrap     func(driver *fake.Memory) storage.Backend // returns the backend that wraps the driver; nil: none does
}

func newFixture(t *testing.T, options ...func(*setup)) *fixture {
	t.Helper()
	s := &setup{}
	for _, option := range options {
		option(s)
	}
	w := &fixture{Rig: rig.New(t, s.engine), driver: fake.CSI(driverName, s.driver...)}
	var driver storage.Backend = w.driver
	if s.wrap != nil {
		driver = s.wrap(w.driver)
	}
	var err error
	w.nodes, err = New(w.Engine, rig.Backends(t, append(s.backends, driver)...), s.cfg, s.opts)
	w.OK(err)
	required := true
	object := &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: driverName}, Spec: storagev1.CSIDriverSpec{AttachRequired: &required}}
	if s.object != nil {
		s.object(object)
	}
	w.Create(object)
	w.bound("pv1", handle, "c1", s.volume...)
	w.node, err = w.nodes.Add(nodeName)
	w.OK(err)
	w.Advance(time.Second)
	w.Mark()
	return w
}

// bound creates a volume and a claim that are bound to each other.
func (w *fixture) bound(name, handle, claim string, options ...fake.Option) {
	w.T.Helper()
	uid := types.UID("uid-" + claim)
	pv := fake.Volume(name, "1Gi", append([]fake.Option{fake.CSISource(driverName, handle), fake.ForClaim(claim, uid)}, options...)...)
	pv.Status.Phase = corev1.VolumeBound
	w.Load(pv)
	pvc := fake.Claim(claim, "1Gi", fake.UID(uid), fake.VolumeName(name), fake.Phase("Bound"))
	pvc.Spec.AccessModes, pvc.Spec.VolumeMode = pv.Spec.AccessModes, pv.Spec.VolumeMode
	pvc.Status.Capacity = pv.Spec.Capacity
	w.Load(pvc)
}

// pod creates a pod with claim c1 as volume data, unless options say otherwise, and lets the kubelet see it.
func (w *fixture) pod(name string, options ...fake.Option) *corev1.Pod {
	w.T.Helper()
	pod := fake.Pod(name, append([]fake.Option{fake.OnNode(nodeName)}, options...)...)
	if len(pod.Spec.Volumes) == 0 {
		addClaim(pod, "data", "c1")
	}
	w.Create(pod)
	w.Advance(0)
	return w.stored(name)
}

func addClaim(pod *corev1.Pod, volume, claim string) {
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}})
	c := &pod.Spec.Containers[0]
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: volume, MountPath: "/" + volume})
}

func (w *fixture) stored(pod string) *corev1.Pod {
	w.T.Helper()
	stored, err := w.Store().Pods.Get("default/" + pod)
	w.OK(err)
	return stored
}

func (w *fixture) phase(pod string) corev1.PodPhase {
	stored, ok := w.Store().Pods.Lookup("default/" + pod)
	if !ok {
		return "gone"
	}
	return stored.Status.Phase
}

func (w *fixture) deletePod(pod string) {
	w.T.Helper()
	w.Delete(api.Pod, "default/"+pod)
	w.Advance(0)
}

func (w *fixture) forceDelete(pod string) {
	w.T.Helper()
	w.DeleteNow(api.Pod, "default/"+pod)
	w.Advance(0)
}

// attach does the work of controller and attacher: VolumeAttachment, storage, status of the node.
func (w *fixture) attach(handles ...string) {
	w.T.Helper()
	var attached []corev1.AttachedVolume
	for _, h := range handles {
		w.attachment(h, func(va *storagev1.VolumeAttachment) { va.Status.Attached = true })
		if slices.Contains(handles, h) {
			_, err := w.driver.Attach(storage.NodeRequest{ID: h, Node: nodeName})
			w.OK(err)
		}
		attached = append(attached, corev1.AttachedVolume{Name: objects.CSIVolumeName(driverName, h)})
	}
	w.setAttached(attached...)
	w.Advance(100 * time.Millisecond) // a pass has seen it
}

func (w *fixture) attachment(h string, change func(*storagev1.VolumeAttachment)) {
	w.T.Helper()
	pv := "pv" + strings.TrimPrefix(h, "h")
	va := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: objects.AttachmentName(h, driverName, nodeName)}}
	va.Spec = storagev1.VolumeAttachmentSpec{Attacher: driverName, NodeName: nodeName,
		Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &pv}}
	change(va)
	w.Load(va)
}

func (w *fixture) setAttached(attached ...corev1.AttachedVolume) {
	w.T.Helper()
	node, err := w.Store().Nodes.Get(nodeName)
	w.OK(err)
	changed := *node
	changed.Status.VolumesAttached = attached
	_, err = w.Store().Nodes.UpdateStatus(&changed)
	w.OK(err)
}

// run creates a pod and advances until it is Running.
func (w *fixture) run(pod string, options ...fake.Option) *corev1.Pod {
	w.T.Helper()
	w.pod(pod, options...)
	w.Advance(11 * time.Second)
	w.attach(handle)
	w.Advance(time.Second)
	if got := w.phase(pod); got != corev1.PodRunning {
		w.T.Fatalf("pod %s is %s, want Running", pod, got)
	}
	w.Mark()
	return w.stored(pod)
}

// calls returns the storage calls that ended since the mark: "Stage h1", or "Stage h1 = Internal".
func (w *fixture) calls() []string { return w.Lines(endedCall) }

// timed returns the calls with the time since the mark.
func (w *fixture) timed() []string {
	return w.Lines(func(e trace.Entry) string {
		if call := endedCall(e); call != "" {
			return fmt.Sprintf("%v %s", e.Time.Sub(w.Begin), call)
		}
		return ""
	})
}

func endedCall(e trace.Entry) string {
	switch {
	case e.Type != trace.Storage || e.Verb != "end":
		return ""
	case e.Err != nil:
		return fmt.Sprintf("%s %s = %s", e.Call.Verb, e.Call.Key, storage.CodeOf(e.Err))
	}
	return e.Call.Verb + " " + e.Call.Key
}

// events returns the Events since the mark: "FailedMount default/p1: text".
func (w *fixture) events() []string {
	return w.Lines(func(e trace.Entry) string {
		if e.Type != trace.Emitted {
			return ""
		}
		return fmt.Sprintf("%s %s: %s", e.Reason, e.Object.Key, e.Text)
	})
}

func (w *fixture) inUse() []corev1.UniqueVolumeName {
	node, ok := w.Store().Nodes.Lookup(nodeName)
	if !ok {
		return nil
	}
	return node.Status.VolumesInUse
}

// state returns how the volume is mounted for a pod, and on the node: "VolumeMounted DeviceGloballyMounted", "-" without a record.
func (w *fixture) state(uid types.UID) string {
	k := w.node.kubelet
	v, ok := k.actual.Volume(volumeName)
	if !ok {
		return "-"
	}
	pod := volumes.NotMounted
	if ap, ok := v.Pods.Get(uid); ok {
		pod = ap.State
	}
	return string(pod) + " " + string(v.Device)
}

func want[T any](t testing.TB, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// failing makes the next calls of an operation fail with a code.
func (w *fixture) failing(op storage.Op, code storage.Code) *fake.Rule {
	return w.Faults.Fail(fake.Match{Target: driverName, Verb: string(op)}, storage.Errorf(code, "no"))
}

func (w *fixture) setClaim(name string, change func(*corev1.PersistentVolumeClaim)) {
	w.T.Helper()
	claim, err := w.Store().Claims.Get("default/" + name)
	w.OK(err)
	changed := claim.DeepCopy()
	change(changed)
	w.Load(changed)
}

func (w *fixture) setVolume(name string, change func(*corev1.PersistentVolume)) {
	w.T.Helper()
	pv, err := w.Store().Volumes.Get(name)
	w.OK(err)
	changed := pv.DeepCopy()
	change(changed)
	w.Load(changed)
}

// hold adds a finalizer to a pod; letGo removes it.
func (w *fixture) hold(pod string) { w.finalizers(pod, "example.com/hold") }

func (w *fixture) letGo(pod string) { w.finalizers(pod) }

func (w *fixture) finalizers(pod string, names ...string) {
	w.T.Helper()
	changed := *w.stored(pod)
	changed.Finalizers = names
	_, err := w.Store().Pods.Update(&changed)
	w.OK(err)
	w.Advance(0)
}

// deleteNow deletes without conditions.
var deleteNow = api.DeleteOptions{}

// newFixtureWith returns a fixture with another injector.
func newFixtureWith(t *testing.T, injector api.Injector) *fixture {
	t.Helper()
	return newFixture(t, func(s *setup) { s.engine.Injector = injector })
}

// testSpec returns the spec of a volume of a pod.
func testSpec(name string) *volumes.Spec {
	return &volumes.Spec{VolumeSpec: objects.VolumeSpec{PV: fake.Volume("pv1", "1Gi")}, PodName: name}
}
