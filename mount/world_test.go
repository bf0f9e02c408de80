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
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/options"
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

// world is a node without controllers: the test plays the attach/detach controller.
type world struct {
	*engine.Engine
	t      *testing.T
	nodes  *Nodes
	node   *Node
	driver *fake.Memory
	faults *fake.Faults
	seen   uint64
	base   time.Time
}

type setup struct {
	cfg      Config
	opts     options.Kubelet
	engine   engine.Config
	driver   []fake.MemoryOption
	backends []storage.Backend
	object   func(*storagev1.CSIDriver)
	volume   []fake.Option
	wrap     func(driver *fake.Memory) storage.Backend // stands before the driver; nil for nothing
}

func newWorld(t *testing.T, options ...func(*setup)) *world {
	t.Helper()
	s := &setup{}
	for _, option := range options {
		option(s)
	}
	w := &world{t: t, faults: fake.NewFaults(), driver: fake.CSI(driverName, s.driver...)}
	var driver storage.Backend = w.driver
	if s.wrap != nil {
		driver = s.wrap(w.driver)
	}
	set, err := backends.NewSet(append(s.backends, driver)...)
	w.ok(err)
	s.engine.Trace = &trace.Trace{}
	if s.engine.Injector == nil {
		s.engine.Injector = w.faults
	}
	w.Engine, err = engine.New(s.engine)
	w.ok(err)
	w.nodes, err = New(w.Engine, set, s.cfg, s.opts)
	w.ok(err)
	required := true
	object := &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: driverName}, Spec: storagev1.CSIDriverSpec{AttachRequired: &required}}
	if s.object != nil {
		s.object(object)
	}
	w.create(object)
	w.bound("pv1", handle, "c1", s.volume...)
	w.node, err = w.nodes.Add(nodeName)
	w.ok(err)
	w.Advance(time.Second)
	w.mark()
	return w
}

func (w *world) ok(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) create(objs ...api.Object) {
	w.t.Helper()
	for _, obj := range objs {
		_, err := w.Store().Create(obj)
		w.ok(err)
	}
}

// load stores an object with its status.
func (w *world) load(obj api.Object) {
	w.t.Helper()
	_, err := w.Store().Load(obj)
	w.ok(err)
}

// bound makes a volume and a claim that are bound to each other.
func (w *world) bound(name, handle, claim string, options ...fake.Option) {
	w.t.Helper()
	uid := types.UID("uid-" + claim)
	pv := fake.Volume(name, "1Gi", append([]fake.Option{fake.CSISource(driverName, handle), fake.ForClaim(claim, uid)}, options...)...)
	pv.Status.Phase = corev1.VolumeBound
	w.load(pv)
	pvc := fake.Claim(claim, "1Gi", fake.UID(uid), fake.VolumeName(name), fake.Phase("Bound"))
	pvc.Spec.AccessModes, pvc.Spec.VolumeMode = pv.Spec.AccessModes, pv.Spec.VolumeMode
	pvc.Status.Capacity = pv.Spec.Capacity
	w.load(pvc)
}

// pod makes a pod with claim c1 as volume data, unless options say otherwise, and lets it arrive.
func (w *world) pod(name string, options ...fake.Option) *corev1.Pod {
	w.t.Helper()
	pod := fake.Pod(name, append([]fake.Option{fake.OnNode(nodeName)}, options...)...)
	if len(pod.Spec.Volumes) == 0 {
		addClaim(pod, "data", "c1")
	}
	w.create(pod)
	w.Advance(0)
	return w.stored(name)
}

func addClaim(pod *corev1.Pod, volume, claim string) {
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}})
	c := &pod.Spec.Containers[0]
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: volume, MountPath: "/" + volume})
}

func (w *world) stored(pod string) *corev1.Pod {
	w.t.Helper()
	stored, err := w.Store().Pods.Get("default/" + pod)
	w.ok(err)
	return stored
}

func (w *world) phase(pod string) corev1.PodPhase {
	stored, ok := w.Store().Pods.Lookup("default/" + pod)
	if !ok {
		return "gone"
	}
	return stored.Status.Phase
}

func (w *world) deletePod(pod string) {
	w.t.Helper()
	_, err := w.Store().Pods.Delete("default/"+pod, api.DeleteOptions{})
	w.ok(err)
	w.Advance(0)
}

func (w *world) forceDelete(pod string) {
	w.t.Helper()
	now := int64(0)
	_, err := w.Store().Pods.Delete("default/"+pod, api.DeleteOptions{GracePeriodSeconds: &now})
	w.ok(err)
	w.Advance(0)
}

// attach does what controller and attacher do: VolumeAttachment, storage, status of the node.
func (w *world) attach(handles ...string) {
	w.t.Helper()
	var attached []corev1.AttachedVolume
	for _, h := range handles {
		w.attachment(h, func(va *storagev1.VolumeAttachment) { va.Status.Attached = true })
		if slices.Contains(handles, h) {
			_, err := w.driver.Attach(storage.AttachRequest{ID: h, Node: nodeName})
			w.ok(err)
		}
		attached = append(attached, corev1.AttachedVolume{Name: objects.CSIVolumeName(driverName, h)})
	}
	w.setAttached(attached...)
	w.Advance(0)
}

