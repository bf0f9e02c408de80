package attach_test

import (
	"reflect"
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
	"github.com/volsim/volsim/internal/core/sidecar"
	"github.com/volsim/volsim/storage"
)

func TestAttacherConfig(t *testing.T) {
	e, err := engine.New(engine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	disk := fake.CSI(driver)
	for _, tt := range []struct {
		cfg  sidecar.Config
		want string
	}{
		{sidecar.Config{RetryStart: -1}, "RetryStart"},
		{sidecar.Config{RetryMax: -1}, "RetryMax"},
		{sidecar.Config{RetryStart: time.Hour}, "RetryMax"},
		{sidecar.Config{ResyncPeriod: -1}, "ResyncPeriod"},
	} {
		if _, err := attach.NewAttacher(e, disk, tt.cfg, options.Attacher{}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("NewAttacher(%+v) = %v, want an error that names %s", tt.cfg, err, tt.want)
		}
	}
	if _, err := attach.NewAttacher(e, fake.NFS(), sidecar.Config{}, options.Attacher{}); err == nil {
		t.Error("NewAttacher of an in-tree plugin = nil, want an error")
	}
	a, err := attach.NewAttacher(e, disk, sidecar.Config{}, options.Attacher{})
	if err != nil || a.Name() != "external-attacher/d" {
		t.Errorf("NewAttacher(d) = %v, %v, want external-attacher/d", a, err)
	}
}

// attacherOnly returns a fixture in which the test takes the part of the attach/detach controller.
func attacherOnly(t *testing.T, opts ...option) *fixture {
	t.Helper()
	w := newFixture(t, opts...)
	a, _ := w.Actor(actors.AttachDetach)
	a.Crash()
	w.Advance(sec)
	w.Mark()
	return w
}

// request creates a VolumeAttachment of that PersistentVolume for node a.
func (w *fixture) request(name, pv string) *storagev1.VolumeAttachment {
	w.T.Helper()
	va := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: storagev1.VolumeAttachmentSpec{
		Attacher: driver, NodeName: "a", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &pv}}}
	w.Create(va)
	return va
}

func (w *fixture) stored(name string) *storagev1.VolumeAttachment {
	w.T.Helper()
	va, err := w.Store().Attachments.Get(name)
	if err != nil {
		w.T.Fatal(err)
	}
	return va
}

