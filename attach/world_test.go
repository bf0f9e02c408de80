package attach_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/attach"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/options"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

const driver = "d"

// world is the base of the scenarios: nodes a and b, managed and ready; a driver d that attaches; claims with volumes of it; the
// attach/detach controller and the driver's external attacher. The test plays everybody else.
type world struct {
	*engine.Engine
	t      *testing.T
	disk   *fake.Memory
	faults *fake.Faults
	trace  *trace.Trace
	cfg    attach.Config
	opts   options.Attach
	ea     attach.AttacherConfig
	eaOpts options.Attacher
	// backend is what the attacher asks; nil is disk.
	backend storage.Backend
	seed    int64
	lag     time.Duration // of the controller
	eaLag   time.Duration // of the attacher
	base    time.Time
	seen    uint64
	handles []string
	// noAttacher leaves VolumeAttachments to the test.
	noAttacher bool
}

type option func(*world)

// without leaves out the external attacher.
var withoutAttacher option = func(w *world) { w.noAttacher = true }

func newWorld(t *testing.T, opts ...option) *world {
	t.Helper()
	w := prepare(t, opts...)
	w.start()
	return w
}

// prepare makes a world in which no controller runs yet.
func prepare(t *testing.T, opts ...option) *world {
	t.Helper()
	w := &world{t: t, faults: fake.NewFaults(), trace: &trace.Trace{}, disk: fake.CSI(driver, fake.Lenient())}
	// Times are easier to read if the first pass is at once.
	w.opts.CacheWait = -1
	for _, opt := range opts {
		opt(w)
	}
	e, err := engine.New(engine.Config{Seed: w.seed, Trace: w.trace, Injector: w.faults, Lag: map[string]time.Duration{actors.AttachDetach: w.lag, actors.Attacher(driver): w.eaLag}})
	if err != nil {
		t.Fatal(err)
	}
	w.Engine = e
	w.create(&storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: driver}})
	w.node("a")
	w.node("b")
	w.volume("pv1", "h1", "c1", corev1.ReadWriteOnce)
	return w
}

// start starts the controllers and lets a second pass.
func (w *world) start() {
	w.t.Helper()
	if w.backend == nil {
		w.backend = w.disk
	}
	set, err := backends.NewSet(w.backend)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := attach.New(w.Engine, set, w.cfg, w.opts); err != nil {
		w.t.Fatal(err)
	}
	if !w.noAttacher {
		if _, err := attach.NewAttacher(w.Engine, w.backend, w.ea, w.eaOpts); err != nil {
			w.t.Fatal(err)
		}
	}
	w.mark()
}

// restart is a new life of the attach/detach controller.
func (w *world) restart(down func()) {
	w.t.Helper()
	a, _ := w.Actor(actors.AttachDetach)
	a.Crash()
	if down != nil {
		down()
	}
	w.mark()
	a.Start()
}

func (w *world) create(objs ...api.Object) {
	w.t.Helper()
	for _, obj := range objs {
		if _, err := w.API().Create(w.User(), obj, api.CreateOptions{}); err != nil {
			w.t.Fatalf("create %s: %v", api.RefTo(obj), err)
		}
	}
}

func (w *world) node(name string) {
	w.t.Helper()
	node := fake.Node(name)
	node.Annotations = map[string]string{objects.AnnManagedAttach: "true"}
	w.create(node, &storagev1.CSINode{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: driver, NodeID: "id-" + name}}},
	})
}

// volume creates a claim, "namespace/name" or "name", and the volume that it is bound to.
func (w *world) volume(name, handle, claim string, modes ...corev1.PersistentVolumeAccessMode) {
	w.t.Helper()
	if !slices.Contains(w.handles, handle) {
		w.handles = append(w.handles, handle)
	}
	pvc := fake.Claim(claim, "1Gi", fake.VolumeName(name))
	pvc.Spec.AccessModes = modes
	w.create(pvc)
	key := api.KeyOf(pvc)
	stored, _ := w.Store().Claims.Get(key)
	pv := fake.Volume(name, "1Gi", fake.CSISource(driver, handle), fake.ForClaim(key, stored.UID))
	pv.Spec.AccessModes = modes
	w.create(pv)
	w.status(stored, `{"status":{"phase":"Bound"}}`)
}

// pod creates a pod, "namespace/name" or "name", on the node with these claims.
func (w *world) pod(name, node string, claims ...string) *corev1.Pod {
	w.t.Helper()
	opts := []fake.Option{fake.Claims(claims...)}
	if node != "" {
		opts = append(opts, fake.OnNode(node))
	}
	pod := fake.Pod(name, opts...)
	w.create(pod)
	stored, err := w.Store().Pods.Get(api.KeyOf(pod))
	if err != nil {
		w.t.Fatal(err)
	}
	return stored
}

func (w *world) patch(obj api.Object, patch string, sub api.Subresource) {
	w.t.Helper()
	if _, err := w.API().Patch(w.User(), api.RefTo(obj), []byte(patch), sub); err != nil {
		w.t.Fatalf("patch %s: %v", api.RefTo(obj), err)
	}
}

func (w *world) status(obj api.Object, patch string) {
	w.t.Helper()
	w.patch(obj, patch, api.Status)
}
func (w *world) main(obj api.Object, patch string) { w.t.Helper(); w.patch(obj, patch, api.Main) }

func (w *world) deleteWith(obj api.Object, opts api.DeleteOptions) {
	w.t.Helper()
	if _, err := w.API().Delete(w.User(), api.RefTo(obj), opts); err != nil {
		w.t.Fatalf("delete %s: %v", api.RefTo(obj), err)
	}
}

