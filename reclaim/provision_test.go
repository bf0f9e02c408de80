package reclaim_test

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/options"
	"github.com/volsim/volsim/internal/core/sidecar"
	"github.com/volsim/volsim/internal/proof/rig"
	"github.com/volsim/volsim/reclaim"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

const (
	provisioning = `Normal Provisioning: External provisioner is provisioning volume for claim "default/c1"`
	succeeded    = "Normal ProvisioningSucceeded: Successfully provisioned volume pvc-u1"
)

func failed(err error) string { return "Warning ProvisioningFailed: " + err.Error() }

// XPROV-001: the pauses between attempts, and when they end.
func TestProvisionerRetry(t *testing.T) {
	final := storage.Errorf(storage.Internal, "broken")
	tests := []struct {
		rule, name string
		cfg        setup
		fails      int
		time       time.Duration
		want       []float64
	}{
		{"XPROV-001", "CSI sidecar: 1 s, doubled up to 5 min", setup{}, 11, 830 * time.Second,
			[]float64{0, 1, 3, 7, 15, 31, 63, 127, 255, 511, 811}},
		{"XPROV-001", "library: 15 s, doubled", setup{options: options.Provisioner{Library: true}}, 5, 830 * time.Second,
			[]float64{0, 15, 45, 105, 225, 465}},
		{"XPROV-001", "a short pause of one's own", setup{config: sidecar.Config{RetryStart: time.Second, RetryMax: 2 * time.Second}}, 4,
			time.Minute,
			[]float64{0, 1, 3, 5, 7}},
		{"XPROV-001", "given up after two retries", setup{options: options.Provisioner{GiveUpAfter: 2}}, 9, 830 * time.Second,
			[]float64{0, 1, 3}},
		{"XPROV-028", "given up: one more try at the resync", setup{options: options.Provisioner{GiveUpAfter: 2}}, 9, 31 * time.Minute,
			[]float64{0, 1, 3, 840, 1740}},
	}
	for _, test := range tests {
		t.Run(test.rule+" "+test.name, func(t *testing.T) {
			d := &driver{creates: repeat(final, test.fails)}
			w := newProvisionerFixture(t, d, test.cfg, class(), wantedClaim())
			start := w.Now()
			w.Advance(test.time)
			if got := w.attempts(start, "Create"); !slices.Equal(got, test.want) {
				t.Errorf("attempts at %v s, want %v", got, test.want)
			}
		})
	}
}

// XPROV-028: an abandoned claim is tried once at its next event.
func TestProvisionerGivesUp(t *testing.T) {
	d := &driver{creates: repeat(storage.Errorf(storage.Aborted, "busy"), 4)}
	w := newProvisionerFixture(t, d, setup{options: options.Provisioner{GiveUpAfter: 2}}, class(), wantedClaim())
	w.settle()
	w.touch("default/c1")
	w.settle()
	if got := len(w.calls(0)); got != 4 {
		t.Errorf("%d calls after three attempts and an event, want 4", got)
	}
	// It is not in progress any more: deleted, it is forgotten.
	w.Load(finalizerless(w.claim("default/c1")))
	w.Delete(api.PersistentVolumeClaim, "default/c1")
	w.settle()
	if got := len(w.calls(0)); got != 4 {
		t.Errorf("%d calls in the end, want 4 still", got)
	}
}

func finalizerless(claim *corev1.PersistentVolumeClaim) *corev1.PersistentVolumeClaim {
	edited := *claim
	edited.Finalizers = nil
	return &edited
}

func TestProvisionWanted(t *testing.T) {
	edit := func(fn func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim { return wantedClaim(fn) }
	now := metav1.NewTime(engine.DefaultStart)
	tests := []struct {
		rule, name string
		claim      *corev1.PersistentVolumeClaim
		class      *storagev1.StorageClass
		cfg        setup
		objects    []api.Object
		calls      int
		failures   int // within half a second
	}{
		{rule: "XPROV-013a", name: "it has a volume", claim: edit(func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeName = "pv9" }),
			class: class()},
		{rule: "XPROV-013b", name: "another driver's", claim: edit(func(c *corev1.PersistentVolumeClaim) {
			c.Annotations[objects.AnnStorageProvisioner] = "other.example.com"
		}), class: class()},
		{rule: "XPROV-013b", name: "the plugin's name alone, before migration",
			cfg: setup{options: options.Provisioner{AdditionalNames: []string{"kubernetes.io/disk"}}},
			claim: edit(func(c *corev1.PersistentVolumeClaim) {
				c.Annotations[objects.AnnStorageProvisioner] = "kubernetes.io/disk"
			}), class: class()},
		{rule: "XPROV-013b", name: "the plugin's name, migrated",
			cfg: setup{options: options.Provisioner{AdditionalNames: []string{"kubernetes.io/disk"}}},
			claim: edit(func(c *corev1.PersistentVolumeClaim) {
				c.Annotations[objects.AnnStorageProvisioner] = "kubernetes.io/disk"
				c.Annotations[objects.AnnMigratedTo] = driverName
			}), class: class(), calls: 1},
		{rule: "XPROV-013c", name: "no provisioner named", claim: edit(func(c *corev1.PersistentVolumeClaim) {
			c.Annotations = map[string]string{objects.AnnMigratedTo: driverName}
		}), class: class()},
		{rule: "XPROV-013c", name: "the beta key alone", claim: edit(func(c *corev1.PersistentVolumeClaim) {
			delete(c.Annotations, objects.AnnStorageProvisioner)
		}), class: class(), calls: 1},
		{rule: "XPROV-013c", name: "the newer key wins", claim: edit(func(c *corev1.PersistentVolumeClaim) {
			c.Annotations[objects.AnnBetaStorageProvisioner] = "other.example.com"
		}), class: class(), calls: 1},
		{rule: "XPROV-013d", name: "the class is missing", claim: wantedClaim(), failures: 1},
		{rule: "XPROV-013e", name: "no node selected", claim: wantedClaim(), class: class(delayed)},
		{rule: "XPROV-013e", name: "an empty node", claim: wantedClaim(onNode("")), class: class(delayed)},
		{rule: "XPROV-013f", name: "a node is selected", claim: wantedClaim(onNode("n1")), class: class(delayed), calls: 1},
		{rule: "XPROV-013f", name: "at once", claim: wantedClaim(), class: class(), calls: 1},
		{rule: "XPROV-014", name: "being deleted, and Lost", claim: edit(func(c *corev1.PersistentVolumeClaim) {
			c.DeletionTimestamp = &now
			c.Status.Phase = corev1.ClaimLost
		}), class: class(), calls: 1},
		{rule: "XPROV-020", name: "its volume exists", claim: wantedClaim(), class: class(),
			objects: []api.Object{newVolume(named("pvc-u1"))}},
		{rule: "XPROV-023", name: "the class names another provisioner", claim: wantedClaim(),
			class: class(func(c *storagev1.StorageClass) { c.Provisioner = "other.example.com" })},
	}
	for _, test := range tests {
		t.Run(test.rule+" "+test.name, func(t *testing.T) {
			objs := test.objects
			if test.class != nil {
				objs = append(objs, test.class)
			}
			w := newProvisionerFixture(t, &driver{}, test.cfg, append(objs, test.claim)...)
			start := w.Now()
			w.Advance(500 * time.Millisecond)
			if got := len(w.calls(0)); got != test.calls {
				t.Errorf("%d calls, want %d", got, test.calls)
			}
			if got := len(w.failures(start)); got != test.failures {
				t.Errorf("%d failures, want %d", got, test.failures)
			}
		})
	}
}

