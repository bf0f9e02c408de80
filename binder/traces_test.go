package binder_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/binder"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

// story is a whole cluster. Its log shows what the PersistentVolume controller does.
type story struct {
	*volsim.Cluster
	t    *testing.T
	seen uint64
}

func newStory(t *testing.T, cfg volsim.Config) *story {
	t.Helper()
	c, err := volsim.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return &story{Cluster: c, t: t}
}

func (s *story) do(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// then advances by d and compares what the controller did since the last call.
func (s *story) then(when string, d time.Duration, want ...string) {
	s.t.Helper()
	s.do(s.Advance(d))
	diffLog(s.t, when, timed(s.Trace(), s.seen), want)
	s.seen = s.Trace().Seq()
}

func (s *story) volume(name string) *corev1.PersistentVolume {
	s.t.Helper()
	pv, err := s.Volumes.Get(name)
	s.do(err)
	return pv
}

func (s *story) claim() *corev1.PersistentVolumeClaim {
	s.t.Helper()
	claim, err := s.Claims.Get(claimKey)
	s.do(err)
	return claim
}

// TestTraces: the reference traces of section 14, over whole clusters.
func TestTraces(t *testing.T) {
	claim := fake.Claim("c", "5Gi")

	t.Run("T1 BIND-054, BIND-070: a fresh bind, all in one sync of the claim", func(t *testing.T) {
		s := newStory(t, volsim.Config{})
		s.do(s.Create(fake.Volume("pv", "10Gi")))
		s.then("PV add", time.Second, "0s PV.S Available")
		s.do(s.Create(claim.DeepCopy()))
		s.then("PVC add", time.Minute, "1s PV.U", "1s PV.S Bound", "1s PVC.U", "1s PVC.S Bound")
		if got := claimStatus(s.claim()); got != "Bound ReadWriteOnce storage=10Gi" {
			t.Errorf("claim: %s", got)
		}
		if len(s.Events()) > 0 {
			t.Errorf("a successful bind emits no event: %v", s.Events())
		}
	})

	t.Run("T2 PROV-031 to PROV-034: external provisioning", func(t *testing.T) {
		s := newStory(t, volsim.Config{})
		s.do(s.Create(fake.Class("gold", driver), fake.Claim("c", "5Gi", fake.InClass("gold"))))
		said := waitsFor(driver)
		s.then("the claim", 20*time.Second, "0s PVC.U", "0s "+said, "0s "+said, "15s "+said)
		s.do(s.Create(fake.Volume("pv", "5Gi", fake.InClass("gold"), fake.ForClaim("c", s.claim().UID), fake.CSISource(driver, "h"),
			fake.Annotations(objects.AnnProvisionedBy, driver), fake.Policy(corev1.PersistentVolumeReclaimDelete))))
		s.then("the volume", time.Minute, "20s PV.S Bound", "20s PVC.U", "20s PVC.S Bound")
		if got := keys(s.volume("pv").Annotations); !slices.Equal(got, []string{objects.AnnProvisionedBy}) {
			t.Errorf("annotations of the volume: %v", got)
		}
		t.Run("T3b BIND-039, BIND-064: its claim is deleted, and the policy is Delete", func(t *testing.T) {
			s.t = t
			s.do(s.Delete(claim))
			s.then("deletion", time.Minute, "1m20s PV.S Released")
		})
	})

	t.Run("T3 BIND-039, BIND-064: a claim is deleted, its volume retained", func(t *testing.T) {
		s := newStory(t, volsim.Config{})
		s.do(s.Create(fake.Volume("pv", "10Gi")))
		s.do(s.Advance(0))
		s.do(s.Create(claim.DeepCopy()))
		s.then("bind", time.Second, boundPair("0s")...)
		s.do(s.Delete(claim))
		s.then("deletion", time.Minute, "1s PV.S Released")
	})

	t.Run("T4 PROV-041 to PROV-048: in-tree dynamic provisioning", func(t *testing.T) {
		s := newStory(t, volsim.Config{Backends: []storage.Backend{fake.InTree(disk)}})
		s.do(s.Create(fake.Class("gold", disk), fake.Claim("c", "5Gi", fake.InClass("gold"))))
		name := "pvc-" + string(s.claim().UID)
		s.then("the claim", time.Minute, "0s PVC.U", "0s CALL Create", "0s PV.C",
			"0s EV PVC Normal ProvisioningSucceeded: Successfully provisioned volume "+name+" using "+disk, "0s PV.S Bound", "0s PVC.U",
			"0s PVC.S Bound")
	})

	t.Run("T5 BIND-060c, BIND-060e, BIND-063: a user clears the uid, and then the pointer", func(t *testing.T) {
		s := newStory(t, volsim.Config{})
		s.do(s.Create(edit(fake.Volume("pv", "10Gi", fake.CSISource(driver, "h")),
			func(pv *corev1.PersistentVolume) { pv.Spec.VolumeAttributesClassName = new("silver") })))
		s.do(s.Advance(0))
		s.do(s.Create(edit(fake.Claim("c", "5Gi"), func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeAttributesClassName = new("silver") })))
		s.then("bind", time.Second, boundPair("0s")...)
		if got := claimStatus(s.claim()); got != "Bound ReadWriteOnce storage=10Gi vac=silver" {
			t.Errorf("claim: %s", got)
		}
		s.do(s.Patch(fake.Volume("pv", "1Gi"), `{"spec":{"claimRef":{"uid":null}}}`))
		s.then("no uid", time.Minute, "1s PV.S Available", "15s PVC.S Lost", "15s "+misbound)
		if got := claimStatus(s.claim()); got != "Lost" {
			t.Errorf("claim: %s", got)
		}
		s.do(s.Patch(fake.Volume("pv", "1Gi"), `{"spec":{"claimRef":null}}`))
		s.then("no pointer", time.Minute, "1m15s PV.U", "1m15s PV.S Bound", "1m15s PVC.S Bound")
		if got := claimStatus(s.claim()); got != "Bound ReadWriteOnce storage=10Gi" {
			t.Errorf("edge 12: claim: %s", got)
		}
	})

	t.Run("T6 BIND-055, BIND-058, PROV-003: a default class appears later", func(t *testing.T) {
		s := newStory(t, volsim.Config{})
		s.do(s.Create(fake.Claim("c", "5Gi", fake.NoClass())))
		s.then("no class", 20*time.Second, "0s "+noVolume, "15s "+noVolume)
		s.do(s.Create(fake.Class("gold", driver, fake.Default())))
		said := waitsFor(driver)
		s.then("a class", 25*time.Second, "30s PVC.U", "30s PVC.U", "30s "+said, "30s "+said, "45s "+said)
		if class := s.claim().Spec.StorageClassName; class == nil || *class != "gold" {
			t.Errorf("class %v", class)
		}
	})
}

