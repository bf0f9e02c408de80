package check_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/check"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/reuse"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

const (
	driver = "disk.example.com"
	inTree = "kubernetes.io/mock-storage"
)

// history is a history made by hand.
type history struct {
	t       *testing.T
	checker *check.Checker
	now     time.Time
	seq     uint64
	objs    map[api.Ref]api.Object
	cutOff  map[string]bool
	disk    *fake.Memory
}

func newHistory(t *testing.T, invariants ...string) *history {
	t.Helper()
	h := &history{t: t, now: engine.DefaultStart, objs: map[api.Ref]api.Object{}, cutOff: map[string]bool{}}
	picked, err := check.Named(invariants...)
	require.NoError(t, err)
	h.disk = fake.CSI(driver)
	backends, err := backends.NewSet(h.disk, fake.InTree(inTree), fake.NFS())
	require.NoError(t, err)
	h.checker, err = check.New(picked, backends, func(node string) bool { return !h.cutOff[node] })
	require.NoError(t, err)
	h.checker.Advance(h.now)
	// The next history of the same invariants has a checker that was used before, as in sweeps.
	t.Cleanup(func() { reuse.Checker(h.checker) })
	return h
}

func (h *history) see(e trace.Entry) {
	h.seq++
	e.Seq, e.Time = h.seq, h.now
	h.checker.Observe(e)
}

// after lets time pass.
func (h *history) after(d time.Duration) {
	h.now = h.now.Add(d)
	h.checker.Advance(h.now)
}

// put writes an object, giving it a uid if it has none.
func (h *history) put(actor string, objs ...api.Object) {
	for _, obj := range objs {
		obj = obj.DeepCopyObject().(api.Object)
		ref, verb := api.RefTo(obj), "update"
		old := h.objs[ref]
		if old == nil {
			verb = "create"
		}
		if obj.GetUID() == "" {
			obj.SetUID(types.UID("uid-" + obj.GetName()))
		}
		h.objs[ref] = obj
		h.see(trace.Entry{Type: trace.Write, Actor: actor, Verb: verb, Object: ref, Old: old, New: obj})
	}
}

func (h *history) remove(actor string, obj api.Object) {
	ref := api.RefTo(obj)
	h.see(trace.Entry{Type: trace.Write, Actor: actor, Verb: "delete", Object: ref, Old: h.objs[ref]})
	delete(h.objs, ref)
}

func (h *history) call(op storage.Op, id, node, pod string) { h.callTo(driver, op, id, node, pod, nil) }

func (h *history) callTo(backend string, op storage.Op, id, node, pod string, err error) {
	call := api.Call{Target: backend, Verb: string(op), Key: id, Node: node}
	if pod != "" {
		call.Pod = "uid-" + pod
	}
	actor := "sidecar"
	if op == storage.Stage || op == storage.Publish || op == storage.Unstage || op == storage.Unpublish {
		actor = actors.Kubelet(node)
	}
	call.Actor = actor
	h.see(trace.Entry{Type: trace.Storage, Actor: actor, Verb: "end", Call: call, Err: err})
}

// lose has the reply of the next such call get lost.
func (h *history) lose(backend string, op storage.Op, id, node, pod string, err error) {
	call := api.Call{Actor: "sidecar", Target: backend, Verb: string(op), Key: id, Node: node}
	if pod != "" {
		call.Pod, call.Actor = "uid-"+pod, actors.Kubelet(node)
	}
	h.see(trace.Entry{Type: trace.Injected, Actor: call.Actor, Call: call, Text: "error (it took effect)", Err: err})
}

func (h *history) actor(name string, what trace.EntryType) {
	h.see(trace.Entry{Type: what, Actor: name})
}