func named(name string) volumeOption { return func(pv *corev1.PersistentVolume) { pv.Name = name } }

// XPROV-010: claims are known by uid; every add and update counts, a delete does not.
func TestProvisionerClaimEvents(t *testing.T) {
	d := &driver{}
	w := newProvisionerFixture(t, d, setup{}, class(delayed), finalizerless(wantedClaim()))
	w.settle()
	equal(t, "calls without a node", w.calls(0), nil)
	w.Load(finalizerless(wantedClaim(onNode("n1"))))
	w.settle()
	equal(t, "calls after the update", w.calls(0), []string{"Create pvc-u1"})
	before := w.Trace().Seq()
	w.Delete(api.PersistentVolumeClaim, "default/c1")
	w.settle()
	equal(t, "calls after the delete", w.calls(before), nil)
	again := finalizerless(wantedClaim(onNode("n1")))
	again.UID = "u2"
	w.Load(again)
	w.settle()
	equal(t, "calls for another claim of that name", w.calls(before), []string{"Create pvc-u2"})
}

// XPROV-011: what may be going on for a deleted claim is driven to its end, and gives a volume (edge 25).
func TestProvisionerDeletedClaimInProgress(t *testing.T) {
	d := &driver{creates: []error{storage.Errorf(storage.DeadlineExceeded, "slow"), storage.Errorf(storage.Aborted, "busy")}}
	w := newProvisionerFixture(t, d, setup{}, class(), finalizerless(wantedClaim()))
	w.Advance(500 * time.Millisecond)
	w.Delete(api.PersistentVolumeClaim, "default/c1")
	w.settle()
	equal(t, "calls", w.calls(0), []string{"Create pvc-u1", "Create pvc-u1", "Create pvc-u1"})
	if ref := w.volume("pvc-u1").Spec.ClaimRef; ref.UID != "u1" {
		t.Errorf("claimRef = %+v, want uid u1", ref)
	}
	if events := w.events(0); slices.Contains(events, succeeded) {
		t.Errorf("XPROV-040: an Event about a claim that is gone: %q", events)
	}
}

// XPROV-014: a claim that is not wanted any more leaves the map, and is forgotten when it is deleted (edge 25).
func TestProvisionerUnwantedLeavesTheMap(t *testing.T) {
	d := &driver{creates: repeat(storage.Errorf(storage.Aborted, "busy"), 9)}
	w := newProvisionerFixture(t, d, setup{}, class(delayed), finalizerless(wantedClaim(onNode("n1"))))
	w.Advance(500 * time.Millisecond)
	w.Load(finalizerless(wantedClaim())) // the node is taken away
	w.Advance(0)
	w.Delete(api.PersistentVolumeClaim, "default/c1")
	w.settle()
	equal(t, "calls", w.calls(0), []string{"Create pvc-u1"})
}

func TestProvisionErrors(t *testing.T) {
	plain := errors.New("no connection")
	code := func(c storage.Code) error { return storage.Errorf(c, "no") }
	topology := []api.Object{node("n1", map[string]string{zone: "a"}), csiNode("n1", zone)}
	tests := []struct {
		rule, name string
		err        error
		topology   bool
		node       string
		prepare    func(w *fixture)
		event      string // the one that follows Provisioning; "" is none
		retried    bool   // after a second
		inProgress bool   // once deleted, the claim is still driven
		node2      string // selected-node afterwards
	}{
		{rule: "XPROV-026", name: "ignored", err: fmt.Errorf("%w: not here", reclaim.ErrIgnored)},
		{rule: "XPROV-026", name: "InvalidArgument", err: code(storage.InvalidArgument),
			event: "Warning ProvisioningFailed: Volume provisioning failed with infeasible error. Retries will be delayed. " +
				code(storage.InvalidArgument).Error()},
		{rule: "XPROV-026", name: "Finished", err: code(storage.Internal), event: failed(code(storage.Internal)), retried: true},
		{rule: "XPROV-026", name: "Background", err: code(storage.Unavailable), event: failed(code(storage.Unavailable)), retried: true,
			inProgress: true},
		{rule: "XPROV-032", name: "not gRPC", err: plain, event: failed(plain), retried: true, inProgress: true},
		{rule: "XPROV-032", name: "Canceled", err: code(storage.Canceled), event: failed(code(storage.Canceled)), retried: true,
			inProgress: true},
		{rule: "XPROV-032", name: "DeadlineExceeded", err: code(storage.DeadlineExceeded), event: failed(code(storage.DeadlineExceeded)),
			retried: true, inProgress: true},
		{rule: "XPROV-032", name: "Aborted", err: code(storage.Aborted), event: failed(code(storage.Aborted)), retried: true, inProgress: true},
		{rule: "XPROV-032", name: "ResourceExhausted without topology", err: code(storage.ResourceExhausted), node: "n1",
			event: failed(code(storage.ResourceExhausted)), retried: true, node2: "n1"},
		{rule: "XPROV-032", name: "ResourceExhausted without a node", err: code(storage.ResourceExhausted), topology: true,
			event: failed(code(storage.ResourceExhausted)), retried: true},
		{rule: "XPROV-026", name: "Reschedule: the node is given back, no retry (edge 26)", err: code(storage.ResourceExhausted),
			topology: true, node: "n1", event: failed(code(storage.ResourceExhausted))},
		{rule: "XPROV-026", name: "Reschedule, but the node cannot be given back", err: code(storage.ResourceExhausted), topology: true,
			node:    "n1",
			prepare: func(w *fixture) { w.fail(actorName, "update PersistentVolumeClaim", errors.New("broken")) },
			event:   failed(code(storage.ResourceExhausted)), retried: true, node2: "n1"},
		{rule: "XPROV-026", name: "a final error keeps the node (edge 26)", err: code(storage.Internal), topology: true, node: "n1",
			event: failed(code(storage.Internal)), retried: true, node2: "n1"},
	}
	for _, test := range tests {
		t.Run(test.rule+" "+test.name, func(t *testing.T) {
			d := &driver{creates: repeat(test.err, 20), topology: test.topology}
			claim := finalizerless(wantedClaim())
			fast := class()
			if test.node != "" {
				delayed(fast)
				claim.Annotations[objects.AnnSelectedNode] = test.node
			}
			w := newProvisionerFixture(t, d, setup{}, append(topology, fast)...)
			if test.prepare != nil {
				test.prepare(w)
			}
			w.Load(claim)
			w.Advance(500 * time.Millisecond)
			want := []string{provisioning}
			if test.event != "" {
				want = append(want, test.event)
			}
			equal(t, "events", w.events(0), want)
			if got := w.claim("default/c1").Annotations[objects.AnnSelectedNode]; got != test.node2 {
				t.Errorf("selected-node = %q, want %q", got, test.node2)
			}
			before := w.Trace().Seq()
			w.Advance(time.Second)
			if retried := len(w.calls(before)) > 0; retried != test.retried {
				t.Errorf("retried after a second: %v, want %v", retried, test.retried)
			}
			w.Delete(api.PersistentVolumeClaim, "default/c1")
			w.settle()
			before = w.Trace().Seq()
			w.settle()
			if inProgress := len(w.calls(before)) > 0; inProgress != test.inProgress {
				t.Errorf("driven after the claim's end: %v, want %v", inProgress, test.inProgress)
			}
		})
	}
}