func (w *world) delete(obj api.Object) { w.t.Helper(); w.deleteWith(obj, api.DeleteOptions{}) }

// kill deletes a pod without grace.
func (w *world) kill(pod *corev1.Pod) {
	w.t.Helper()
	now := int64(0)
	w.deleteWith(pod, api.DeleteOptions{GracePeriodSeconds: &now})
}

// running reports that the pod's container runs.
func (w *world) running(pod *corev1.Pod) {
	w.t.Helper()
	w.status(pod, `{"status":{"phase":"Running","containerStatuses":[{"name":"main","image":"main","imageID":"x","state":{"running":{}}}]}}`)
}

func nodeNamed(name string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// inUse plays the kubelet's report.
func (w *world) inUse(node string, handles ...string) {
	w.t.Helper()
	names := []string{}
	for _, handle := range handles {
		names = append(names, fmt.Sprintf("%q", objects.CSIVolumeName(driver, handle)))
	}
	w.status(nodeNamed(node), `{"status":{"volumesInUse":[`+strings.Join(names, ",")+`]}}`)
}

// ready plays the node lifecycle controller, or the kubelet.
func (w *world) ready(node, status string) {
	w.t.Helper()
	w.status(nodeNamed(node), `{"status":{"conditions":[{"type":"Ready","status":"`+status+`"}]}}`)
}

func (w *world) taint(node string) {
	w.t.Helper()
	w.main(nodeNamed(node), `{"spec":{"taints":[{"key":"node.kubernetes.io/out-of-service","effect":"NoExecute"}]}}`)
}

// va is the VolumeAttachment of h1 for the node, nil if there is none.
func (w *world) va(node string) *storagev1.VolumeAttachment {
	va, _ := w.Store().Attachments.Lookup(objects.AttachmentName("h1", driver, node))
	return va
}

// attached is what the node's status says is attached.
func (w *world) attached(node string) []string {
	n, ok := w.Store().Nodes.Lookup(node)
	if !ok {
		return nil
	}
	return handlesOf(n.Status.VolumesAttached)
}

func handlesOf(volumes []corev1.AttachedVolume) []string {
	handles := []string{}
	for _, v := range volumes {
		handles = append(handles, strings.TrimPrefix(string(v.Name), objects.CSIPluginName+"/"+driver+"^"))
	}
	return handles
}

// moved makes the volume attached and mounted on the node for a pod of that name.
func (w *world) moved(pod, node, claim, handle string) *corev1.Pod {
	w.t.Helper()
	p := w.pod(pod, node, claim)
	w.inUse(node, handle)
	w.Advance(2 * time.Second)
	if got := w.attached(node); !slices.Contains(got, handle) {
		w.t.Fatalf("volumesAttached of %s = %v, want %s in it; trace:\n%s", node, got, handle, strings.Join(w.log(), "\n"))
	}
	w.running(p)
	w.mark()
	return p
}

// mark begins a new log, whose times count from now.
func (w *world) mark() { w.base, w.seen = w.Now(), w.trace.Seq() }

// log is what happened since mark, as far as it matters here: what the controller wrote, what the driver was asked, and Events.
func (w *world) log() []string {
	var lines []string
	for e := range w.trace.Since(w.seen) {
		if text := w.line(e); text != "" {
			lines = append(lines, e.Time.Sub(w.base).String()+" "+text)
		}
	}
	w.seen = w.trace.Seq()
	return lines
}

func (w *world) line(e trace.Entry) string {
	failed := ""
	if e.Err != nil {
		failed = ": error"
	}
	switch {
	case e.Type == trace.Write && e.Actor == actors.AttachDetach && e.Object.Kind == api.VolumeAttachment:
		return e.Verb + " VA " + w.place(e.Object.Key) + failed
	case e.Type == trace.Write && e.Actor == actors.AttachDetach && e.Object.Kind == api.Node:
		if e.Err != nil {
			return "node " + e.Object.Key + failed
		}
		if e.Old == e.New {
			return "node " + e.Object.Key + " unchanged"
		}
		return fmt.Sprintf("node %s %v", e.Object.Key, handlesOf(e.New.(*corev1.Node).Status.VolumesAttached))
	case e.Type == trace.Storage && e.Verb == "end":
		return fmt.Sprintf("%s %s@%s %s", e.Call.Verb, e.Call.Key, e.Call.Node, storage.CodeOf(e.Err))
	case e.Type == trace.Emitted:
		return fmt.Sprintf("%s %s %s: %s", e.Object.Key, e.Verb, e.Reason, e.Text)
	}
	return ""
}

// place names a VolumeAttachment by volume and node.
func (w *world) place(name string) string {
	for _, handle := range w.handles {
		for _, node := range []string{"a", "b"} {
			if objects.AttachmentName(handle, driver, node) == name {
				return handle + "@" + node
			}
		}
	}
	return name
}

// want compares the log since mark, and goes on with a new one from the same time.
func (w *world) want(what string, lines ...string) {
	w.t.Helper()
	got := w.log()
	if !slices.Equal(got, lines) {
		w.t.Errorf("%s: this happened:\n\t%s\nwant:\n\t%s", what, strings.Join(got, "\n\t"), strings.Join(lines, "\n\t"))
	}
}

func (w *world) wantAttached(what, node string, handles ...string) {
	w.t.Helper()
	if got := w.attached(node); !slices.Equal(got, handles) && len(got)+len(handles) > 0 {
		w.t.Errorf("%s: volumesAttached of %s = %v, want %v", what, node, got, handles)
	}
}