// forceDetach records the decision of the attach/detach controller to detach by force.
func (h *history) forceDetach(volume, node string) {
	unique := objects.CSIVolumeName(driver, volume)
	const why = "no pod on the node has wanted the volume for more than 6 minutes, and the node is not ready: it is detached by force"
	h.see(trace.Entry{Type: trace.Decision, Actor: actors.AttachDetach, Rule: "ATT-064",
		Text:   fmt.Sprintf("detach %s from node %s: %s", unique, node, why),
		Detach: &trace.Detach{Volume: string(unique), Node: node, Forced: true, Why: why}})
}

// violations returns all violations as text.
func (h *history) violations() string {
	var texts []string
	for _, v := range h.checker.Violations() {
		texts = append(texts, v.String())
	}
	return strings.Join(texts, "\n")
}

// pv is a CSI volume, Bound to claim "c-<name>" in default, as claim is to it.
func pv(name string, opts ...fake.Option) *corev1.PersistentVolume {
	v := fake.Volume(name, "1Gi", append([]fake.Option{fake.CSISource(driver, name)}, opts...)...)
	v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "default", Name: "c-" + name, UID: types.UID("uid-c-" + name)}
	v.Status.Phase = corev1.VolumeBound
	return v
}

func claim(volume string) *corev1.PersistentVolumeClaim {
	c := fake.Claim("c-"+volume, "1Gi", fake.VolumeName(volume))
	c.Status.Phase = corev1.ClaimBound
	return c
}

func pod(name, volume, node string) *corev1.Pod {
	return fake.Pod(name, fake.Claims("c-"+volume), fake.OnNode(node))
}

// member is pod db-0 of StatefulSet db, with a uid made from name. It runs.
func member(name, node string) *corev1.Pod {
	p := pod("db-0", "v", node)
	p.UID, p.Status.Phase = types.UID("uid-"+name), corev1.PodRunning
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "db", UID: "uid-db", Controller: new(true)}}
	return p
}

// deleted is the object with a mark of its deletion.
func deleted[T api.Object](obj T, at time.Time) T {
	mark := metav1.NewTime(at)
	obj.SetDeletionTimestamp(&mark)
	return obj
}

// bound is the usual beginning: nodes n1 and n2, a volume with a claim, and pods p1 on n1 and p2 on n2 that name it.
func (h *history) bound(opts ...fake.Option) {
	h.put("user", fake.Node("n1"), fake.Node("n2"), pv("v", opts...), claim("v"), pod("p1", "v", "n1"), pod("p2", "v", "n2"))
}

// mounted brings the volume to a node for a pod.
func (h *history) mounted(node, pod string) {
	h.call(storage.Attach, "v", node, "")
	h.call(storage.Stage, "v", node, "")
	h.call(storage.Publish, "v", node, pod)
}

// grown is the PersistentVolume with another capacity.
func grown(pv *corev1.PersistentVolume, size string) *corev1.PersistentVolume {
	pv.Spec.Capacity = capacityOf(size)
	return pv
}

// asking is the claim with another request, shown with another capacity, allocated in the middle of an expansion.
func asking(claim *corev1.PersistentVolumeClaim, size string) *corev1.PersistentVolumeClaim {
	claim.Spec.Resources.Requests = capacityOf(size)
	return claim
}

func shown(claim *corev1.PersistentVolumeClaim, size string) *corev1.PersistentVolumeClaim {
	claim.Status.Capacity = capacityOf(size)
	return claim
}

func allocated(claim *corev1.PersistentVolumeClaim, size string, status corev1.ClaimResourceStatus) *corev1.PersistentVolumeClaim {
	claim.Status.AllocatedResources = capacityOf(size)
	if status != "" {
		claim.Status.AllocatedResourceStatuses = map[corev1.ResourceName]corev1.ClaimResourceStatus{corev1.ResourceStorage: status}
	}
	return claim
}

func capacityOf(size string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
}

// expand has the backend grow a volume.
func (h *history) expand(id string, size int64) {
	_, _, err := h.disk.Expand(storage.ExpandRequest{ID: id, Size: size})
	require.NoError(h.t, err)
}
