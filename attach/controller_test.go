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
	"github.com/volsim/volsim/internal/core/options"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/trace"
)

func TestConfig(t *testing.T) {
	e, err := engine.New(engine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		rule string
		cfg  attach.Config
		opts options.Attach
		want string
	}{
		{"ATT-120", attach.Config{SyncPeriod: time.Millisecond}, options.Attach{}, "SyncPeriod"},
		{"ATT-145", attach.Config{}, options.Attach{PollStretch: -1}, "PollStretch"},
	} {
		if _, err := attach.New(e, nil, tt.cfg, tt.opts); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: New(%+v) = %v, want an error that names %s", tt.rule, tt.cfg, err, tt.want)
		}
	}
	if _, err := attach.New(e, nil, attach.Config{}, options.Attach{}); err != nil {
		t.Errorf("New(Config{}) = %v, want nil", err)
	}
	if _, err := attach.New(e, nil, attach.Config{}, options.Attach{}); err == nil {
		t.Error("a second New = nil, want an error")
	}
}

// An idle cluster costs nothing, and what happens after a long time falls on the grid (ATT-060, ATT-120).
func TestIdle(t *testing.T) {
	w := newFixture(t)
	w.moved("p", "a", "c1", "h1")
	w.Advance(4 * minute)
	events := 0
	w.AfterEvent(func() { events++ })
	const year = 365 * 24 * time.Hour
	w.Advance(year)
	if events > 0 {
		t.Errorf("a virtual year took %d events, want none", events)
	}
	// Passes that verify are 60.1 s apart: the last was at a multiple of that since the start.
	w.Mark()
	ea, _ := w.Actor(actors.Attacher(driver))
	ea.Crash()
	w.status(w.va("a"), `{"status":{"attached":false}}`)
	since := w.Now().Sub(engine.DefaultStart)
	next := since.Truncate(60100*ms) + 60200*ms - since
	w.Advance(2 * minute)
	w.want("ATT-060, ATT-120: on the grid", fmt.Sprintf("%v node a []", next))
}

// Passes follow each other at 100 ms from the end of one to the begin of the next (ATT-060).
func TestCadence(t *testing.T) {
	w := newFixture(t)
	p := w.moved("p", "a", "c1", "h1")
	w.at50()
	w.Faults.Add(matchNodeList, api.Fault{Err: errBroken, Delay: 70 * ms}).Once()
	w.Faults.Slow(matchNodeList, 70*ms).Once()
	w.kill(p)
	w.inUse("a")
	w.Advance(2 * sec)
	// The pass begins at 50 ms; with two writes it takes 140 ms.
	w.want("ATT-060",
		"120ms node a: error",
		"190ms node a unchanged",
		"290ms node a []",
		"290ms delete VA h1@a",
		"290ms Detach h1@a OK",
	)
}

// One node that cannot be written does not keep the others from it, and each write has all there is for its node (ATT-111, ATT-112).
func TestNodeWrites(t *testing.T) {
	w := newFixture(t)
	w.volume("m1", "m1", "cm1", corev1.ReadWriteMany)
	w.volume("m2", "m2", "cm2", corev1.ReadWriteMany)
	p := w.pod("p", "a", "cm1", "cm2")
	q := w.pod("q", "b", "cm1")
	w.Advance(2 * sec)
	w.wantAttached("attached", "a", "m1", "m2")
	w.at50()
	w.kill(p)
	w.inUse("a")
	w.Advance(sec)
	w.want("ATT-112: one write for each volume",
		"50ms node a [m2]", "50ms node a []",
		"50ms delete VA m1@a", "50ms delete VA m2@a",
		"50ms Detach m1@a OK", "50ms Detach m2@a OK")
	w.kill(q)
	w.inUse("b")
	w.Advance(sec)
	w.wantAttached("detached", "b")
	w.log()
	w.pod("p2", "a", "cm1")
	w.pod("q2", "b", "cm1")
	w.Faults.Fail(fake.Match{Actor: actors.AttachDetach, Verb: "patch-status", Kind: "Node", Key: "a"}, errBroken).Once()
	w.Advance(2 * sec)
	var writes []string
	for _, line := range w.log() {
		if _, text, _ := strings.Cut(line, " "); strings.HasPrefix(text, "node ") {
			writes = append(writes, text)
		}
	}
	if want := []string{"node a: error", "node b [m1]", "node a [m1]"}; !slices.Equal(writes, want) {
		t.Errorf("ATT-111, ATT-113: the writes are %q, want %q", writes, want)
	}
}