// XPROV-012: an invalid request is not repeated for five minutes, silently, while the ordinary backoff goes on (edge 28); another
// class under the name lifts the delay.
func TestProvisionInfeasible(t *testing.T) {
	invalid := storage.Errorf(storage.InvalidArgument, "no such type")
	t.Run("XPROV-012 the delay", func(t *testing.T) {
		w := newProvisionerFixture(t, &driver{creates: []error{invalid}}, setup{}, class(), wantedClaim())
		start := w.Now()
		w.Advance(10 * time.Minute)
		// The ordinary backoff has attempts at 1, 3, 7, ... 255 and 511 s; those before 300 s are refused.
		if got, want := w.attempts(start, "Create"), []float64{0, 511}; !slices.Equal(got, want) {
			t.Errorf("attempts at %v s, want %v", got, want)
		}
		if got, want := w.failures(start), []float64{0, 1, 3, 7, 15, 31, 63, 127, 255}; !slices.Equal(got, want) {
			t.Errorf("failures at %v s, want %v", got, want)
		}
		equal(t, "events", w.events(0), []string{provisioning,
			"Warning ProvisioningFailed: Volume provisioning failed with infeasible error. Retries will be delayed. " + invalid.Error(),
			provisioning, succeeded})
	})
	t.Run("XPROV-012 another class", func(t *testing.T) {
		w := newProvisionerFixture(t, &driver{creates: []error{invalid}}, setup{}, class(), wantedClaim())
		start := w.Now()
		w.Advance(5 * time.Second)
		w.Delete(api.StorageClass, "fast")
		w.Load(class(func(c *storagev1.StorageClass) { c.UID = "another" }))
		w.Advance(5 * time.Second)
		if got, want := w.attempts(start, "Create"), []float64{0, 7}; !slices.Equal(got, want) {
			t.Errorf("attempts at %v s, want %v", got, want)
		}
	})
	t.Run("XPROV-012 even for a claim that was bound", func(t *testing.T) {
		w := newProvisionerFixture(t, &driver{creates: []error{invalid}}, setup{}, class(), wantedClaim())
		start := w.Now()
		w.Advance(500 * time.Millisecond)
		w.Load(wantedClaim(func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeName = "pv9" }))
		w.Advance(0)
		if got, want := w.failures(start), []float64{0, 0.5}; !slices.Equal(got, want) {
			t.Errorf("failures at %v s, want %v", got, want)
		}
	})
	t.Run("XPROV-012 not without a class", func(t *testing.T) {
		w := newProvisionerFixture(t, &driver{creates: []error{invalid}}, setup{}, class(), wantedClaim())
		w.Advance(500 * time.Millisecond)
		w.Delete(api.StorageClass, "fast")
		w.settle()
		for entry := range w.Trace().Entries() {
			if (entry.Type == trace.KeyFailed || entry.Type == trace.OperationFailed) &&
				entry.Time.After(engine.DefaultStart.Add(61*time.Second)) && entry.Err.Error() != `storageClass "fast" not found` {
				t.Errorf("a failure without a class: %v", entry.Err)
			}
		}
	})
}

// XPROV-026: NoChange as the first answer leaves nothing in progress, later it leaves what there was (edge 27).
func TestProvisionNoChange(t *testing.T) {
	vac := func(c *corev1.PersistentVolumeClaim) {
		c.Finalizers = nil
		c.Spec.VolumeAttributesClassName = ptr("gold")
	}
	t.Run("XPROV-026 first", func(t *testing.T) {
		w := newProvisionerFixture(t, &driver{}, setup{}, class(), wantedClaim(vac))
		w.Advance(500 * time.Millisecond)
		w.Delete(api.PersistentVolumeClaim, "default/c1")
		before := w.Trace().Seq()
		w.settle()
		equal(t, "events after the claim's end", w.events(before), nil)
	})
	t.Run("XPROV-026 later", func(t *testing.T) {
		gold := &storagev1.VolumeAttributesClass{ObjectMeta: metav1.ObjectMeta{Name: "gold"}, DriverName: driverName}
		d := &driver{creates: []error{storage.Errorf(storage.Aborted, "busy")}}
		w := newProvisionerFixture(t, d, setup{}, class(), gold, wantedClaim(vac))
		w.Advance(500 * time.Millisecond)
		w.Delete(api.VolumeAttributesClass, "gold")
		w.Advance(time.Second) // NoChange
		w.Delete(api.PersistentVolumeClaim, "default/c1")
		w.Load(gold)
		w.settle()
		if !w.hasVolume("pvc-u1") {
			t.Errorf("the claim in progress was forgotten")
		}
	})
}

func TestProvisionedVolume(t *testing.T) {
	block := corev1.PersistentVolumeBlock
	d := &driver{topology: true, response: func(_ storage.CreateRequest, resp *storage.Volume) {
		resp.Size = 0
		resp.Context = map[string]string{"pool": "p1"}
		resp.Topology = []storage.Segment{{zone: "a"}, {zone: "b"}}
	}}
	c := class(func(c *storagev1.StorageClass) {
		c.MountOptions = []string{"noatime"}
		c.Parameters = map[string]string{"type": "ssd", "csi.storage.k8s.io/fstype": "xfs"}
	})
	gold := &storagev1.VolumeAttributesClass{ObjectMeta: metav1.ObjectMeta{Name: "gold"}, DriverName: driverName}
	claim := wantedClaim(func(claim *corev1.PersistentVolumeClaim) {
		claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
		claim.Spec.VolumeMode = &block
		claim.Spec.VolumeAttributesClassName = ptr("gold")
	})
	w := newProvisionerFixture(t, d, setup{}, c, gold, node("n1", map[string]string{zone: "a"}), csiNode("n1", zone), claim)
	version := w.claim("default/c1").ResourceVersion
	w.settle()
	equal(t, "XPROV-024, XPROV-040: events", w.events(0), []string{provisioning, succeeded})
	pv := w.volume("pvc-u1")
	check := func(what string, got, want any) {
		t.Helper()
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s = %v, want %v", what, got, want)
		}
	}
	check("XPROV-027: claimRef", *pv.Spec.ClaimRef, corev1.ObjectReference{
		APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: "default", Name: "c1", UID: "u1", ResourceVersion: version,
	})
	check("XPROV-027: storageClassName", pv.Spec.StorageClassName, "fast")
	check("annotations", pv.Annotations, map[string]string{
		objects.AnnProvisionedBy:                                     driverName,
		"volume.kubernetes.io/provisioner-deletion-secret-name":      "",
		"volume.kubernetes.io/provisioner-deletion-secret-namespace": "",
	})
	check("finalizers", pv.Finalizers, []string{objects.ExternalFinalizer, objects.VolumeProtectionFinalizer})
	check("reclaim policy", pv.Spec.PersistentVolumeReclaimPolicy, corev1.PersistentVolumeReclaimDelete)
	check("mountOptions", pv.Spec.MountOptions, []string{"noatime"})
	check("accessModes", pv.Spec.AccessModes, claim.Spec.AccessModes)
	check("volumeMode", *pv.Spec.VolumeMode, block)
	check("VAC", *pv.Spec.VolumeAttributesClassName, "gold")
	capacity := pv.Spec.Capacity[corev1.ResourceStorage]
	check("capacity, the driver answered 0", capacity.String(), "1Gi")
	check("handle", pv.Spec.CSI.VolumeHandle, "h-pvc-u1")
	check("pool", pv.Spec.CSI.VolumeAttributes["pool"], "p1")
	check("fsType of a block volume", pv.Spec.CSI.FSType, "")
	check("node affinity terms", len(pv.Spec.NodeAffinity.Required.NodeSelectorTerms), 2)

	req := d.requests[0]
	check("XPROV-025: name", req.Name, "pvc-u1")
	check("XPROV-025: class", req.Class, "fast")
	check("XPROV-025: claim", req.Claim.String(), "default/c1")
	check("XPROV-025: size", req.Size, int64(1<<30))
	check("XPROV-025: modes", req.Modes, claim.Spec.AccessModes)
	check("XPROV-025: mount options", req.MountOptions, []string{"noatime"})
	check("XPROV-025: parameters", req.Parameters, map[string]string{"type": "ssd"})
}