// TestWhichVolume: edge cases of matching, as they show in the volume that a claim ends up with.
func TestWhichVolume(t *testing.T) {
	rwo, both := fake.Modes("RWO"), fake.Modes("RWO", "ROX")
	tests := []struct {
		rule, name string
		volumes    []*corev1.PersistentVolume
		claim      *corev1.PersistentVolumeClaim
		want       string
	}{
		{"MATCH-003", "edge 1: a free volume with the modes that are asked for beats a reserved one with more",
			[]*corev1.PersistentVolume{available("free", "10Gi", rwo), available("mine", "10Gi", both, fake.ForClaim("c"))},
			pending(), "free"},
		{"MATCH-003", "edge 2: and so does a larger one",
			[]*corev1.PersistentVolume{available("large", "100Gi", rwo), available("small", "5Gi", both)}, pending(), "large"},
		{"MATCH-015", "edge 3: a reserved volume, whatever its phase, class and labels",
			[]*corev1.PersistentVolume{available("free", "5Gi"),
				fake.Volume("mine", "10Gi", fake.Phase("Failed"), fake.InClass("x"), fake.ForClaim("c"))},
			pending(), "mine"},
		{"MATCH-023", "edge 3: but not if it is too small",
			[]*corev1.PersistentVolume{available("free", "5Gi"), available("mine", "1Gi", fake.ForClaim("c"))}, pending(), "free"},
		{"MATCH-023", "edge 3: or of the wrong mode",
			[]*corev1.PersistentVolume{available("free", "5Gi"), available("mine", "10Gi", fake.Block(), fake.ForClaim("c"))}, pending(), "free"},
		{"MATCH-023", "edge 3: or terminating",
			[]*corev1.PersistentVolume{available("free", "5Gi"),
				edit(available("mine", "10Gi", fake.ForClaim("c"), fake.Finalizers("a/b")), func(pv *corev1.PersistentVolume) {
					pv.DeletionTimestamp = &metav1.Time{Time: engine.DefaultStart}
				})}, pending(), "free"},
		{"MATCH-017", "edge 7: a volume that is still Pending",
			[]*corev1.PersistentVolume{fake.Volume("new", "5Gi", fake.Phase("Pending"))}, pending(), ""},
		{"BIND-003", "edge 15: a volume of an earlier claim of that name",
			[]*corev1.PersistentVolume{available("old", "5Gi", fake.ForClaim("c", "earlier"))}, pending(), ""},
		{"BIND-003", "edge 15: unless only the name is in its pointer",
			[]*corev1.PersistentVolume{available("old", "5Gi", fake.ForClaim("c"))}, pending(), "old"},
	}
	for _, test := range tests {
		t.Run(test.rule+" "+test.name, func(t *testing.T) {
			objs := []api.Object{test.claim}
			for _, pv := range test.volumes {
				objs = append(objs, pv)
			}
			tr := trial(t, binder.TrialConfig{AsGiven: true}, objs...)
			if err := tr.SyncClaim(claimKey); err != nil {
				t.Fatal(err)
			}
			if got := theClaim(t, tr.Store()).Spec.VolumeName; got != test.want {
				t.Errorf("volume %q, want %q", got, test.want)
			}
		})
	}
}