// With a cache that lags the difference is one too few, and heals with the next change of that node (ATT-114, ATT-211).
func TestStaleDiff(t *testing.T) {
	w := newFixture(t, func(w *fixture) { w.lag = 3 * sec })
	w.volume("m1", "m1", "cm1", corev1.ReadWriteMany)
	p := w.pod("p", "a", "c1")
	w.inUse("a", "h1")
	w.Advance(minute)
	w.wantAttached("attached", "a", "h1")
	w.at50()
	w.Faults.Fail(fake.Match{Actor: actors.AttachDetach, Verb: "delete"}, errBroken).Once()
	w.kill(p)
	w.inUse("a")
	w.Advance(200 * ms)
	w.pod("p2", "a", "c1")
	w.Advance(10 * sec)
	w.want("ATT-114: the controller takes the list for written",
		"3.05s node a []",
		"3.05s delete VA h1@a: error",
		"3.75s default/p2 "+attachedText,
		"3.85s node a unchanged",
	)
	w.wantAttached("ATT-114: and it is not", "a")
	w.pod("q", "a", "cm1")
	w.Advance(minute)
	w.wantAttached("ATT-114: healed by the next change", "a", "h1", "m1")
}

// The Events go to the pods of the moment when the operation began (ATT-101), which nothing stops (ATT-080).
func TestEventReceivers(t *testing.T) {
	w := newFixture(t)
	w.at50()
	p := w.pod("p", "a", "c1")
	w.Advance(100 * ms)
	w.kill(p)
	w.pod("late", "a", "c1")
	w.Advance(sec)
	w.want("ATT-080, ATT-101",
		"50ms create VA h1@a", "50ms Attach h1@a OK", "550ms default/p "+attachedText, "650ms node a [h1]")
}

// The claim of a generic ephemeral volume must be the pod's own (ATT-012).
func TestEphemeral(t *testing.T) {
	for _, own := range []bool{true, false} {
		w := newFixture(t)
		pod := fake.Pod("p", fake.OnNode("a"), fake.Ephemeral("v", "1Gi", ""))
		w.Create(pod)
		stored, _ := w.Store().Pods.Get("default/p")
		w.volume("pv2", "h2", "p-v", corev1.ReadWriteOnce)
		if own {
			yes := true
			claim, _ := w.Store().Claims.Get("default/p-v")
			claim = claim.DeepCopy()
			claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "p", UID: stored.UID, Controller: &yes}}
			if _, err := w.API().Update(w.User(), claim, api.Main, store.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		w.Advance(5 * minute)
		if got := len(w.attached("a")); got == 1 != own {
			t.Errorf("ATT-012: with a claim of its own: %v: %d volumes attached", own, got)
		}
	}
}

// A pod whose claim is gone leaves through the populator, one volume in each pass (ATT-028, ATT-032, ATT-033).
func TestPopulatorRemoves(t *testing.T) {
	w := newFixture(t)
	w.volume("pv2", "h2", "c2", corev1.ReadWriteOnce)
	p := w.pod("p", "a", "c1", "c2")
	w.Advance(10 * sec)
	w.inUse("a")
	w.wantAttached("attached", "a", "h1", "h2")
	for _, name := range []string{"c1", "c2"} {
		claim, _ := w.Store().Claims.Get("default/" + name)
		w.status(claim, `{"status":{"phase":"Lost"}}`)
	}
	w.Advance(sec)
	w.kill(p)
	w.Advance(48 * sec) // 59 s
	w.wantAttached("ATT-028: the event finds nothing to remove", "a", "h1", "h2")
	w.Advance(minute) // the pass at 60 s
	w.wantAttached("ATT-033: one volume", "a", "h2")
	w.Advance(minute)
	w.wantAttached("ATT-032, ATT-033: the other", "a")
}

// A pod of the same name is another pod (ATT-002, ATT-032).
func TestPodRecreated(t *testing.T) {
	w := newFixture(t)
	p := w.moved("p", "a", "c1", "h1")
	claim, _ := w.Store().Claims.Get("default/c1")
	w.status(claim, `{"status":{"phase":"Lost"}}`)
	w.Advance(0)
	w.kill(p)
	w.pod("p", "a") // without a volume
	w.inUse("a")
	w.Advance(50 * sec)
	w.wantAttached("not yet", "a", "h1")
	w.Advance(20 * sec)
	w.wantAttached("ATT-002", "a")
}

