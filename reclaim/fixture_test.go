package reclaim_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/klog"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/options"
	"github.com/volsim/volsim/internal/core/pvcontroller"
	"github.com/volsim/volsim/internal/proof/rig"
	"github.com/volsim/volsim/reclaim"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

const hostName = "persistentvolume-controller"

// fixture is an engine with a stand-in for the PersistentVolume controller, which does nothing by itself.
type fixture struct {
	*rig.Rig
	faults    []func(api.Call) api.Fault
	host      *host
	reclaimer pvcontroller.Reclaimer
	actor     *engine.Actor
}

func newFixture(t *testing.T, cfg options.Reclaimer, backends ...storage.Backend) *fixture {
	t.Helper()
	w := &fixture{}
	w.Rig = rig.New(t, engine.Config{Injector: engine.InjectorFunc(func(c api.Call) api.Fault {
		for _, fault := range w.faults {
			if f := fault(c); f != (api.Fault{}) {
				return f
			}
		}
		return api.Fault{}
	})})
	set := rig.Backends(t, backends...)
	w.actor = w.must(w.NewActor(hostName, func(a *engine.Actor) {
		w.host = newHost(a)
		w.reclaimer = reclaim.NewReclaimer(w.host, set, cfg)
	}))
	return w
}

func (w *fixture) must(a *engine.Actor, err error) *engine.Actor {
	w.T.Helper()
	w.OK(err)
	return a
}

// fail makes calls of an actor fail, as long as they match: "update PersistentVolume", "delete Pod", "Delete" of a backend.
func (w *fixture) fail(actor, call string, err error) {
	w.fault(actor, call, api.Fault{Err: err})
}

func (w *fixture) fault(actor, call string, fault api.Fault) {
	w.faults = append(w.faults, func(c api.Call) api.Fault {
		if c.Actor == actor && strings.TrimSpace(c.Verb+" "+c.Kind) == call {
			return fault
		}
		return api.Fault{}
	})
}

func (w *fixture) volume(name string) *corev1.PersistentVolume {
	w.T.Helper()
	pv, err := w.Store().Volumes.Get(name)
	if err != nil {
		w.T.Fatalf("volume %s: %v", name, err)
	}
	return pv
}

func (w *fixture) hasVolume(name string) bool {
	_, ok := w.Store().Volumes.Lookup(name)
	return ok
}

// settle runs for a while of virtual time.
func (w *fixture) settle() { w.Advance(time.Minute) }

// reclaim has the stand-in sync a volume once, as it is now.
func (w *fixture) reclaim(name string) error {
	w.T.Helper()
	return w.reclaimAs(w.volume(name))
}

// reclaimAs has the stand-in sync this version of a volume.
func (w *fixture) reclaimAs(pv *corev1.PersistentVolume) error {
	err := fmt.Errorf("Reclaim has not returned")
	w.actor.Go("volume sync", func(p *engine.Process) { err = w.reclaimer.Reclaim(p, pv) })
	w.settle()
	return err
}

// writes lists the successful writes since the given point as "verb Kind key", without those that changed nothing.
func (w *fixture) writes(since uint64) []string {
	var writes []string
	for entry := range w.Trace().Since(since) {
		if entry.Type == trace.Write && entry.Err == nil && entry.Actor != api.User && entry.Old != entry.New {
			writes = append(writes, entry.Verb+" "+entry.Object.String())
		}
	}
	return writes
}

// events lists the Events since the given point as "type reason: message".
func (w *fixture) events(since uint64) []string {
	var events []string
	for entry := range w.Trace().Since(since) {
		if entry.Type == trace.Emitted {
			events = append(events, entry.Verb+" "+entry.Reason+": "+entry.Text)
		}
	}
	return events
}

// decided reports whether a decision by the rule was recorded since the given point.
func (w *fixture) decided(since uint64, rule string) bool {
	for entry := range w.Trace().Since(since) {
		if entry.Type == trace.Decision && entry.Rule == rule {
			return true
		}
	}
	return false
}