func (w *world) attachment(h string, change func(*storagev1.VolumeAttachment)) {
	w.t.Helper()
	pv := "pv" + strings.TrimPrefix(h, "h")
	va := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: objects.AttachmentName(h, driverName, nodeName)}}
	va.Spec = storagev1.VolumeAttachmentSpec{Attacher: driverName, NodeName: nodeName, Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &pv}}
	change(va)
	w.load(va)
}

func (w *world) setAttached(attached ...corev1.AttachedVolume) {
	w.t.Helper()
	node, err := w.Store().Nodes.Get(nodeName)
	w.ok(err)
	changed := *node
	changed.Status.VolumesAttached = attached
	_, err = w.Store().Nodes.UpdateStatus(&changed)
	w.ok(err)
}

// run brings a pod to Running, from the beginning.
func (w *world) run(pod string, options ...fake.Option) *corev1.Pod {
	w.t.Helper()
	w.pod(pod, options...)
	w.Advance(11 * time.Second)
	w.attach(handle)
	w.Advance(time.Second)
	if got := w.phase(pod); got != corev1.PodRunning {
		w.t.Fatalf("pod %s is %s, want Running", pod, got)
	}
	w.mark()
	return w.stored(pod)
}

// mark begins a new stretch of the log.
func (w *world) mark() { w.seen, w.base = w.Trace().Seq(), w.Now() }

// calls are the storage calls that ended since the mark: "Stage h1", or "Stage h1 = Internal".
func (w *world) calls() []string {
	var calls []string
	for e := range w.Trace().Since(w.seen) {
		if e.Type == trace.Storage && e.Verb == "end" {
			calls = append(calls, callLine(e))
		}
	}
	return calls
}

// timed are the calls with the time since the mark.
func (w *world) timed() []string {
	var calls []string
	for e := range w.Trace().Since(w.seen) {
		if e.Type == trace.Storage && e.Verb == "end" {
			calls = append(calls, fmt.Sprintf("%v %s", e.Time.Sub(w.base), callLine(e)))
		}
	}
	return calls
}

func callLine(e trace.Entry) string {
	line := e.Call.Verb + " " + e.Call.Key
	if e.Err != nil {
		line += " = " + string(storage.CodeOf(e.Err))
	}
	return line
}

// events are the Events since the mark: "FailedMount default/p1: text".
func (w *world) events() []string {
	var events []string
	for e := range w.Trace().Since(w.seen) {
		if e.Type == trace.Emitted {
			events = append(events, fmt.Sprintf("%s %s: %s", e.Reason, e.Object.Key, e.Text))
		}
	}
	return events
}

func (w *world) inUse() []corev1.UniqueVolumeName {
	node, ok := w.Store().Nodes.Lookup(nodeName)
	if !ok {
		return nil
	}
	return node.Status.VolumesInUse
}

// state is how the volume is mounted for a pod, and on the node: "VolumeMounted DeviceGloballyMounted", "-" without a record.
func (w *world) state(uid types.UID) string {
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

func want[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// failing makes the next calls of an operation fail with a code.
func (w *world) failing(op storage.Op, code storage.Code) *fake.Rule {
	return w.faults.Fail(fake.Match{Target: driverName, Verb: string(op)}, storage.Errorf(code, "no"))
}

func (w *world) setClaim(name string, change func(*corev1.PersistentVolumeClaim)) {
	w.t.Helper()
	claim, err := w.Store().Claims.Get("default/" + name)
	w.ok(err)
	changed := claim.DeepCopy()
	change(changed)
	w.load(changed)
}

func (w *world) setVolume(name string, change func(*corev1.PersistentVolume)) {
	w.t.Helper()
	pv, err := w.Store().Volumes.Get(name)
	w.ok(err)
	changed := pv.DeepCopy()
	change(changed)
	w.load(changed)
}

// hold keeps a pod in the API after its deletion, letGo ends that.
func (w *world) hold(pod string) { w.finalizers(pod, "example.com/hold") }

func (w *world) letGo(pod string) { w.finalizers(pod) }

func (w *world) finalizers(pod string, names ...string) {
	w.t.Helper()
	changed := *w.stored(pod)
	changed.Finalizers = names
	_, err := w.Store().Pods.Update(&changed)
	w.ok(err)
	w.Advance(0)
}

// deleteNow deletes without conditions.
var deleteNow = api.DeleteOptions{}

// newWorldWith is a world with another injector.
func newWorldWith(t *testing.T, injector api.Injector) *world {
	t.Helper()
	return newWorld(t, func(s *setup) { s.engine.Injector = injector })
}

// testSpec is the spec of a volume of a pod.
func testSpec(name string) *volumes.Spec {
	return &volumes.Spec{VolumeSpec: objects.VolumeSpec{PV: fake.Volume("pv1", "1Gi")}, PodName: name}
}