// The state after a restart: what survives a controller process and what does not (ATT-130 to ATT-135).
func TestRestart(t *testing.T) {
	t.Run("attached and desired", func(t *testing.T) {
		w := newFixture(t)
		w.moved("p", "a", "c1", "h1")
		w.restart(nil)
		w.Advance(minute / 2)
		w.want("ATT-133, ATT-135: nothing but one write that changes nothing", "0s node a unchanged")
		// The spec is known again: it is verified.
		ea, _ := w.Actor(actors.Attacher(driver))
		ea.Crash()
		w.status(w.va("a"), `{"status":{"attached":false}}`)
		w.Advance(minute)
		if got := w.log(); len(got) == 0 || !strings.HasSuffix(got[0], "node a []") {
			t.Errorf("ATT-121, ATT-133: this happened: %q, want the volume forgotten", got)
		}
	})
	t.Run("a VolumeAttachment only, and desired", func(t *testing.T) {
		w := newFixture(t)
		w.moved("p", "a", "c1", "h1")
		w.restart(func() { w.status(nodeNamed("a"), `{"status":{"volumesAttached":null}}`) })
		w.Advance(sec)
		w.want("ATT-132, ATT-135: attached again, with the VolumeAttachment there is", "500ms default/p "+attachedText, "600ms node a [h1]")
	})
	t.Run("no Multi-Attach event for what is uncertain", func(t *testing.T) {
		w := newFixture(t)
		p := w.moved("p", "a", "c1", "h1")
		w.restart(func() {
			w.status(nodeNamed("a"), `{"status":{"volumesAttached":null}}`)
			w.kill(p)
			w.pod("q", "b", "c1")
		})
		w.Advance(sec)
		w.want("ATT-070, ATT-132", "0s create VA h1@b", "0s Attach h1@b OK", "500ms default/q "+attachedText, "600ms node b [h1]")
	})
	t.Run("6 minutes begin anew", func(t *testing.T) {
		w := newFixture(t)
		p := w.moved("p", "a", "c1", "h1")
		w.ready("a", "Unknown")
		w.kill(p)
		w.Advance(5 * minute)
		w.log()
		w.restart(nil)
		w.Advance(6 * minute)
		w.want("ATT-134, ATT-135", "0s node a unchanged")
		w.Advance(sec)
		w.want("ATT-064", "6m0.1s node a []", "6m0.1s delete VA h1@a", "6m0.1s Detach h1@a OK")
	})
	t.Run("delays are forgotten", func(t *testing.T) {
		w := newFixture(t)
		w.Faults.Fail(matchAttach, fakeInternal)
		w.pod("p", "a", "c1")
		w.Advance(minute)
		w.log()
		w.restart(nil)
		w.Advance(sec)
		got := w.log()
		if len(got) < 1 || !strings.HasPrefix(got[0], "500ms default/p "+failedText) {
			t.Errorf("ATT-134: this happened: %q, want a new attempt at once", got)
		}
	})
	t.Run("a node that is not managed", func(t *testing.T) {
		w := newFixture(t)
		w.restart(func() {
			node := fake.Node("u")
			node.Status.VolumesAttached = []corev1.AttachedVolume{{Name: "kubernetes.io/csi/d^h1", DevicePath: "/dev/x"}}
			w.Create(node)
		})
		w.Advance(sec)
		w.want("ATT-131: detached all the same", "0s node u []", "0s delete VA csi-"+strings.TrimPrefix(attachmentOn("u"), "csi-")+": error")
	})
	t.Run("inline volumes and unknown volumes", func(t *testing.T) {
		w := newFixture(t)
		w.restart(func() {
			gone := "gone"
			w.Create(&storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: "x"}, Spec: storagev1.VolumeAttachmentSpec{
				Attacher: "other", NodeName: "a", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &gone}}})
		})
		w.status(nodeNamed("a"), `{"status":{"phase":"Running"}}`)
		w.Advance(10 * minute)
		w.want("ATT-132: left alone")
	})
}

// The handlers run before the desired and actual state are filled; the second delivery changes nothing (ATT-130).
func TestStartWithPods(t *testing.T) {
	w := prepare(t)
	w.pod("p", "a", "c1")
	w.start()
	w.Advance(sec)
	w.want("ATT-060, ATT-130: the first pass is at once", "0s create VA h1@a", "0s Attach h1@a OK", "500ms default/p "+attachedText,
		"600ms node a [h1]")
}