// calls lists the calls that reached the backends since the given point as "Verb key".
func (w *fixture) calls(since uint64) []string {
	var calls []string
	for entry := range w.Trace().Since(since) {
		if entry.Type == trace.Storage && entry.Verb == "end" {
			calls = append(calls, entry.Call.Verb+" "+entry.Call.Key)
		}
	}
	return calls
}

func equal(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %q\nwant %q", what, got, want)
	}
}

// host is the stand-in. Its cache of claims is the store, unless own says otherwise.
type host struct {
	actor      *engine.Actor
	operations *engine.NestedOperations
	recorder   *engine.Recorder
	own        map[string]*corev1.PersistentVolumeClaim // nil: not in the cache
	kept       []*corev1.PersistentVolume
}

func newHost(a *engine.Actor) *host {
	return &host{
		actor: a, operations: a.NewNestedOperations(), recorder: a.NewRecorder(hostName),
		own: map[string]*corev1.PersistentVolumeClaim{},
	}
}

func (h *host) OwnClaim(key string) (*corev1.PersistentVolumeClaim, bool) {
	if claim, known := h.own[key]; known {
		return claim, claim != nil
	}
	return h.actor.Engine().Store().Claims.Lookup(key)
}

func (h *host) CacheVolume(pv *corev1.PersistentVolume) { h.kept = append(h.kept, pv) }

func (h *host) PodsUsing(claimKey string) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, pod := range h.actor.Engine().Store().Pods.List() {
		if !objects.Terminated(pod) && slices.Contains(objects.ClaimsOf(pod), claimKey) {
			pods = append(pods, pod)
		}
	}
	return pods
}

func (h *host) SetVolumePhase(p *engine.Process, pv *corev1.PersistentVolume, phase corev1.PersistentVolumePhase,
	message string) (*corev1.PersistentVolume, error) {
	if pv.Status.Phase == phase {
		return pv, nil
	}
	edited := *pv
	edited.Status.Phase = phase
	edited.Status.Message = message
	return p.API().Volumes.UpdateStatus(p, &edited)
}

func (h *host) SetVolumePhaseWithEvent(p *engine.Process, pv *corev1.PersistentVolume, phase corev1.PersistentVolumePhase, eventType,
	reason, message string) (*corev1.PersistentVolume, error) {
	if pv.Status.Phase == phase {
		return pv, nil
	}
	pv, err := h.SetVolumePhase(p, pv, phase, message)
	if err == nil {
		h.Event(p, pv, eventType, reason, message)
	}
	return pv, err
}

func (h *host) Unbind(p *engine.Process, pv *corev1.PersistentVolume) error {
	edited := *pv
	edited.Spec.ClaimRef = nil
	stored, err := p.API().Volumes.Update(p, &edited)
	if err != nil {
		return err
	}
	_, err = h.SetVolumePhase(p, stored, corev1.VolumeAvailable, "")
	return err
}

func (h *host) Operations() *engine.NestedOperations { return h.operations }

func (h *host) Loggers() (log, base *klog.Logger) { return nil, nil }

func (h *host) Event(p *engine.Process, obj api.Object, eventType, reason, text string, args ...any) {
	h.recorder.Event(p, obj, eventType, reason, text, args...)
}

// plugin is an in-tree plugin for hostPath volumes, or for the sources that supports accepts.
type plugin struct {
	name     string
	supports func(*corev1.PersistentVolumeSource) bool
	cannot   []storage.Op
	err      map[storage.Op]error
	delay    map[storage.Op]time.Duration
	byPod    bool
	during   func(op storage.Op) // called as part of a call
}

func (b *plugin) Name() string { return b.name }

func (b *plugin) Supports(source *corev1.PersistentVolumeSource) bool {
	if b.supports != nil {
		return b.supports(source)
	}
	return source != nil && source.HostPath != nil
}

func (b *plugin) Capabilities() storage.Capabilities {
	return storage.Capabilities{Without: append([]storage.Op{storage.Create}, b.cannot...)}
}