// What cannot even be asked of the driver leaves no finalizer (ATT-172, ATT-173).
func TestAttachRefused(t *testing.T) {
	tests := []struct {
		rule, name string
		prepare    func(w *fixture)
		pv, want   string
	}{
		{"ATT-172", "no PersistentVolume", func(w *fixture) {}, "missing", `persistentvolume "missing" not found`},
		{"ATT-172", "one that is being deleted", func(w *fixture) {
			w.delete(&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv1"}})
		}, "pv1", `PersistentVolume "pv1" is marked for deletion`},
		{"ATT-172", "not of CSI", func(w *fixture) { w.Create(fake.Volume("hp", "1Gi")) }, "hp",
			"pv contained non-CSI source that was not migrated"},
		{"ATT-176", "modes that do not go together", func(w *fixture) {
			w.Create(fake.Volume("mix", "1Gi", fake.CSISource(driver, "hm"), fake.Modes("RWO", "ROX")))
		}, "mix", "CSI does not support ReadOnlyMany and ReadWriteOnce on the same PersistentVolume"},
		{"ATT-172", "no CSINode", func(w *fixture) { w.delete(csiNodeNamed("a")) }, "pv1", `csinode.storage.k8s.io "a" not found`},
		{"ATT-172", "the driver is not on the node", func(w *fixture) { w.main(csiNodeNamed("a"), `{"spec":{"drivers":[]}}`) }, "pv1",
			"CSINode a does not contain driver d"},
		{"ATT-172", "the finalizer cannot be put on the PersistentVolume", func(w *fixture) {
			w.Faults.Fail(fake.Match{Verb: "patch", Kind: "PersistentVolume"}, errBroken)
		}, "pv1", "could not add PersistentVolume finalizer: broken"},
		{"ATT-172", "nor on the VolumeAttachment", func(w *fixture) {
			w.Faults.Fail(fake.Match{Verb: "patch", Kind: "VolumeAttachment"}, errBroken)
		}, "pv1", "could not save VolumeAttachment: broken"},
	}
	for _, tt := range tests {
		w := attacherOnly(t)
		tt.prepare(w)
		w.Advance(0)
		w.request("va", tt.pv)
		w.Advance(10 * sec)
		w.want(tt.rule + " " + tt.name)
		va := w.stored("va")
		if e := va.Status.AttachError; e == nil || e.Message != tt.want || e.ErrorCode != nil || len(va.Finalizers) > 0 {
			t.Errorf("%s %s: the error is %v, the finalizers are %v, want %q and none", tt.rule, tt.name, e, va.Finalizers, tt.want)
		}
	}
}

// Retries come after 1, 2, 4 s and so on, at most 5 min (ATT-171); the first failure of the driver is followed by a free try (ATT-174).
func TestAttacherRetries(t *testing.T) {
	times := func(w *fixture, lines []string) (times []string) {
		for _, line := range lines {
			at, _, _ := strings.Cut(line, " ")
			times = append(times, at)
		}
		return times
	}
	w := attacherOnly(t)
	w.Faults.Fail(matchAttach, fakeInternal)
	w.request("va", "pv1")
	w.Advance(30 * minute)
	// Two failures at once; the first earns a retry after 1 s, the second one after 2 s, which comes too late to count. From the
	// third on delays are 4, 8, ... s. Resyncs, at 10, 20 and 30 min since the start, come on top.
	got := times(w, w.log())
	want := []string{"0s", "0s", "1s", "5s", "13s", "29s", "1m1s", "2m5s", "4m13s", "8m29s", "9m59s", "13m29s", "18m29s", "19m59s", "23m29s",
		"28m29s", "29m59s"}
	if !slices.Equal(got, want) {
		t.Errorf("ATT-170, ATT-171, ATT-174: attempts at %q, want %q", got, want)
	}

	t.Run("the failures of a name stay", func(t *testing.T) {
		w := attacherOnly(t)
		broken := w.Faults.Fail(matchAttach, fakeInternal)
		w.request("va", "pv1")
		w.Advance(4 * sec) // three failures; the next retry is at 5 s
		va := w.stored("va")
		w.main(va, `{"metadata":{"finalizers":null}}`)
		w.delete(va)
		w.Advance(6 * sec)
		w.Mark()
		w.request("va", "pv1")
		w.Advance(2 * minute)
		got := times(w, w.log())
		if len(got) < 3 || got[0] != "0s" || got[1] != "0s" || got[2] == "1s" {
			t.Errorf("ATT-171: attempts at %q, want the delay to go on growing", got)
		}
		// Success forgets them.
		broken.Times(1)
		w.Advance(10 * minute)
		if !w.stored("va").Status.Attached {
			t.Fatal("the volume is not attached")
		}
		w.log()
		w.Mark()
		w.Faults.Clear()
		w.Faults.Fail(matchAttach, fakeInternal).Times(2)
		w.status(w.stored("va"), `{"status":{"attached":false}}`)
		w.Advance(10 * sec)
		if got := times(w, w.log()); !slices.Equal(got, []string{"0s", "1s", "3s"}) {
			t.Errorf("ATT-171: attempts after a success at %q, want 0, 1, 3 s", got)
		}
	})
	t.Run("another change queues it", func(t *testing.T) {
		w := attacherOnly(t)
		w.Faults.Fail(matchAttach, fakeInternal)
		w.request("va", "pv1")
		w.Advance(6 * sec)
		w.Mark()
		w.log()
		w.main(w.stored("va"), `{"metadata":{"labels":{"x":"y"}}}`)
		w.Advance(0)
		w.want("ATT-170", "0s Attach h1@a Internal")
		w.status(w.stored("va"), `{"status":{"attachError":{"message":"mine"}}}`)
		w.Advance(0)
		w.want("ATT-170: not if only the error differs")
	})
	t.Run("those of others are theirs", func(t *testing.T) {
		w := attacherOnly(t)
		name := "pv1"
		w.Create(&storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: "other"}, Spec: storagev1.VolumeAttachmentSpec{
			Attacher: "other", NodeName: "a", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &name}}})
		w.Advance(minute)
		w.want("ATT-170")
	})
}