// A controller begins at the first check that finds its caches filled; the first check is too early (ATT-130).
func TestCacheWait(t *testing.T) {
	w := prepare(t)
	w.opts.CacheWait = 0
	w.pod("p", "a", "c1")
	w.start()
	w.Advance(sec)
	w.want("ATT-130: a start", "100ms create VA h1@a", "100ms Attach h1@a OK", "600ms default/p "+attachedText, "700ms node a [h1]")
	p, _ := w.Store().Pods.Get("default/p")
	w.kill(p)
	w.inUse("a")
	w.restart(nil)
	w.Advance(sec)
	w.want("ATT-130: a restart", "100ms node a []", "100ms delete VA h1@a", "100ms Detach h1@a OK")
}

// The controller creates and deletes VolumeAttachments, and does nothing else to them (ATT-146, ATT-160).
func TestOnlyCreatesAndDeletes(t *testing.T) {
	w := newFixture(t)
	p := w.moved("p", "a", "c1", "h1")
	w.kill(p)
	w.inUse("a")
	w.Advance(minute)
	for e := range w.Trace().Entries() {
		if e.Type != trace.Write || e.Actor != actors.AttachDetach || e.Object.Kind != api.VolumeAttachment {
			continue
		}
		if e.Verb != "create" && e.Verb != "delete" {
			t.Errorf("ATT-146: the controller made a %s of %s", e.Verb, e.Object)
		}
		if va, ok := e.New.(*storagev1.VolumeAttachment); ok && e.Verb == "create" &&
			(va.Status.Attached || *va.Spec.Source.PersistentVolumeName != "pv1" || va.Spec.Attacher != driver) {
			t.Errorf("ATT-140, ATT-160: the new VolumeAttachment is %+v", va)
		}
	}
}

// A pass detaches what is undesired when it comes to it, of the volumes that were attached when it began, in the order of volumes (ATT-062, ATT-212).
// What counts is whether the node used it then.
func TestUndesiredMeanwhile(t *testing.T) {
	for _, tc := range []struct {
		name        string
		first, last string // the claims of the pods that go before and during the pass
		used        bool   // the node uses the second volume when the pass begins
		want        []string
	}{
		{"later in the order", "c1", "c2", false, []string{
			"250ms node a [h2]", "250ms delete VA h1@a", "250ms Detach h1@a OK", "450ms node a []", "450ms delete VA h2@a", "450ms Detach h2@a OK"}},
		{"earlier in the order", "c2", "c1", false, []string{
			"250ms node a [h1]", "250ms delete VA h2@a", "250ms Detach h2@a OK", "550ms node a []", "550ms delete VA h1@a", "550ms Detach h1@a OK"}},
		{"the node used it", "c1", "c2", true, []string{
			"250ms node a [h2]", "250ms delete VA h1@a", "250ms Detach h1@a OK", "550ms node a []", "550ms delete VA h2@a", "550ms Detach h2@a OK"}},
	} {
		t.Run("ATT-062 "+tc.name, func(t *testing.T) {
			w := newFixture(t)
			w.volume("pv2", "h2", "c2", corev1.ReadWriteOnce)
			w.moved("p1", "a", "c1", "h1")
			w.moved("p2", "a", "c2", "h2")
			pods := map[string]string{"c1": "p1", "c2": "p2"}
			if tc.used {
				w.inUse("a", "h2")
			} else {
				w.inUse("a")
			}
			w.at50()
			w.Faults.Slow(fake.Match{Actor: actors.AttachDetach, Verb: "patch-status", Kind: "Node"}, 200*ms)
			w.DeleteNow(api.Pod, "default/"+pods[tc.first])
			w.Advance(150 * ms)
			w.inUse("a")
			w.DeleteNow(api.Pod, "default/"+pods[tc.last])
			w.Advance(sec)
			w.want("ATT-062", tc.want...)
		})
	}
}

// Taking the taint away again changes nothing (ATT-197).
func TestTaintRemoved(t *testing.T) {
	w := newFixture(t)
	p := w.moved("p", "a", "c1", "h1")
	w.kill(p)
	w.at50()
	w.taint("a")
	w.Advance(60 * ms)
	w.main(nodeNamed("a"), `{"spec":{"taints":null}}`)
	w.Advance(minute)
	w.want("ATT-197", "50ms node a []", "50ms delete VA h1@a", "50ms Detach h1@a OK")
}