// XPROV-030: what differs from the table above.
func TestProvisionedVolumeVariants(t *testing.T) {
	tests := []struct {
		rule, name string
		driver     driver
		cfg        setup
		class      *storagev1.StorageClass
		claim      *corev1.PersistentVolumeClaim
		check      func(pv *corev1.PersistentVolume) bool
	}{
		{"XPROV-030", "no finalizer", driver{}, setup{options: options.Provisioner{NoFinalizer: true}}, class(), wantedClaim(),
			func(pv *corev1.PersistentVolume) bool {
				return !slices.Contains(pv.Finalizers, objects.ExternalFinalizer)
			}},
		{"XPROV-030", "no secret annotations", driver{}, setup{options: options.Provisioner{NoSecretAnnotations: true}}, class(), wantedClaim(),
			func(pv *corev1.PersistentVolume) bool {
				return maps.Equal(pv.Annotations, map[string]string{objects.AnnProvisionedBy: driverName})
			}},
		{"XPROV-030", "the plugin's name in a migrated class (edge 29)", driver{},
			setup{options: options.Provisioner{AdditionalNames: []string{"kubernetes.io/disk"}}},
			class(func(c *storagev1.StorageClass) { c.Provisioner = "kubernetes.io/disk" }), wantedClaim(),
			func(pv *corev1.PersistentVolume) bool {
				return pv.Annotations[objects.AnnProvisionedBy] == "kubernetes.io/disk"
			}},
		{"XPROV-030", "the driver's size, and its fsType",
			driver{response: func(_ storage.CreateRequest, resp *storage.Volume) { resp.Size = 2 << 30 }}, setup{},
			class(func(c *storagev1.StorageClass) { c.Parameters = map[string]string{"fstype": "ext4"} }), wantedClaim(),
			func(pv *corev1.PersistentVolume) bool {
				capacity := pv.Spec.Capacity[corev1.ResourceStorage]
				return capacity.Cmp(resource.MustParse("2Gi")) == 0 && pv.Spec.CSI.FSType == "ext4"
			}},
		{"XPROV-030", "a size that is no power of two is written as the API server has it",
			driver{response: func(_ storage.CreateRequest, resp *storage.Volume) { resp.Size = 1_500_000_000 }}, setup{},
			class(), wantedClaim(), func(pv *corev1.PersistentVolume) bool {
				capacity := pv.Spec.Capacity[corev1.ResourceStorage]
				return capacity.String() == "1500M"
			}},
		{"XPROV-030", "no topology without the capability", driver{response: func(_ storage.CreateRequest, resp *storage.Volume) {
			resp.Topology = []storage.Segment{{zone: "a"}}
		}}, setup{},
			class(), wantedClaim(), func(pv *corev1.PersistentVolume) bool { return pv.Spec.NodeAffinity == nil }},
		{"XPROV-030", "the class of the legacy annotation", driver{}, setup{}, class(), wantedClaim(func(c *corev1.PersistentVolumeClaim) {
			c.Spec.StorageClassName = nil
			c.Annotations[objects.AnnStorageClass] = "fast"
		}), func(pv *corev1.PersistentVolume) bool { return pv.Spec.StorageClassName == "fast" }},
	}
	for _, test := range tests {
		t.Run(test.rule+" "+test.name, func(t *testing.T) {
			w := newProvisionerFixture(t, &test.driver, test.cfg, test.class, test.claim)
			w.settle()
			if pv := w.volume("pvc-u1"); !test.check(pv) {
				t.Errorf("volume: %+v", pv)
			}
		})
	}
}