// A call that takes longer than 15 s has failed (ATT-172); without a limit it has not.
func TestAttacherTimeout(t *testing.T) {
	w := attacherOnly(t)
	w.Faults.Slow(matchAttach, 20*sec).Once()
	w.request("va", "pv1")
	w.Advance(14900 * ms)
	w.want("ATT-172: not yet")
	w.Advance(10 * sec)
	w.want("ATT-172, ATT-174", "15s Attach h1@a DeadlineExceeded", "15s Attach h1@a OK")

	w = attacherOnly(t, func(w *fixture) { w.ea.Timeout = -1 })
	w.Faults.Slow(matchAttach, 20*sec).Once()
	w.request("va", "pv1")
	w.Advance(25 * sec)
	w.want("without a limit", "20s Attach h1@a OK")
}

// An error that is too long cannot be saved, and that is all (ATT-161, ATT-172).
func TestErrorTooLong(t *testing.T) {
	w := attacherOnly(t)
	w.Faults.Fail(matchAttach, storage.Errorf(storage.Internal, "%s", strings.Repeat("x", 1024))).Times(2)
	w.request("va", "pv1")
	w.Advance(100 * ms)
	if e := w.stored("va").Status.AttachError; e != nil {
		t.Errorf("ATT-161: the error is %.40q, want none", e.Message)
	}
	w.Advance(sec)
	if !w.stored("va").Status.Attached {
		t.Error("ATT-172: not attached at the retry")
	}
}

// The time of an error is that of the failure, however long its write takes (ATT-172, ATT-175).
func TestErrorTimes(t *testing.T) {
	slow := func(w *fixture) {
		w.Faults.Add(fake.Match{Verb: "patch-status", Kind: "VolumeAttachment"}, api.Fault{Delay: 20 * sec}).Once()
	}
	w := attacherOnly(t)
	slow(w)
	failed := w.Engine.Now()
	w.request("va", "missing")
	w.Advance(20 * sec)
	if e := w.stored("va").Status.AttachError; e == nil || !e.Time.Time.Equal(failed) {
		t.Errorf("ATT-172: the error is %v, want one of %v", e, failed)
	}
	w = attacherOnly(t)
	w.request("va", "pv1")
	w.Advance(sec)
	w.Faults.Fail(matchDetach, fakeInternal)
	slow(w)
	failed = w.Engine.Now()
	w.delete(w.stored("va"))
	w.Advance(20 * sec)
	if e := w.stored("va").Status.DetachError; e == nil || !e.Time.Time.Equal(failed) {
		t.Errorf("ATT-175: the error is %v, want one of %v", e, failed)
	}
}