// TestStories: what takes a whole cluster and some time to show.
func TestStories(t *testing.T) {
	claim := fake.Claim("c", "5Gi")

	t.Run("edge 38 BIND-051: a claim that a pod keeps from going is bound all the same", func(t *testing.T) {
		s := newStory(t, volsim.Config{})
		s.do(s.Create(fake.Pod("web", fake.Claims("c"), fake.OnNode("n1")), claim.DeepCopy()))
		s.then("the claim", time.Second, "0s "+noVolume)
		s.do(s.Delete(claim))
		s.do(s.Create(fake.Volume("pv", "10Gi")))
		s.then("the volume", 15*time.Second, append([]string{"1s " + noVolume, "1s PV.S Available"}, boundPair("15s")[1:]...)...)
		if s.claim().DeletionTimestamp == nil {
			t.Error("the claim is not terminating")
		}
	})

	t.Run("edge 18 BIND-062: a Released volume whose pointer is cleared is free, whatever its policy", func(t *testing.T) {
		s := newStory(t, volsim.Config{Backends: []storage.Backend{fake.InTree(disk, fake.Without(storage.Delete))}})
		s.do(s.Create(fake.Volume("pv", "10Gi", fake.Policy(corev1.PersistentVolumeReclaimDelete))))
		s.do(s.Advance(0))
		s.do(s.Create(claim.DeepCopy()))
		s.do(s.Advance(0))
		s.do(s.Delete(claim))
		s.do(s.Advance(time.Second))
		if phase := s.volume("pv").Status.Phase; phase != corev1.VolumeFailed {
			t.Fatalf("phase %s, want Failed", phase)
		}
		s.do(s.Patch(fake.Volume("pv", "1Gi"), `{"spec":{"claimRef":null}}`))
		s.do(s.Advance(time.Minute))
		if status := s.volume("pv").Status; status.Phase != corev1.VolumeAvailable || status.Message != "" {
			t.Errorf("edge 25: status %v", status)
		}
	})

	t.Run("edge 17 BIND-068: a provisioned volume that lost the race stays reserved under the policy Retain for its claim", func(t *testing.T) {
		s := newStory(t, volsim.Config{})
		s.do(s.Create(fake.Class("gold", driver), fake.Claim("c", "5Gi", fake.InClass("gold"))))
		s.do(s.Advance(0))
		s.do(s.Create(fake.Volume("winner", "5Gi", fake.InClass("gold"))))
		s.do(s.Advance(16 * time.Second))
		s.do(s.Create(fake.Volume("pv", "5Gi", fake.InClass("gold"), fake.ForClaim("c", s.claim().UID),
			fake.Annotations(objects.AnnProvisionedBy, driver))))
		s.do(s.Advance(time.Minute))
		pv := s.volume("pv")
		if name := s.claim().Spec.VolumeName; name != "winner" || refText(pv) != "default/c[]" || pv.Status.Phase != corev1.VolumeAvailable {
			t.Errorf("the claim has %q; the late volume is %s and points at %s", name, pv.Status.Phase, refText(pv))
		}
	})

	t.Run("edge 29 PROV-010: the class object is missing, and a volume of that class is there", func(t *testing.T) {
		s := newStory(t, volsim.Config{})
		s.do(s.Create(fake.Volume("pv", "10Gi", fake.InClass("gone"))))
		s.do(s.Advance(0))
		s.do(s.Create(fake.Claim("c", "5Gi", fake.InClass("gone"))))
		s.then("bind", time.Second, boundPair("0s")...)
	})

	t.Run("BIND-109, BIND-095: a write that fails inside an operation is retried by the operation's next run", func(t *testing.T) {
		s := newStory(t, volsim.Config{})
		s.Faults.Fail(fake.Match{Verb: "update", Kind: "PersistentVolumeClaim"}, errBroken).Once()
		s.do(s.Create(fake.Class("gold", driver), fake.Claim("c", "5Gi", fake.InClass("gold"))))
		s.then("a failed write", 14*time.Second, "0s PVC.U refused", "0s "+provisioningFailed("Error saving claim: the server is broken"))
		s.then("the next resync", time.Second, "15s PVC.U", "15s "+waitsFor(driver), "15s "+waitsFor(driver))
	})

	t.Run("edge 37: bound pairs are left alone, claims that wait are not", func(t *testing.T) {
		for _, full := range []bool{false, true} {
			var cfg volsim.Config
			internals.Options(&cfg).NoSkipping = full
			s := newStory(t, cfg)
			s.do(s.Create(fake.Volume("pv", "10Gi")))
			s.do(s.Advance(0))
			s.do(s.Create(claim.DeepCopy()))
			s.do(s.Advance(time.Second))
			s.seen = s.Trace().Seq()
			s.then("an hour", time.Hour)
			s.do(s.Create(fake.Claim("d", "5Gi")))
			s.do(s.Advance(time.Hour))
			events := 0
			for e := range s.Trace().Since(s.seen) {
				if e.Type == trace.Emitted {
					events++
				}
				if e.Type == trace.Write && e.Actor != api.User {
					t.Errorf("write %v", e)
				}
			}
			if events != 241 {
				t.Errorf("%d events in an hour, want one and then one each 15 s", events)
			}
		}
	})
}