func TestProvisionPreChecks(t *testing.T) {
	source := func(kind, name string) func(*corev1.PersistentVolumeClaim) {
		return func(c *corev1.PersistentVolumeClaim) {
			c.Spec.DataSource = &corev1.TypedLocalObjectReference{Kind: kind, Name: name}
		}
	}
	origin := func(edit func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
		c := newClaim("origin", "o1", "pv1")
		c.Spec.StorageClassName = ptr("fast")
		c.Status.Phase = corev1.ClaimBound
		if edit != nil {
			edit(c)
		}
		return c
	}
	originVolume := func(options ...volumeOption) *corev1.PersistentVolume {
		options = append([]volumeOption{csi(driverName), phase(corev1.VolumeBound),
			claimRef(&corev1.ObjectReference{Namespace: "default", Name: "origin", UID: "o1"})}, options...)
		return newVolume(options...)
	}
	now := metav1.NewTime(engine.DefaultStart)
	handle := "Warning ProvisioningFailed: error getting handle for DataSource Type PersistentVolumeClaim by Name origin: "
	unbound := handle + "claim in dataSource not bound or invalid"
	vac := func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeAttributesClassName = ptr("gold") }
	tests := []struct {
		rule, name string
		claim      *corev1.PersistentVolumeClaim
		objects    []api.Object
		event      string // "" is success
		stopped    bool   // no retry
		state      string
		driver     driver
		class      *storagev1.StorageClass
	}{
		{rule: "XPROV-031", name: "selector",
			claim: wantedClaim(func(c *corev1.PersistentVolumeClaim) { c.Spec.Selector = &metav1.LabelSelector{} }),
			event: "Warning ProvisioningFailed: claim Selector is not supported"},
		{rule: "XPROV-031", name: "a populator's source", claim: wantedClaim(source("Recipe", "r")),
			event: "Normal Provisioning: Assuming an external populator will provision the volume", stopped: true},
		{rule: "SNAP-030", name: "a snapshot", claim: wantedClaim(source("VolumeSnapshot", "s"), ofSnapshotGroup),
			event: `Warning ProvisioningFailed: CSI driver does not support snapshot restore: controller CREATE_DELETE_SNAPSHOT capability is not reported`},
		{rule: "XPROV-031", name: "clone", claim: wantedClaim(source("PersistentVolumeClaim", "origin")),
			objects: []api.Object{origin(nil), originVolume()}},
		{rule: "XPROV-031", name: "clone of nothing", claim: wantedClaim(source("PersistentVolumeClaim", "origin")),
			event: handle + `error getting PVC origin (namespace "default") from api server: persistentvolumeclaim "origin" not found`},
		{rule: "XPROV-031", name: "clone of a pending claim", claim: wantedClaim(source("PersistentVolumeClaim", "origin")),
			objects: []api.Object{origin(func(c *corev1.PersistentVolumeClaim) { c.Status.Phase = corev1.ClaimPending }), originVolume()},
			event:   handle + "the PVC DataSource origin must have a status of Bound.  Got {Pending [] map[] [] map[] map[] <nil> nil}"},
		{rule: "XPROV-031", name: "clone of a claim that is being deleted", claim: wantedClaim(source("PersistentVolumeClaim", "origin")),
			objects: []api.Object{origin(func(c *corev1.PersistentVolumeClaim) { c.DeletionTimestamp = &now }), originVolume()},
			event:   handle + "the PVC DataSource origin is currently being deleted"},
		{rule: "XPROV-031", name: "clone of a larger claim", claim: wantedClaim(source("PersistentVolumeClaim", "origin")),
			objects: []api.Object{origin(func(c *corev1.PersistentVolumeClaim) {
				c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("2Gi")}
			}), originVolume()},
			event: handle +
				"error, new PVC request must be greater than or equal in size to the specified PVC data source, requested 1073741824 but source is 2147483648"},
		{rule: "XPROV-031", name: "clone of another driver's volume", claim: wantedClaim(source("PersistentVolumeClaim", "origin")),
			objects: []api.Object{origin(nil), originVolume(csi("other.example.com"))}, event: unbound},
		{rule: "XPROV-031", name: "clone of a volume that is bound elsewhere", claim: wantedClaim(source("PersistentVolumeClaim", "origin")),
			objects: []api.Object{origin(nil), originVolume(claimRef(nil))}, event: unbound},
		{rule: "XPROV-031", name: "clone of a claim without a class", claim: wantedClaim(source("PersistentVolumeClaim", "origin")),
			objects: []api.Object{origin(func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = nil }), originVolume()},
			event:   handle + "the source PVC (origin) storageclass cannot be empty"},
		{rule: "XPROV-031", name: "clone in another mode", claim: wantedClaim(source("PersistentVolumeClaim", "origin")),
			objects: []api.Object{origin(nil), originVolume(func(pv *corev1.PersistentVolume) { pv.Spec.VolumeMode = ptr(corev1.PersistentVolumeBlock) })},
			event:   handle + "the source PVC and destination PVCs must have the same volume mode for cloning.  Source is Block, but new PVC requested Filesystem"},
		{rule: "SNAP-034", name: "a namespace, and the gate is off", claim: wantedClaim(func(c *corev1.PersistentVolumeClaim) {
			c.Spec.DataSourceRef = &corev1.TypedObjectReference{Kind: "PersistentVolumeClaim", Name: "origin", Namespace: ptr("default")}
		}), objects: []api.Object{origin(nil), originVolume()},
			event: "Warning ProvisioningFailed: dataSourceRef namespace specified but the CrossNamespaceVolumeDataSource feature is disabled"},
		{rule: "XPROV-031", name: "VAC of this driver", claim: wantedClaim(vac),
			objects: []api.Object{&storagev1.VolumeAttributesClass{ObjectMeta: metav1.ObjectMeta{Name: "gold"}, DriverName: driverName}}},
		{rule: "XPROV-031", name: "VAC of another driver", claim: wantedClaim(vac),
			objects: []api.Object{&storagev1.VolumeAttributesClass{ObjectMeta: metav1.ObjectMeta{Name: "gold"}, DriverName: "other.example.com"}},
			event:   "Warning ProvisioningFailed: VAC gold referenced in PVC is for driver other.example.com which does not match driver name " + driverName},
		{rule: "XPROV-031", name: "VAC missing", claim: wantedClaim(vac),
			event: `Warning ProvisioningFailed: volumeattributesclasses.storage.k8s.io "gold" not found`},
		{rule: "XPROV-031", name: "VAC, and a driver that does not modify", claim: wantedClaim(vac), driver: driver{withoutCopies: true},
			event: "Warning ProvisioningFailed: CSI driver does not support VolumeAttributesClass: controller MODIFY_VOLUME capability is not reported"},
		{rule: "XPROV-031", name: "clone, and a driver that does not copy", claim: wantedClaim(source("PersistentVolumeClaim", "origin")),
			driver: driver{withoutCopies: true}, objects: []api.Object{origin(nil), originVolume()},
			event: "Warning ProvisioningFailed: CSI driver does not support clone operations: controller CLONE_VOLUME capability is not reported"},
		{rule: "XPROV-034", name: "an unknown parameter of the sidecar", claim: wantedClaim(),
			class: withParameters("csi.storage.k8s.io/color", "red"),
			event: `Warning ProvisioningFailed: failed to strip CSI Parameters of prefixed keys: found unknown parameter key "csi.storage.k8s.io/color" with reserved namespace csi.storage.k8s.io/`},
		{rule: "XPROV-034", name: "two file systems", claim: wantedClaim(),
			class: withParameters("fsType", "xfs", "csi.storage.k8s.io/fstype", "ext4"),
			event: `Warning ProvisioningFailed: fstype specified in parameters with both "fstype" and "csi.storage.k8s.io/fstype" keys`},
		{rule: "XPROV-034", name: "a secret without a namespace", claim: wantedClaim(),
			class: withParameters("csi.storage.k8s.io/node-stage-secret-name", "s"),
			event: "Warning ProvisioningFailed: failed to get name and namespace template from params: either name and namespace for NodeStage secrets specified, Both must be specified"},
		{rule: "XPROV-034", name: "an old and a new name of a secret", claim: wantedClaim(),
			class: withParameters("csi.storage.k8s.io/provisioner-secret-name", "s", "csiProvisionerSecretName", "s"),
			event: `Warning ProvisioningFailed: failed to get name and namespace template from params: Provisioner secrets specified in parameters with both "csi" and "csi.storage.k8s.io/" keys`},
		{rule: "XPROV-034", name: "an unknown token", claim: wantedClaim(),
			class: withParameters("csi.storage.k8s.io/secret-name", "s", "csi.storage.k8s.io/secret-namespace", "${pvc.name}"),
			event: `Warning ProvisioningFailed: error resolving value "${pvc.name}": invalid tokens: ["pvc.name"]`},
		{rule: "XPROV-034", name: "a name that no secret can have", claim: wantedClaim(),
			class: withParameters("csi.storage.k8s.io/secret-name", "S_${pvc.name}", "csi.storage.k8s.io/secret-namespace", "default"),
			event: `Warning ProvisioningFailed: "S_${pvc.name}" resolved to "S_c1" which is not a valid secret name`},
	}
	for _, test := range tests {
		t.Run(test.rule+" "+test.name, func(t *testing.T) {
			d := &test.driver
			if test.class == nil {
				test.class = class()
			}
			w := newProvisionerFixture(t, d, setup{}, append(test.objects, test.class, test.claim)...)
			start := w.Now()
			w.Advance(0)
			if test.event == "" {
				equal(t, "events", w.events(0), []string{provisioning, succeeded})
				return
			}
			equal(t, "events", w.events(0), []string{provisioning, test.event})
			equal(t, "calls", w.calls(0), nil)
			if stopped := len(w.failures(start)) == 0; stopped != test.stopped {
				t.Errorf("stopped: %v, want %v", stopped, test.stopped)
			}
		})
	}
}

// withParameters returns a class with parameters: name, value, name, value and so on.
func withParameters(parameters ...string) *storagev1.StorageClass {
	return class(func(c *storagev1.StorageClass) {
		c.Parameters = map[string]string{}
		for i := 0; i < len(parameters); i += 2 {
			c.Parameters[parameters[i]] = parameters[i+1]
		}
	})
}