func (b *plugin) InTreeCapabilities() backends.InTreeCapabilities {
	return backends.InTreeCapabilities{RecyclerPod: b.byPod}
}

func (b *plugin) Delay(op storage.Op, _ string) time.Duration { return b.delay[op] }

func (b *plugin) Create(storage.CreateRequest) (storage.Volume, error) {
	return storage.Volume{}, b.answer(storage.Create)
}

func (b *plugin) Delete(storage.DeleteRequest) error { return b.answer(storage.Delete) }

func (b *plugin) Recycle(string, *corev1.PersistentVolumeSource) error {
	return b.answer(storage.Recycle)
}

func (b *plugin) answer(op storage.Op) error {
	if b.during != nil {
		b.during(op)
	}
	return b.err[op]
}

// volumeOption changes the volume that newVolume makes.
type volumeOption func(*corev1.PersistentVolume)

// newVolume is a Released hostPath volume pv1 whose claim default/c1 with uid "u1" is gone.
func newVolume(options ...volumeOption) *corev1.PersistentVolume {
	pv := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "pv1", UID: "pv1-uid", Finalizers: []string{objects.VolumeProtectionFinalizer}},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			AccessModes:                   []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				HostPath: &corev1.HostPathVolumeSource{Path: "/tmp/data"},
			},
			ClaimRef: &corev1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: "default", Name: "c1", UID: "u1"},
		},
		Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeReleased},
	}
	for _, option := range options {
		option(pv)
	}
	return pv
}

func policy(policy corev1.PersistentVolumeReclaimPolicy) volumeOption {
	return func(pv *corev1.PersistentVolume) { pv.Spec.PersistentVolumeReclaimPolicy = policy }
}

func annotated(key, value string) volumeOption {
	return func(pv *corev1.PersistentVolume) {
		if pv.Annotations == nil {
			pv.Annotations = map[string]string{}
		}
		pv.Annotations[key] = value
	}
}

func finalizers(names ...string) volumeOption {
	return func(pv *corev1.PersistentVolume) { pv.Finalizers = names }
}

func phase(phase corev1.PersistentVolumePhase) volumeOption {
	return func(pv *corev1.PersistentVolume) { pv.Status.Phase = phase }
}

func terminating(pv *corev1.PersistentVolume) {
	now := metav1.NewTime(engine.DefaultStart)
	pv.DeletionTimestamp, pv.DeletionGracePeriodSeconds = &now, ptr(int64(0))
}

func csi(driver string) volumeOption {
	return func(pv *corev1.PersistentVolume) {
		pv.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{
			CSI: &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: pv.Name + "-handle"},
		}
	}
}

func nfs(pv *corev1.PersistentVolume) {
	pv.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{Server: "srv", Path: "/export"}}
}

func claimRef(ref *corev1.ObjectReference) volumeOption {
	return func(pv *corev1.PersistentVolume) { pv.Spec.ClaimRef = ref }
}

func newClaim(name string, uid types.UID, volumeName string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, UID: uid, Finalizers: []string{objects.ClaimProtectionFinalizer},
		},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			VolumeName:  volumeName,
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			},
		},
		Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending},
	}
}

// newPod is a running pod on node n1 with a volume "data" for each claim.
func newPod(name string, claims ...string) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name + "-uid")},
		Spec: corev1.PodSpec{
			NodeName:   "n1",
			Containers: []corev1.Container{{Name: "c", Image: "i"}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
	for i, claim := range claims {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{
			Name: fmt.Sprintf("data%d", i),
			VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
			},
		})
	}
	return pod
}

// ephemeralVolume adds a generic ephemeral volume to a pod.
func ephemeralVolume(pod *corev1.Pod, name string) *corev1.Pod {
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{
		Name: name,
		VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{
			VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"l": "1"}, Annotations: map[string]string{"a": "2"}},
				Spec:       newClaim("", "", "").Spec,
			},
		}},
	})
	return pod
}

func ptr[V any](v V) *V { return &v }