// A volume that allows one node has one operation in the cluster: the first in order wins, and the other gets an Event when it is attached
// (ATT-068, ATT-081, ATT-088, ATT-212).
func TestTwoNodes(t *testing.T) {
	w := newFixture(t)
	w.at50()
	w.Faults.Fail(matchAttach, fakeInternal).Times(2)
	w.pod("pb", "b", "c1")
	w.pod("pa", "a", "c1")
	w.Advance(1600 * ms)
	internal := failedText + "rpc error: code = Internal desc = boom"
	w.want("ATT-068, ATT-088, ATT-212: a first; its failure delays b",
		"50ms create VA h1@a",
		"50ms Attach h1@a Internal",
		"50ms Attach h1@a Internal",
		"550ms default/pa "+internal,
		"1.05s Attach h1@a OK",
	)
	w.Advance(sec)
	w.want("ATT-071: then b gets its Event",
		"1.65s default/pa "+attachedText,
		`1.75s default/pb Warning FailedAttachVolume: Multi-Attach error for volume "pv1" Volume is already used by pod(s) pa`,
		"1.75s node a [h1]",
	)
}

// inTree is an in-tree plugin that attaches without an external attacher.
type inTree struct{ *fake.Memory }

func (inTree) Supports(source *corev1.PersistentVolumeSource) bool {
	return source != nil && source.FC != nil
}

// An in-tree plugin attaches at once, and without a VolumeAttachment (ATT-107, ATT-201).
func TestInTree(t *testing.T) {
	w := prepare(t, withoutAttacher)
	w.backend = inTree{fake.CSI("kubernetes.io/fc", fake.Lenient())}
	claim := fake.Claim("cf", "1Gi", fake.VolumeName("fc1"))
	w.Create(claim)
	stored, _ := w.Store().Claims.Get("default/cf")
	pv := fake.Volume("fc1", "1Gi", fake.ForClaim("cf", stored.UID))
	pv.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{FC: &corev1.FCVolumeSource{WWIDs: []string{"w"}}}
	w.Create(pv)
	w.status(stored, `{"status":{"phase":"Bound"}}`)
	w.start()
	w.at50()
	p := w.pod("p", "a", "cf")
	w.Advance(sec)
	w.want("ATT-201: attach",
		"50ms Attach fc1@a OK",
		`50ms default/p Normal SuccessfulAttachVolume: AttachVolume.Attach succeeded for volume "fc1" `,
		"150ms node a [kubernetes.io/fc/fc1]")
	w.restart(func() {
		w.kill(p)
		w.inUse("a")
	})
	w.Advance(sec)
	w.want("ATT-107, ATT-201: detach", "0s node a []", "0s Detach fc1@a OK")
}

// A handle with the separator in it can be attached and never be detached (ATT-143).
func TestSeparatorInHandle(t *testing.T) {
	w := newFixture(t)
	w.volume("odd", "x^y", "co", corev1.ReadWriteOnce)
	p := w.pod("p", "a", "co")
	w.Advance(2 * sec)
	w.wantAttached("attached", "a", "x^y")
	w.kill(p)
	w.inUse("a")
	w.at50()
	w.Advance(10 * minute)
	w.want("ATT-143: nothing is deleted")
}

// Changes of different kinds come in no order: here the pod comes before the CSIDriver says that nothing need be attached (ATT-210).
func TestOrderOfKinds(t *testing.T) {
	no := false
	w := newFixture(t)
	w.at50()
	w.delete(&storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: driver}})
	w.pod("p", "a", "c1")
	w.Create(&storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: driver}, Spec: storagev1.CSIDriverSpec{AttachRequired: &no}})
	w.Advance(550 * ms)
	w.want("ATT-100, ATT-210: nothing is attached",
		`50ms default/p Warning FailedAttachVolume: AttachVolume.FindAttachablePluginBySpec failed for volume "pv1" `)
	w.Advance(minute)
	w.log()
	w.Advance(time.Hour)
	w.want("ATT-034: the populator has put it right")
}

// Settle waits until the desired volumes are attached and reported in the Node's status. It does not wait for periodic work.
func TestSettle(t *testing.T) {
	w := newFixture(t)
	w.pod("p", "a", "c1")
	if err := w.Settle(time.Hour); err != nil {
		t.Fatal(err)
	}
	w.wantAttached("after Settle", "a", "h1")
	if took := w.Now().Sub(w.Begin); took > sec {
		t.Errorf("Settle took %v, want less than a second", took)
	}
}