// XPROV-034, XPROV-057: the request and the volume have the secrets of the class, with the tokens replaced; the deletion has that of the
// creation.
func TestProvisionSecrets(t *testing.T) {
	d := &driver{}
	c := withParameters(
		"type", "ssd", "csi.storage.k8s.io/secret-name", "all", "csi.storage.k8s.io/secret-namespace", "storage",
		"csi.storage.k8s.io/provisioner-secret-name", "${pvc.annotations['example.com/s']}-${pvc.name}",
		"csi.storage.k8s.io/provisioner-secret-namespace", "${pvc.namespace}",
		"csi.storage.k8s.io/node-stage-secret-name", "${pv.name}", "csi.storage.k8s.io/node-stage-secret-namespace", "kube-system",
		"csi.storage.k8s.io/controller-modify-secret-name", "modify", "csi.storage.k8s.io/controller-modify-secret-namespace", "storage",
	)
	gold := &storagev1.VolumeAttributesClass{ObjectMeta: metav1.ObjectMeta{Name: "gold"}, DriverName: driverName,
		Parameters: map[string]string{"iops": "9"}}
	w := newProvisionerFixture(t, d, setup{}, c, gold, wantedClaim(func(c *corev1.PersistentVolumeClaim) {
		c.Annotations["example.com/s"] = "key"
		c.Spec.VolumeAttributesClassName = ptr("gold")
	}))
	w.Load(secret("default", "key-c1"))
	w.Advance(time.Hour)
	ref := func(namespace, name string) *corev1.SecretReference {
		return &corev1.SecretReference{Namespace: namespace, Name: name}
	}
	pv := w.volume("pvc-u1")
	created := map[string]string{"key": "default/key-c1"}
	for _, tt := range []struct {
		name      string
		got, want any
	}{
		{"provisioner", d.requests[0].Secrets, created},
		{"parameters", d.requests[0].Parameters, map[string]string{"type": "ssd"}},
		{"mutable parameters", d.requests[0].Mutable, map[string]string{"iops": "9"}},
		{"controller publish", pv.Spec.CSI.ControllerPublishSecretRef, ref("storage", "all")},
		{"node stage", pv.Spec.CSI.NodeStageSecretRef, ref("kube-system", "pvc-u1")},
		{"node publish", pv.Spec.CSI.NodePublishSecretRef, ref("storage", "all")},
		{"controller expand", pv.Spec.CSI.ControllerExpandSecretRef, ref("storage", "all")},
		{"node expand", pv.Spec.CSI.NodeExpandSecretRef, ref("storage", "all")},
		{"modification", pv.Annotations["volume.kubernetes.io/controller-modify-secret-namespace"] + "/" +
			pv.Annotations["volume.kubernetes.io/controller-modify-secret-name"], "storage/modify"},
	} {
		if !reflect.DeepEqual(tt.got, tt.want) {
			t.Errorf("XPROV-034: %s = %+v, want %+v", tt.name, tt.got, tt.want)
		}
	}
	for _, tt := range []struct {
		name string
		edit func(*corev1.PersistentVolume)
		want map[string]string
	}{
		{"of the annotations", func(*corev1.PersistentVolume) {}, created},
		{"none", func(pv *corev1.PersistentVolume) {
			pv.Annotations["volume.kubernetes.io/provisioner-deletion-secret-name"] = ""
		}, nil},
		{"of the class", func(pv *corev1.PersistentVolume) {
			pv.Annotations = map[string]string{objects.AnnProvisionedBy: driverName}
			pv.Spec.StorageClassName = "shared"
		}, map[string]string{"key": "storage/all"}},
		{"that does not exist", func(pv *corev1.PersistentVolume) {
			pv.Annotations["volume.kubernetes.io/provisioner-deletion-secret-name"] = "gone"
		}, nil},
		{"of a class that is gone", func(pv *corev1.PersistentVolume) {
			pv.Annotations = map[string]string{objects.AnnProvisionedBy: driverName}
			pv.Spec.StorageClassName = "gone"
		}, nil},
	} {
		d := &driver{}
		old := pv.DeepCopy()
		old.Status.Phase, old.ResourceVersion = corev1.VolumeReleased, ""
		tt.edit(old)
		shared := withParameters("csi.storage.k8s.io/secret-name", "all", "csi.storage.k8s.io/secret-namespace", "storage")
		shared.Name = "shared"
		w := newProvisionerFixture(t, d, setup{}, shared, secret("default", "key-c1"), secret("storage", "all"), old)
		w.settle()
		if len(d.deleted) != 1 || !reflect.DeepEqual(d.deleted[0].Secrets, tt.want) {
			t.Errorf("XPROV-057: %s: deletions %+v, want one with the secret %+v", tt.name, d.deleted, tt.want)
		}
	}
}

// secret returns a Secret with its own name as content.
func secret(namespace, name string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, StringData: map[string]string{"key": namespace + "/" + name}}
}

// XPROV-034: a provisioner secret that does not exist is an error, and the claim is retried until it exists.
func TestProvisionMissingSecret(t *testing.T) {
	d := &driver{}
	c := withParameters("csi.storage.k8s.io/provisioner-secret-name", "key", "csi.storage.k8s.io/provisioner-secret-namespace", "storage")
	w := newProvisionerFixture(t, d, setup{}, c, wantedClaim())
	w.Advance(time.Minute)
	if len(d.requests) != 0 {
		t.Fatalf("XPROV-034: requests without the secret: %+v", d.requests)
	}
	want := `Warning ProvisioningFailed: error getting secret key in namespace storage: secrets "key" not found`
	if got := w.events(0); !slices.Contains(got, want) {
		t.Errorf("XPROV-034: events %q, want %q", got, want)
	}
	w.Load(secret("storage", "key"))
	w.Advance(10 * time.Minute)
	if len(d.requests) != 1 || d.requests[0].Secrets["key"] != "storage/key" {
		t.Errorf("XPROV-034: requests %+v, want one with the secret", d.requests)
	}
}

