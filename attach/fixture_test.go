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
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/options"
	"github.com/volsim/volsim/internal/core/sidecar"
	"github.com/volsim/volsim/internal/proof/rig"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

const driver = "d"

// fixture has nodes a and b, managed and ready; a driver d that attaches; claims with volumes of it; the attach/detach controller and the
// driver's external attacher. The test takes the part of all other components.
type fixture struct {
	*rig.Rig
	disk   *fake.Memory
	cfg    attach.Config
	opts   options.Attach
	ea     sidecar.Config
	eaOpts options.Attacher
	// backend is the storage behind the attacher; nil means disk.
	backend storage.Backend
	seed    int64
	lag     time.Duration // of the controller
	eaLag   time.Duration // of the attacher
	handles []string
	// noAttacher leaves VolumeAttachments to the test.
	noAttacher bool
}

type option func(*fixture)

// withoutAttacher omits the external attacher.
var withoutAttacher option = func(w *fixture) { w.noAttacher = true }

func newFixture(t *testing.T, opts ...option) *fixture {
	t.Helper()
	w := prepare(t, opts...)
	w.start()
	return w
}

// prepare returns a fixture whose controllers do not run yet.
func prepare(t *testing.T, opts ...option) *fixture {
	t.Helper()
	w := &fixture{disk: fake.CSI(driver, fake.Lenient())}
	// Times are easier to read if the first pass is immediate.
	w.opts.CacheWait = -1
	for _, opt := range opts {
		opt(w)
	}
	w.Rig = rig.New(t, engine.Config{Seed: w.seed, Lag: map[string]time.Duration{actors.AttachDetach: w.lag,
		actors.Attacher(driver): w.eaLag}})
	w.Create(&storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: driver}})
	w.node("a")
	w.node("b")
	w.volume("pv1", "h1", "c1", corev1.ReadWriteOnce)
	return w
}

// start starts the controllers.
func (w *fixture) start() {
	w.T.Helper()
	if w.backend == nil {
		w.backend = w.disk
	}
	_, err := attach.New(w.Engine, rig.Backends(w.T, w.backend), w.cfg, w.opts)
	w.OK(err)
	if !w.noAttacher {
		_, err := attach.NewAttacher(w.Engine, w.backend, w.ea, w.eaOpts)
		w.OK(err)
	}
	w.Mark()
}

// restart crashes and starts the attach/detach controller.
func (w *fixture) restart(down func()) {
	w.T.Helper()
	a, _ := w.Actor(actors.AttachDetach)
	a.Crash()
	if down != nil {
		down()
	}
	w.Mark()
	a.Start()
}

func (w *fixture) node(name string) {
	w.T.Helper()
	node := fake.Node(name)
	node.Annotations = map[string]string{objects.AnnManagedAttach: "true"}
	w.Create(node, &storagev1.CSINode{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: driver, NodeID: "id-" + name}}},
	})
}

// volume creates a claim, "namespace/name" or "name", and the volume that it is bound to.
func (w *fixture) volume(name, handle, claim string, modes ...corev1.PersistentVolumeAccessMode) {
	w.T.Helper()
	if !slices.Contains(w.handles, handle) {
		w.handles = append(w.handles, handle)
	}
	pvc := fake.Claim(claim, "1Gi", fake.VolumeName(name))
	pvc.Spec.AccessModes = modes
	w.Create(pvc)
	key := api.KeyOf(pvc)
	stored, _ := w.Store().Claims.Get(key)
	pv := fake.Volume(name, "1Gi", fake.CSISource(driver, handle), fake.ForClaim(key, stored.UID))
	pv.Spec.AccessModes = modes
	w.Create(pv)
	w.status(stored, `{"status":{"phase":"Bound"}}`)
}

// pod creates a pod, "namespace/name" or "name", on the node with these claims.
func (w *fixture) pod(name, node string, claims ...string) *corev1.Pod {
	w.T.Helper()
	opts := []fake.Option{fake.Claims(claims...)}
	if node != "" {
		opts = append(opts, fake.OnNode(node))
	}
	pod := fake.Pod(name, opts...)
	w.Create(pod)
	stored, err := w.Store().Pods.Get(api.KeyOf(pod))
	w.OK(err)
	return stored
}