// Detaching goes on for ever without the PersistentVolume (ATT-177), and by the annotation without the CSINode (ATT-175).
func TestDetachWithout(t *testing.T) {
	w := attacherOnly(t)
	w.request("va", "pv1")
	w.Advance(sec)
	w.want("attached", "0s Attach h1@a OK")
	pv, _ := w.Store().Volumes.Get("pv1")
	w.main(pv, `{"metadata":{"finalizers":null}}`)
	w.delete(pv)
	w.delete(csiNodeNamed("a"))
	w.Advance(0)
	w.delete(w.stored("va"))
	w.Advance(time.Hour)
	w.want("ATT-177")
	if e := w.stored("va").Status.DetachError; e == nil || e.Message != `persistentvolume "pv1" not found` {
		t.Errorf("ATT-177: the error is %v", e)
	}
	w.Create(fake.Volume("pv1", "1Gi", fake.CSISource(driver, "h1")))
	w.Mark()
	w.Advance(10 * minute)
	got := w.log()
	if len(got) != 1 || !strings.HasSuffix(got[0], "Detach h1@a OK") {
		t.Errorf("ATT-005, ATT-175: this happened: %q, want it detached", got)
	}
	// Without either there is no way.
	w = attacherOnly(t)
	w.request("va", "pv1")
	w.Advance(sec)
	w.delete(csiNodeNamed("a"))
	w.main(w.stored("va"), `{"metadata":{"annotations":null}}`)
	w.Advance(0)
	w.delete(w.stored("va"))
	w.Advance(minute)
	if e := w.stored("va").Status.DetachError; e == nil || e.Message != `csinode.storage.k8s.io "a" not found` {
		t.Errorf("ATT-175: the error is %v", e)
	}
}

// The finalizer goes first: after a crash the driver is not called again (ATT-175).
func TestDetachCrash(t *testing.T) {
	w := attacherOnly(t)
	va := w.request("va", "pv1")
	w.main(va, `{"metadata":{"finalizers":["external-attacher/d","test/hold"]}}`)
	w.Advance(sec)
	w.log()
	w.Mark()
	w.Faults.Add(fake.Match{Actor: actors.Attacher(driver), Verb: "patch", Kind: "VolumeAttachment"},
		api.Fault{Crash: true, Effect: true, Restart: sec}).Once()
	w.delete(w.stored("va"))
	w.Advance(minute)
	w.want("ATT-175", "0s Detach h1@a OK")
	if va := w.stored("va"); !slices.Equal(va.Finalizers, []string{"test/hold"}) || !va.Status.Attached {
		t.Errorf("ATT-175: finalizers %v, attached %v, want the other one, and what was before", va.Finalizers, va.Status.Attached)
	}
	// Any error of the driver means that it is not detached.
	w = attacherOnly(t)
	w.request("va", "pv1")
	w.Advance(sec)
	w.Faults.Fail(matchDetach, storage.Errorf(storage.NotFound, "no such volume"))
	w.delete(w.stored("va"))
	w.Advance(minute)
	va = w.stored("va")
	if e := va.Status.DetachError; e == nil || e.ErrorCode != nil || !slices.Contains(va.Finalizers, "external-attacher/d") {
		t.Errorf("ATT-175: the error is %v, the finalizers are %v, want an error without a code, and the attacher's", e, va.Finalizers)
	}
}

// The finalizer of a PersistentVolume is removed when no attachment refers to it, for every driver (ATT-178).
func TestVolumeFinalizer(t *testing.T) {
	w := attacherOnly(t)
	w.request("va", "pv1")
	w.Advance(sec)
	pv, _ := w.Store().Volumes.Get("pv1")
	if !slices.Contains(pv.Finalizers, "external-attacher/d") {
		t.Fatalf("ATT-172: the finalizers are %v", pv.Finalizers)
	}
	name := "pv1"
	other := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: "other"}, Spec: storagev1.VolumeAttachmentSpec{
		Attacher: "other", NodeName: "b", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &name}}}
	w.Create(other)
	w.main(pv, `{"metadata":{"finalizers":["test/hold","external-attacher/d"]}}`)
	w.delete(pv)
	w.delete(w.stored("va"))
	w.Advance(minute)
	held := func() []string {
		pv, _ := w.Store().Volumes.Get("pv1")
		return pv.Finalizers
	}
	if got := held(); !slices.Contains(got, "external-attacher/d") {
		t.Errorf("ATT-178: the finalizers are %v, want the attacher's: another driver has the volume", got)
	}
	w.delete(other)
	w.Advance(minute)
	// The deletion of another driver's object is not seen as such; a change of the PersistentVolume is.
	w.main(pv, `{"metadata":{"labels":{"x":"y"}}}`)
	w.Advance(0)
	if got := held(); !slices.Equal(got, []string{"test/hold"}) {
		t.Errorf("ATT-178: the finalizers are %v, want the other one only", got)
	}
}