// TestEventCatalogue: section 13, the events of a claim and their types.
func TestEventCatalogue(t *testing.T) {
	s := newStory(t, volsim.Config{Backends: []storage.Backend{fake.InTree(disk)}})
	s.do(s.Create(
		fake.Class("late", driver, fake.WaitForFirstConsumer()), fake.Class("gold", disk), fake.Class("ext", driver),
		fake.Volume("taken", "1Gi", fake.ForClaim("x")), fake.Volume("small", "1Gi", fake.InClass("s")),
		fake.Claim("a", "5Gi"), fake.Claim("b", "5Gi", fake.VolumeName("taken")), fake.Claim("d", "5Gi", fake.VolumeName("small")),
		fake.Claim("e", "5Gi", fake.InClass("late")), fake.Claim("f", "5Gi", fake.InClass("gold")), fake.Claim("g", "5Gi", fake.InClass("ext")),
		fake.Claim("h", "5Gi", fake.InClass("none")), fake.Claim("i", "5Gi", fake.InClass("late")), fake.Pod("web", fake.Claims("i")),
	))
	s.do(s.Load(fake.Claim("l", "5Gi", fake.UID("l"), fake.VolumeName("gone"), ann(completed), fake.Phase("Bound"))))
	s.do(s.Load(fake.Claim("m", "5Gi", fake.UID("m"), fake.VolumeName("taken"), ann(completed), fake.Phase("Bound"))))
	s.do(s.Advance(time.Second))
	got := map[string]string{}
	for _, event := range s.Events() {
		if event.Source.Component == actors.PersistentVolume {
			got[strings.TrimPrefix(event.InvolvedObject.Name, "pvc-")] = event.Type + " " + event.Reason
		}
	}
	want := map[string]string{"a": "Normal FailedBinding", "b": "Warning FailedBinding", "d": "Warning VolumeMismatch",
		"e": "Normal WaitForFirstConsumer",
		"f": "Normal ProvisioningSucceeded", "g": "Normal ExternalProvisioning", "h": "Warning ProvisioningFailed",
		"i": "Normal WaitForPodScheduled",
		"l": "Warning ClaimLost", "m": "Warning ClaimMisbound"}
	for _, name := range keys(want) {
		if got[name] != want[name] {
			t.Errorf("claim %s: %q, want %q", name, got[name], want[name])
		}
	}
}