func (w *fixture) status(obj api.Object, patch string) {
	w.T.Helper()
	w.PatchStatus(api.KindOf(obj), api.KeyOf(obj), patch)
}

func (w *fixture) main(obj api.Object, patch string) {
	w.T.Helper()
	w.Patch(api.KindOf(obj), api.KeyOf(obj), patch)
}

func (w *fixture) delete(obj api.Object) { w.T.Helper(); w.Delete(api.KindOf(obj), api.KeyOf(obj)) }

// kill deletes a pod without a grace period.
func (w *fixture) kill(pod *corev1.Pod) { w.T.Helper(); w.DeleteNow(api.Pod, api.KeyOf(pod)) }

// running records in the API that the pod's container runs.
func (w *fixture) running(pod *corev1.Pod) {
	w.T.Helper()
	w.status(pod, `{"status":{"phase":"Running","containerStatuses":[{"name":"main","image":"main","imageID":"x","state":{"running":{}}}]}}`)
}

func nodeNamed(name string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// inUse writes the report of a kubelet.
func (w *fixture) inUse(node string, handles ...string) {
	w.T.Helper()
	names := []string{}
	for _, handle := range handles {
		names = append(names, fmt.Sprintf("%q", objects.CSIVolumeName(driver, handle)))
	}
	w.status(nodeNamed(node), `{"status":{"volumesInUse":[`+strings.Join(names, ",")+`]}}`)
}

// ready sets the Ready condition, as the node lifecycle controller or the kubelet does.
func (w *fixture) ready(node, status string) {
	w.T.Helper()
	w.status(nodeNamed(node), `{"status":{"conditions":[{"type":"Ready","status":"`+status+`"}]}}`)
}

func (w *fixture) taint(node string) {
	w.T.Helper()
	w.main(nodeNamed(node), `{"spec":{"taints":[{"key":"node.kubernetes.io/out-of-service","effect":"NoExecute"}]}}`)
}

// va returns the VolumeAttachment of h1 for the node, nil if there is none.
func (w *fixture) va(node string) *storagev1.VolumeAttachment {
	va, _ := w.Store().Attachments.Lookup(objects.AttachmentName("h1", driver, node))
	return va
}

// attached returns the handles in the node's status.volumesAttached.
func (w *fixture) attached(node string) []string {
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

// moved creates a pod of that name on the node, and attaches and mounts the volume for it.
func (w *fixture) moved(pod, node, claim, handle string) *corev1.Pod {
	w.T.Helper()
	p := w.pod(pod, node, claim)
	w.inUse(node, handle)
	w.Advance(2 * time.Second)
	if got := w.attached(node); !slices.Contains(got, handle) {
		w.T.Fatalf("volumesAttached of %s = %v, want %s in it; trace:\n%s", node, got, handle, strings.Join(w.log(), "\n"))
	}
	w.running(p)
	w.Mark()
	return p
}

// log returns what the controller wrote, the calls to the driver, and Events since the mark.
func (w *fixture) log() []string { return w.Log(w.line) }

func (w *fixture) line(e trace.Entry) string {
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
func (w *fixture) place(name string) string {
	for _, handle := range w.handles {
		for _, node := range []string{"a", "b"} {
			if objects.AttachmentName(handle, driver, node) == name {
				return handle + "@" + node
			}
		}
	}
	return name
}

// want compares the log since the mark, and begins a new one from which times go on.
func (w *fixture) want(what string, lines ...string) {
	w.T.Helper()
	w.Want(what, w.log(), lines...)
}

func (w *fixture) wantAttached(what, node string, handles ...string) {
	w.T.Helper()
	if got := w.attached(node); !slices.Equal(got, handles) && len(got)+len(handles) > 0 {
		w.T.Errorf("%s: volumesAttached of %s = %v, want %v", what, node, got, handles)
	}
}