// A driver that cannot attach has its VolumeAttachments marked, and that is all (ATT-179).
func TestCannotAttach(t *testing.T) {
	w := attacherOnly(t, func(w *fixture) { w.disk = fake.CSI(driver, fake.Without(storage.Attach)) })
	w.request("va", "missing")
	w.Advance(sec)
	w.want("ATT-179")
	va := w.stored("va")
	if !va.Status.Attached || len(va.Finalizers) > 0 || len(va.Status.AttachmentMetadata) > 0 {
		t.Errorf("ATT-179: attached %v, finalizers %v, metadata %v, want true and nothing else", va.Status.Attached, va.Finalizers,
			va.Status.AttachmentMetadata)
	}
	w.delete(va)
	if _, there := w.Store().Attachments.Lookup("va"); there {
		t.Error("ATT-179: the VolumeAttachment stays")
	}
}

// spy is a driver that records requests, returns a publish context, and lists its attachments.
type spy struct {
	*fake.Memory
	requests  []storage.NodeRequest
	published map[string][]string
	lists     int // calls of Published
	listErr   error
}

func (s *spy) Attach(req storage.NodeRequest) (map[string]string, error) {
	s.requests = append(s.requests, req)
	_, err := s.Memory.Attach(req)
	return map[string]string{"lun": "7"}, err
}

func (s *spy) Published() (map[string][]string, error) {
	s.lists++
	return s.published, s.listErr
}

// A driver without the capability is asked once, one that fails every minute (ATT-181).
func TestCompareFails(t *testing.T) {
	for code, want := range map[storage.Code]int{storage.Unimplemented: 1, storage.Unavailable: 5} {
		driver := &spy{Memory: fake.CSI(driver), listErr: storage.Errorf(code, "no list")}
		w := prepare(t)
		w.backend = driver
		w.start()
		w.Advance(5*minute + sec)
		if driver.lists != want && driver.lists != want+1 {
			t.Errorf("ATT-181: after %s the driver is asked %d times in 5 minutes, want %d", code, driver.lists, want)
		}
	}
}

// What the driver is asked, and what becomes of its answer (ATT-172, ATT-176, ATT-180).
func TestAttachRequest(t *testing.T) {
	for _, readOnly := range []bool{false, true} {
		driver := &spy{Memory: fake.CSI(driver)}
		w := prepare(t, func(w *fixture) { w.eaOpts.PublishReadOnly = readOnly })
		w.backend = driver
		driver.published = map[string][]string{"h2": {"a"}}
		pv := fake.Volume("pv2", "1Gi", fake.CSISource("d", "h2"), fake.Modes("ROX"))
		pv.Spec.CSI.ReadOnly = true
		pv.Spec.CSI.VolumeAttributes = map[string]string{"k": "v"}
		pv.Spec.CSI.FSType, pv.Spec.MountOptions = "xfs", []string{"noatime"}
		secret := &corev1.SecretReference{Namespace: "default", Name: "s"}
		pv.Spec.CSI.ControllerPublishSecretRef = secret
		w.Create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "s"}, StringData: map[string]string{"key": "x"}})
		w.Create(pv)
		w.start()
		w.request("va", "pv2")
		w.Advance(sec)
		if len(driver.requests) != 1 {
			t.Fatalf("ATT-172: there were %d requests, want 1", len(driver.requests))
		}
		req := driver.requests[0]
		if req.ID != "h2" || req.Node != "a" || req.Mode != corev1.ReadOnlyMany || req.ReadOnly != readOnly || req.Context["k"] != "v" {
			t.Errorf("ATT-176, ATT-180: the request is %+v, with PublishReadOnly %v", req, readOnly)
		}
		if req.NodeID != "id-a" || req.VolumeMode != corev1.PersistentVolumeFilesystem || req.FSType != "xfs" || len(req.MountOptions) != 1 ||
			!reflect.DeepEqual(req.Secrets, map[string]string{"key": "x"}) {
			t.Errorf("ATT-183: the request is %+v", req)
		}
		if got := w.stored("va").Status.AttachmentMetadata; got["lun"] != "7" {
			t.Errorf("ATT-172: the metadata is %v, want what the driver said", got)
		}
	}
}