// XPROV-031: with topology the node must exist; it determines where the volume is created.
func TestProvisionTopology(t *testing.T) {
	zoneOf := func(z string) map[string]string { return map[string]string{zone: z} }
	cluster := []api.Object{
		node("n1", zoneOf("a")), csiNode("n1", zone), node("n2", zoneOf("b")), csiNode("n2", zone), node("n3", zoneOf("c")), csiNode("n3", zone),
	}
	allowed := func(zones ...string) func(*storagev1.StorageClass) {
		return func(c *storagev1.StorageClass) {
			c.AllowedTopologies = []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: zone,
				Values: zones}}}}
		}
	}
	tests := []struct {
		rule, name string
		objects    []api.Object
		class      *storagev1.StorageClass
		claim      *corev1.PersistentVolumeClaim
		requisite  string
		preferred  string
		event      string
		givenBack  bool
	}{
		{rule: "XPROV-031", name: "the selected node's place comes first", objects: cluster, class: class(delayed),
			claim: wantedClaim(onNode("n2")), requisite: "a b c", preferred: "b c a"},
		{rule: "XPROV-031", name: "of the allowed topologies", objects: cluster, class: class(delayed, allowed("c", "b")),
			claim: wantedClaim(onNode("n2")), requisite: "b c", preferred: "b c"},
		{rule: "XPROV-031", name: "without a node the claims of a set go round", objects: cluster, class: class(), claim: wantedClaim(),
			requisite: "a b c", preferred: ""},
		{rule: "XPROV-031", name: "the node is in no allowed place", objects: cluster, class: class(delayed, allowed("c")),
			claim: wantedClaim(onNode("n2")),
			event: "error generating accessibility requirements: topology " + zone + `=b from selected node "n2" is not in requisite`},
		{rule: "XPROV-031", name: "the CSINode is missing", objects: []api.Object{node("n1", zoneOf("a"))}, class: class(delayed),
			claim: wantedClaim(onNode("n1")),
			event: `csinode.storage.k8s.io "n1" not found`, givenBack: true},
		{rule: "XPROV-031", name: "the node is missing", objects: []api.Object{csiNode("n1", zone)}, class: class(delayed),
			claim: wantedClaim(onNode("n1")),
			event: `node "n1" not found`, givenBack: true},
		{rule: "XPROV-031", name: "the driver is not on the node", objects: []api.Object{node("n1", zoneOf("a")), csiNode("n1")},
			class: class(delayed), claim: wantedClaim(onNode("n1")),
			event: "error generating accessibility requirements: no topology key found for node n1"},
		{rule: "XPROV-031", name: "the node has lost its label", objects: []api.Object{node("n1", nil), csiNode("n1", zone)},
			class: class(delayed), claim: wantedClaim(onNode("n1")),
			event: "error generating accessibility requirements: topology labels from selected node n1 do not match topology keys from CSINode [" + zone + "]"},
		{rule: "XPROV-031", name: "the driver is nowhere", class: class(), claim: wantedClaim(),
			event: "error generating accessibility requirements: no available topology found"},
	}
	zones := func(segments []storage.Segment) string {
		var all []string
		for _, s := range segments {
			all = append(all, s[zone])
		}
		return strings.Join(all, " ")
	}
	for _, test := range tests {
		t.Run(test.rule+" "+test.name, func(t *testing.T) {
			d := &driver{topology: true}
			w := newProvisionerFixture(t, d, setup{}, append(slices.Clone(test.objects), test.class, test.claim)...)
			w.Advance(0)
			if test.event != "" {
				equal(t, "events", w.events(0), []string{provisioning, "Warning ProvisioningFailed: " + test.event})
				_, selected := w.claim("default/c1").Annotations[objects.AnnSelectedNode]
				if givenBack := !selected; givenBack != test.givenBack && test.claim.Annotations[objects.AnnSelectedNode] != "" {
					t.Errorf("the node was given back: %v, want %v", givenBack, test.givenBack)
				}
				return
			}
			if len(d.requests) != 1 {
				t.Fatalf("%d requests, want 1", len(d.requests))
			}
			req := d.requests[0]
			if got := zones(req.Requisite); got != test.requisite {
				t.Errorf("requisite = %q, want %q", got, test.requisite)
			}
			if got := zones(req.Preferred); test.preferred != "" && got != test.preferred {
				t.Errorf("preferred = %q, want %q", got, test.preferred)
			}
		})
	}
	t.Run("XPROV-031 the topologies of a set", func(t *testing.T) {
		var first []string
		for i := range 3 {
			d := &driver{topology: true}
			claim := wantedClaim()
			claim.Name = fmt.Sprintf("data-web-%d", i)
			w := newProvisionerFixture(t, d, setup{}, append(slices.Clone(cluster), class(), claim)...)
			w.Advance(0)
			first = append(first, d.requests[0].Preferred[0][zone])
		}
		slices.Sort(first)
		equal(t, "first topologies", first, []string{"a", "b", "c"})
	})
}

// XPROV-033: an unusable volume is deleted, in up to five tries, and requested again.
func TestProvisionUselessAnswer(t *testing.T) {
	broken := storage.Errorf(storage.Internal, "broken")
	small := func(_ storage.CreateRequest, resp *storage.Volume) { resp.Size = 1 }
	unfilled := func(_ storage.CreateRequest, resp *storage.Volume) { resp.Content = false }
	clone := func(c *corev1.PersistentVolumeClaim) {
		c.Spec.DataSource = &corev1.TypedLocalObjectReference{Kind: "PersistentVolumeClaim", Name: "origin"}
	}
	origin := newClaim("origin", "o1", "pv1")
	origin.Spec.StorageClassName = ptr("fast")
	origin.Status.Phase = corev1.ClaimBound
	originVolume := newVolume(csi(driverName), phase(corev1.VolumeBound),
		claimRef(&corev1.ObjectReference{Namespace: "default", Name: "origin", UID: "o1"}))
	tooSmall := "created volume capacity 1 less than requested capacity 1073741824"
	tests := []struct {
		rule, name string
		driver     driver
		claim      *corev1.PersistentVolumeClaim
		deletes    int
		event      string
	}{
		{"XPROV-033", "too small", driver{response: small}, wantedClaim(), 1, tooSmall},
		{"XPROV-033", "too small, deleted at the fifth try", driver{response: small, deletes: repeat(broken, 4)}, wantedClaim(), 5, tooSmall},
		{"XPROV-033", "too small, not deleted", driver{response: small, deletes: repeat(broken, 5)}, wantedClaim(), 5,
			tooSmall + ". Cleanup of volume pvc-u1 failed, volume is orphaned: " + broken.Error()},
		{"XPROV-033", "the source was not used", driver{response: unfilled}, wantedClaim(clone), 1, "volume content source missing"},
	}
	for _, test := range tests {
		t.Run(test.rule+" "+test.name, func(t *testing.T) {
			w := newProvisionerFixture(t, &test.driver, setup{}, class(), origin, originVolume, finalizerless(test.claim))
			w.Advance(0)
			equal(t, "events", w.events(0), []string{provisioning, "Warning ProvisioningFailed: " + test.event})
			equal(t, "calls", w.calls(0), append([]string{"Create pvc-u1"}, slices.Repeat([]string{"Delete h-pvc-u1"}, test.deletes)...))
			// Background: the claim is driven on after its end.
			w.Delete(api.PersistentVolumeClaim, "default/c1")
			test.driver.response = nil
			w.settle()
			if !w.hasVolume("pvc-u1") {
				t.Errorf("the claim was not in progress")
			}
		})
	}
}

// XPROV-021: only a provisioner with NoBlock rejects block volumes; it does not retry.
func TestProvisionBlock(t *testing.T) {
	block := func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeMode = ptr(corev1.PersistentVolumeBlock) }
	w := newProvisionerFixture(t, &driver{noBlock: true}, setup{}, class(), wantedClaim(block))
	start := w.Now()
	w.settle()
	equal(t, "XPROV-021: events", w.events(0),
		[]string{"Warning ProvisioningFailed: disk.example.com does not support block volume provisioning"})
	if got := w.failures(start); len(got) != 0 {
		t.Errorf("XPROV-021: failures at %v s, want none", got)
	}
	w = newProvisionerFixture(t, &driver{}, setup{}, class(), wantedClaim(block))
	w.settle()
	equal(t, "XPROV-021: events of the sidecar", w.events(0), []string{provisioning, succeeded})
}

// XPROV-020, XPROV-022: what the informer does not show yet is asked for again, and the same.
func TestProvisionIsRepeatedUntilTheVolumeIsSeen(t *testing.T) {
	d := &driver{}
	w := newProvisionerFixture(t, d, setup{}, class(), wantedClaim())
	w.settle()
	w.touch("default/c1")
	w.settle()
	equal(t, "XPROV-020: calls", w.calls(0), []string{"Create pvc-u1"})
	// The volume is deleted without an event for the claim: the resync of XPROV-010 finds it.
	w.Load(newVolume(named("pvc-u1"), finalizers(), csi(driverName), phase(corev1.VolumeBound), policy(corev1.PersistentVolumeReclaimRetain)))
	w.settle()
	w.Delete(api.PersistentVolume, "pvc-u1")
	w.settle()
	equal(t, "XPROV-010: calls before the resync", w.calls(0), []string{"Create pvc-u1"})
	w.Advance(15 * time.Minute)
	equal(t, "XPROV-010: calls after the resync", w.calls(0), []string{"Create pvc-u1", "Create pvc-u1"})
}