// What the driver says is attached counts, once a minute (ATT-181).
func TestCompare(t *testing.T) {
	driver := &spy{Memory: fake.CSI(driver, fake.Lenient())}
	w := prepare(t)
	w.backend = driver
	w.start()
	a, _ := w.Actor(actors.AttachDetach)
	a.Crash()
	driver.published = map[string][]string{"h1": {"a"}}
	w.request("va", "pv1")
	w.Advance(2 * minute)
	w.want("ATT-181: they agree", "0s Attach h1@a OK")
	driver.published = nil
	w.Advance(minute)
	w.want("ATT-181: attached again", "3m0s Attach h1@a OK")
	if !w.stored("va").Status.Attached {
		t.Error("ATT-181: the status says it is not attached")
	}
}

// With a cache that lags an old error stays beside success (ATT-182).
func TestStaleError(t *testing.T) {
	w := newFixture(t, func(w *fixture) { w.eaLag = 2 * sec })
	a, _ := w.Actor(actors.AttachDetach)
	a.Crash()
	pv := "pv1"
	w.Create(&storagev1.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: "va", Finalizers: []string{"external-attacher/d"},
			Annotations: map[string]string{"csi.alpha.kubernetes.io/node-id": "id-a"}},
		Spec: storagev1.VolumeAttachmentSpec{Attacher: driver, NodeName: "a",
			Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &pv}},
	})
	w.Faults.Fail(matchAttach, fakeInternal).Once()
	w.Advance(3500 * ms) // the first attempt is at 2 s, the next at 3 s
	va := w.stored("va")
	if !va.Status.Attached || va.Status.AttachError == nil {
		t.Errorf("ATT-182: attached %v, error %v, want both", va.Status.Attached, va.Status.AttachError)
	}
	if ok, err := attach.IsAttached(va); !ok || err != nil {
		t.Errorf("ATT-182: Attached = %v, %v, want true, nil", ok, err)
	}
}

// The plain attacher of recordings.
func TestPlainAttacher(t *testing.T) {
	plain := func(w *fixture) {
		w.ea.Timeout = -1
		w.eaOpts = options.Attacher{Plain: true, Workers: -1, Finalizer: "external-attacher/" + driver}
	}
	w := attacherOnly(t, plain)
	w.delete(csiNodeNamed("a"))
	w.Faults.Fail(matchAttach, fakeInternal)
	w.request("va", "missing")
	w.Advance(4 * sec)
	w.want("no second try for nothing, and no look at anything else",
		"0s Attach missing@a Internal", "1s Attach missing@a Internal", "3s Attach missing@a Internal")
	w.Faults.Fail(matchDetach, fakeInternal).Once()
	w.delete(w.stored("va"))
	w.Advance(time.Hour)
	w.want("the deletion takes the place of the retry", "4s Detach missing@a Internal", "12s Detach missing@a OK")
	w.request("again", "pv1")
	w.Faults.Clear()
	w.Advance(sec)
	pv, _ := w.Store().Volumes.Get("pv1")
	if !w.stored("again").Status.Attached || slices.Contains(pv.Finalizers, "external-attacher/d") {
		t.Errorf("attached %v, finalizers of the PersistentVolume %v, want true and none of the attacher's", w.stored("again").Status.Attached,
			pv.Finalizers)
	}
}