// XPROV-010: a class that was replaced is noticed by the resync. XPROV-022, XPROV-023: it decides at each attempt.
func TestProvisionClassReplaced(t *testing.T) {
	w := newProvisionerFixture(t, &driver{}, setup{}, class(func(c *storagev1.StorageClass) { c.Provisioner = "other.example.com" }),
		wantedClaim())
	w.settle()
	w.Delete(api.StorageClass, "fast")
	w.Load(class())
	w.settle()
	equal(t, "XPROV-023: calls before the resync", w.calls(0), nil)
	w.Advance(15 * time.Minute)
	equal(t, "XPROV-022: calls after the resync", w.calls(0), []string{"Create pvc-u1"})
}

func TestProvisionSave(t *testing.T) {
	broken := errors.New("broken")
	failCreates := func(n int) func(w *fixture) {
		return func(w *fixture) {
			w.faults = append(w.faults, func(c api.Call) api.Fault {
				if c.Verb == "create" && c.Kind == "PersistentVolume" && n > 0 {
					n--
					return api.Fault{Err: broken}
				}
				return api.Fault{}
			})
		}
	}
	t.Run("XPROV-040 in the background", func(t *testing.T) {
		w := newProvisionerFixture(t, &driver{}, setup{}, class())
		failCreates(4)(w)
		w.Load(wantedClaim())
		start := w.Now()
		w.settle()
		var tries []float64
		for entry := range w.Trace().Entries() {
			if entry.Type == trace.Write && entry.Verb == "create" {
				tries = append(tries, entry.Time.Sub(start).Seconds())
			}
		}
		// At once, at once again from the queue, then after 5, 10 and 20 ms.
		if want := []float64{0, 0, 0.005, 0.015, 0.035}; !slices.Equal(tries, want) {
			t.Errorf("tries at %v s, want %v", tries, want)
		}
		equal(t, "events", w.events(0), []string{provisioning, succeeded})
		equal(t, "calls: the asset stays", w.calls(0), []string{"Create pvc-u1"})
	})
	t.Run("XPROV-040 meanwhile the claim may be provisioned for again", func(t *testing.T) {
		w := newProvisionerFixture(t, &driver{}, setup{}, class())
		failCreates(12)(w)
		w.Load(wantedClaim())
		w.Advance(time.Second)
		w.touch("default/c1")
		w.settle()
		equal(t, "calls", w.calls(0), []string{"Create pvc-u1", "Create pvc-u1"})
	})
	t.Run("XPROV-040 it exists", func(t *testing.T) {
		w := &fixture{Rig: rig.New(t, engine.Config{Lag: map[string]time.Duration{actorName: time.Hour}})}
		w.Load(class(), wantedClaim())
		w.must(reclaim.NewProvisioner(w.Engine, &driver{}, sidecar.Config{}, options.Provisioner{}))
		w.Load(newVolume(named("pvc-u1")))
		w.Advance(time.Minute)
		equal(t, "events", w.events(0), []string{provisioning, succeeded})
	})
	blocking := setup{options: options.Provisioner{BlockingSave: true}}
	t.Run("XPROV-040 blocking, the fifth try", func(t *testing.T) {
		w := newProvisionerFixture(t, &driver{}, blocking, class())
		failCreates(4)(w)
		w.Load(wantedClaim())
		w.Advance(40 * time.Second)
		equal(t, "events", w.events(0), []string{provisioning, succeeded})
	})
	notSaved := "Warning ProvisioningFailed: Error creating provisioned PV object for claim default/c1: broken. Deleting the volume."
	t.Run("XPROV-040 blocking, in vain", func(t *testing.T) {
		w := newProvisionerFixture(t, &driver{}, blocking, class())
		failCreates(5)(w)
		w.Load(wantedClaim())
		w.Advance(40*time.Second + 500*time.Millisecond)
		equal(t, "events", w.events(0), []string{provisioning, notSaved})
		equal(t, "calls", w.calls(0), []string{"Create pvc-u1", "Delete h-pvc-u1"})
		w.settle()
		equal(t, "events after the retry", w.events(0), []string{provisioning, notSaved, provisioning, succeeded})
	})
	t.Run("XPROV-040 blocking, and the asset stays", func(t *testing.T) {
		driverBroken := storage.Errorf(storage.Internal, "broken")
		w := newProvisionerFixture(t, &driver{deletes: repeat(driverBroken, 5)}, blocking, class())
		failCreates(5)(w)
		w.Load(wantedClaim())
		w.Advance(80 * time.Second)
		equal(t, "events", w.events(0), []string{provisioning, notSaved,
			"Warning ProvisioningCleanupFailed: Error cleaning provisioned volume for claim default/c1: " + driverBroken.Error() +
				". Please delete manually."})
	})
}

// XPROV-001: a call that takes longer than the timeout is not lost: the driver goes on, and the next call waits for the rest.
func TestProvisionTimeout(t *testing.T) {
	tests := []struct {
		rule, name string
		delay      time.Duration
		cfg        setup
		want       []float64 // ends of calls
		events     int       // failures
	}{
		{"XPROV-001", "within the timeout", 10 * time.Second, setup{}, []float64{10}, 0},
		{"XPROV-001", "beyond it", 15 * time.Second, setup{}, []float64{10, 15}, 1},
		{"XPROV-001", "far beyond it", 25 * time.Second, setup{}, []float64{10, 21, 25}, 2},
		{"XPROV-001", "no timeout", 25 * time.Second, setup{config: sidecar.Config{Timeout: -1}}, []float64{25}, 0},
	}
	for _, test := range tests {
		t.Run(test.rule+" "+test.name, func(t *testing.T) {
			d := &driver{delay: map[storage.Op]time.Duration{storage.Create: test.delay}}
			w := newProvisionerFixture(t, d, test.cfg, class(), wantedClaim())
			start := w.Now()
			w.settle()
			if got := w.attempts(start, "Create"); !slices.Equal(got, test.want) {
				t.Errorf("calls ended at %v s, want %v", got, test.want)
			}
			if got := len(w.failures(start)); got != test.events {
				t.Errorf("%d failures, want %d", got, test.events)
			}
			if len(d.requests) != 1 || !w.hasVolume("pvc-u1") {
				t.Errorf("%d requests took effect, volume there: %v; want one, true", len(d.requests), w.hasVolume("pvc-u1"))
			}
		})
	}
}

func TestProvisionerConfig(t *testing.T) {
	e, err := engine.New(engine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		driver storage.Backend
		cfg    setup
		want   string
	}{
		{nil, setup{}, "the driver is nil"},
		{&driver{}, setup{config: sidecar.Config{RetryStart: -1}}, "Provisioner.RetryStart is -1ns"},
		{&driver{}, setup{config: sidecar.Config{RetryMax: -1}}, "Provisioner.RetryMax is -1ns"},
		{&driver{}, setup{config: sidecar.Config{ResyncPeriod: -1}}, "Provisioner.ResyncPeriod is -1ns"},
		{&driver{}, setup{options: options.Provisioner{GiveUpAfter: -1}}, "GiveUpAfter is -1"},
	}
	for _, test := range tests {
		if _, err := reclaim.NewProvisioner(e, test.driver, test.cfg.config, test.cfg.options); err == nil ||
			!strings.Contains(err.Error(), test.want) {
			t.Errorf("NewProvisioner: error %v, want one with %q", err, test.want)
		}
	}
	if a, err := reclaim.NewProvisioner(e, &driver{}, sidecar.Config{}, options.Provisioner{}); err != nil || a.Name() != actorName {
		t.Errorf("NewProvisioner = %v, %v; want actor %s", a, err, actorName)
	}
}

// ofSnapshotGroup gives the data source of a claim the API group of snapshots.
func ofSnapshotGroup(c *corev1.PersistentVolumeClaim) {
	c.Spec.DataSource.APIGroup = new("snapshot.storage.k8s.io")
}
