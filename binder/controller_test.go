package binder_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/binder"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/trace"
)

// lagging is an engine whose watch events reach the controller late.
func lagging(d time.Duration) engine.Config {
	return engine.Config{Lag: map[string]time.Duration{actors.PersistentVolume: d}}
}

// boundPair are the writes of a bind of objects that a user just created, the volume first.
func boundPair(at string) []string {
	return []string{at + " PV.S Available", at + " PV.U", at + " PV.S Bound", at + " PVC.U", at + " PVC.S Bound"}
}

func TestConfigErrors(t *testing.T) {
	tests := []struct {
		name string
		cfg  binder.Config
		want string
	}{
		{"a negative period", binder.Config{ResyncPeriod: -time.Second},
			"binder: ResyncPeriod is -1s; use a positive period, or zero for the default of 15s"},
		{"the zero value", binder.Config{}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			check := func(call string, err error) {
				if text := errorText(err); text != test.want {
					t.Errorf("%s = %q, want %q", call, text, test.want)
				}
			}
			e, err := engine.New(engine.Config{})
			if err != nil {
				t.Fatal(err)
			}
			_, err = binder.New(e, test.cfg)
			check("New()", err)
			_, err = binder.NewTrial(binder.TrialConfig{Config: test.cfg})
			check("NewTrial()", err)
		})
	}
	t.Run("a second controller", func(t *testing.T) {
		e, err := engine.New(engine.Config{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := binder.New(e, binder.Config{}); err != nil {
			t.Fatal(err)
		}
		if _, err := binder.New(e, binder.Config{}); err == nil {
			t.Error("New() took a second controller")
		}
	})
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestTrialErrors(t *testing.T) {
	tr := trial(t, binder.TrialConfig{})
	const notFound = `persistentvolumeclaims "c" not found`
	if err := tr.SyncClaim(claimKey); errorText(err) != notFound {
		t.Errorf("SyncClaim() = %v, want %s", err, notFound)
	}
	if err := tr.SyncVolume("pv"); errorText(err) != `persistentvolumes "pv" not found` {
		t.Errorf("SyncVolume() = %v", err)
	}
	var none *corev1.PersistentVolume
	if err := tr.Load(none); err == nil {
		t.Error("Load(nil) is no error")
	}
	if _, err := binder.NewTrial(binder.TrialConfig{}, none); err == nil {
		t.Error("NewTrial(nil) is no error")
	}
	if _, err := binder.NewTrial(binder.TrialConfig{}, fake.Claim("c", "ten")); errorText(err) != `PersistentVolumeClaim c: "ten" is not a size; write it like 10Gi` {
		t.Errorf("NewTrial() = %v", err)
	}
}

// TestVersions: BIND-021, BIND-022, which version of an object is worth a sync. own and given are the versions in own and in the
// informer; the claim of the test is Lost if it was synced.
func TestVersions(t *testing.T) {
	tests := []struct {
		rule, name string
		writes     int // of the user before the informer delivers the first
		want       []string
	}{
		{"BIND-021", "the same version again is synced: resyncs of what waits are not inert", 0, []string{"15s " + noVolume}},
		{"BIND-021", "edge 26: versions are numbers, 10 is newer than 2", 12, []string{"0s " + noVolume, "15s " + noVolume}},
	}
	for _, test := range tests {
		t.Run(test.rule+" "+test.name, func(t *testing.T) {
			f := newFixture(t, engine.Config{}, binder.Config{})
			f.Create(fake.Claim("c", "5Gi"))
			f.Advance(0)
			f.log()
			for range test.writes {
				f.Create(fake.Claim("x"+strings.Repeat("x", f.Store().Len()), "5Gi", fake.InClass("missing")))
			}
			if test.writes > 0 {
				f.Patch(api.PersistentVolumeClaim, claimKey, `{"metadata":{"labels":{"a":"b"}}}`)
			}
			f.Advance(15 * time.Second)
			log := slices.DeleteFunc(f.log(), func(line string) bool { return strings.Contains(line, "missing") })
			diffLog(t, "log", log, test.want)
		})
	}
}

// TestOldVersions: BIND-020, BIND-022, edge 27: what the informer delivers late is older than what the controller itself wrote, and
// is finished without a sync. Without own caches each would end in a conflict.
func TestOldVersions(t *testing.T) {
	f := newFixture(t, lagging(time.Second), binder.Config{})
	f.Create(fake.Volume("pv", "10Gi"), fake.Claim("c", "5Gi"))
	f.Advance(time.Minute)
	f.want("BIND-022", boundPair("1s")...)
	// The user undoes what the controller wrote; the controller receives its own write in between, and ignores it.
	f.Patch(api.PersistentVolume, "pv", `{"spec":{"claimRef":null}}`)
	f.Patch(api.PersistentVolumeClaim, claimKey, `{"metadata":{"labels":{"a":"b"}}}`)
	f.Advance(time.Minute)
	f.want("a pointer that was cleared", "1m1s PV.S Available", "1m1s PV.U", "1m1s PV.S Bound")
}

// TestOwnIsAhead: BIND-020, BIND-024, BIND-025, MATCH-024: what the controller has just bound is taken, although its informer does
// not know yet.
func TestOwnIsAhead(t *testing.T) {
	f := newFixture(t, lagging(time.Second), binder.Config{})
	f.Create(fake.Volume("pv", "10Gi"))
	f.Advance(3 * time.Second)
	f.want("a free volume", "1s PV.S Available")
	f.Create(fake.Claim("c", "5Gi"), fake.Claim("d", "5Gi"))
	f.Advance(time.Second)
	f.want("two claims at once", "4s PV.U", "4s PV.S Bound", "4s PVC.U", "4s PVC.S Bound", "4s "+noVolume)
}

// TestConflicts: BIND-035, BIND-036, BIND-110: a write on an old version is refused, and tried again after 5, 10, 20 ms, as long as
// the informer serves that version; the success resets the count.
func TestConflicts(t *testing.T) {
	f := newFixture(t, lagging(100*time.Millisecond), binder.Config{})
	f.Create(fake.Claim("c", "5Gi"))
	f.Advance(time.Second)
	f.Create(fake.Volume("pv", "10Gi"))
	f.Advance(13*time.Second + 940*time.Millisecond)
	f.log()
	f.Patch(api.PersistentVolumeClaim, claimKey, `{"metadata":{"labels":{"a":"b"}}}`) // known at 15.04 s
	f.Advance(time.Second)
	f.want("BIND-110", "15s PV.U", "15s PV.S Bound", "15s PVC.U refused", "15.005s PVC.U refused", "15.015s PVC.U refused",
		"15.035s PVC.U refused", "15.04s PVC.U", "15.04s PVC.S Bound")
	f.Patch(api.PersistentVolume, "pv", `{"spec":{"claimRef":null}}`)
	f.Faults.Fail(fake.Match{Verb: "update", Kind: "PersistentVolume"}, errBroken).Once()
	f.Patch(api.PersistentVolumeClaim, claimKey, `{"metadata":{"labels":{"a":"c"}}}`)
	f.Advance(time.Second)
	f.want("BIND-036: the next failure waits for 5 ms again", "16.04s PV.S Available", "16.04s PV.U refused", "16.045s PV.U",
		"16.045s PV.S Bound")
}

// TestTriggers: BIND-030 to BIND-033, BIND-037 to BIND-040, what has an object synced at once and what only the next resync sees.
// Each story begins with a bound pair or what before makes, at 1 s; the resync is at 15 s.
func TestTriggers(t *testing.T) {
	pair := func(f *fixture) {
		f.Create(fake.Volume("pv", "10Gi"))
		f.Advance(time.Millisecond)
		f.Create(fake.Claim("c", "5Gi"))
	}
	tests := []struct {
		rule, name string
		before     func(f *fixture)
		act        func(f *fixture)
		want       []string
	}{
		{"BIND-030", "a volume is added", nil, func(f *fixture) { f.Create(fake.Volume("pv", "10Gi")) }, []string{"1s PV.S Available"}},
		{"BIND-030", "a volume is changed", pair, func(f *fixture) { f.Patch(api.PersistentVolume, "pv", `{"spec":{"claimRef":{"uid":null}}}`) },
			[]string{"1s PV.S Available", "15s PVC.S Lost", "15s " + misbound}},
		{"BIND-031", "a claim is added", nil, func(f *fixture) { f.Create(fake.Claim("c", "5Gi")) },
			[]string{"1s " + noVolume, "15s " + noVolume}},
		{"BIND-031", "a claim is changed", func(f *fixture) { f.Create(fake.Claim("c", "5Gi")) }, func(f *fixture) {
			f.Patch(api.PersistentVolumeClaim, claimKey, `{"metadata":{"labels":{"a":"b"}}}`)
		}, []string{"1s " + noVolume, "15s " + noVolume}},
		{"BIND-030", "edge 7: a volume that becomes Available has no claim synced", func(f *fixture) { f.Create(fake.Claim("c", "5Gi")) },
			func(f *fixture) { f.Create(fake.Volume("pv", "10Gi")) },
			append([]string{"1s PV.S Available"}, boundPair("15s")[1:]...)},
		{"BIND-033", "a class comes", func(f *fixture) { f.Create(fake.Claim("c", "5Gi", fake.InClass("gold"))) },
			func(f *fixture) { f.Create(fake.Class("gold", "kubernetes.io/none")) },
			[]string{"15s " + provisioningFailed("no volume plugin matched name: kubernetes.io/none")}},
		{"BIND-033", "edge 31: a pod comes", func(f *fixture) {
			f.Create(fake.Class("late", "kubernetes.io/none", fake.WaitForFirstConsumer()), fake.Claim("c", "5Gi", fake.InClass("late")))
		}, func(f *fixture) { f.Create(fake.Pod("web", fake.Claims("c"))) },
			[]string{"15s EV PVC Normal WaitForPodScheduled: waiting for pod web to be scheduled"}},
		{"BIND-038", "a bound volume is deleted: its claim is Lost at once", pair,
			func(f *fixture) { f.remove(api.PersistentVolume, "pv") }, []string{"1s PVC.S Lost", "1s " + lostVolume}},
		{"BIND-038", "a free one is deleted", func(f *fixture) { f.Create(fake.Volume("pv", "10Gi")) },
			func(f *fixture) { f.remove(api.PersistentVolume, "pv") }, nil},
		{"BIND-039", "a bound claim is deleted: its volume is Released at once", pair,
			func(f *fixture) { f.remove(api.PersistentVolumeClaim, claimKey) }, []string{"1s PV.S Released"}},
		{"BIND-039", "edge 21: an unbound claim is deleted: the volume reserved for it waits for the resync", func(f *fixture) {
			f.Load(pending(fake.Modes("RWX")), fake.Volume("pv", "10Gi", fake.Phase("Available"), fake.ForClaim("c", "uc")))
		}, func(f *fixture) { f.remove(api.PersistentVolumeClaim, claimKey) }, []string{"15s PV.S Released"}},
		{"BIND-065b",
			"a volume points at a claim that it is too small for: each resync syncs the claim for itself, and again for the volume",
			func(f *fixture) {
				f.Load(pending(), fake.Volume("pv", "1Gi", fake.Phase("Available"), fake.ForClaim("c", "uc")))
			}, func(*fixture) {}, []string{"15s " + noVolume, "15s " + noVolume}},
		{"BIND-040", "edge 22: a bound claim is deleted and created again before the controller looks", pair, func(f *fixture) {
			f.keepBusy()
			f.remove(api.PersistentVolumeClaim, claimKey)
			f.Create(fake.Claim("c", "5Gi"))
		}, append(busyUntil2s, "2s "+noVolume, "15s "+noVolume, "15s PV.S Released")},
		{"BIND-040", "edge 11: the same with the volume, which comes back smaller and is taken again unseen", pair, func(f *fixture) {
			f.keepBusy()
			f.remove(api.PersistentVolume, "pv")
			f.Create(fake.Volume("pv", "1Gi"))
		}, append(busyUntil2s, "2s PV.S Available", "15s PV.U", "15s PV.S Bound")},
		{"BIND-037", "created and deleted before the controller looks", nil, func(f *fixture) {
			f.keepBusy()
			f.Create(fake.Volume("pv", "10Gi"))
			f.remove(api.PersistentVolume, "pv")
		}, busyUntil2s},
	}
	for _, test := range tests {
		for _, full := range []bool{false, true} {
			t.Run(test.rule+" "+test.name, func(t *testing.T) {
				f := newFixture(t, engine.Config{NoSkipping: full}, binder.Config{})
				if test.before != nil {
					test.before(f)
				}
				f.Advance(time.Second - f.Now().Sub(engine.DefaultStart))
				f.log()
				test.act(f)
				f.Advance(15 * time.Second)
				diffLog(t, "log", f.log(), test.want)
			})
		}
	}
}

// keepBusy blocks both workers for a second: the API server answers slowly for the object that each of them syncs.
func (f *fixture) keepBusy() {
	f.T.Helper()
	for _, kind := range []api.Kind{api.PersistentVolume, api.PersistentVolumeClaim} {
		f.Faults.Slow(fake.Match{Verb: "update-status", Kind: string(kind), Key: shortKey(kind, "busy")}, time.Second)
	}
	f.Load(fake.Volume("busy", "1Ti", fake.InClass("busy"), fake.Phase("Pending")))
	f.Load(fake.Claim("busy", "1Ti", fake.UID("busy"), fake.InClass("busy"), fake.VolumeName("missing"), fake.Phase("Lost")))
	f.Advance(0)
}

// busyUntil2s lists the writes that the workers make 1 s later.
var busyUntil2s = slices.Clip([]string{"2s PV.S Available", "2s PVC.S Pending"})

func shortKey(kind api.Kind, name string) string {
	if kind == api.PersistentVolumeClaim {
		return "default/" + name
	}
	return name
}

// TestResyncOrder: BIND-032, claims by key, then volumes by name; BIND-034, BIND-041, one worker for each, side by side.
func TestResyncOrder(t *testing.T) {
	f := newFixture(t, engine.Config{}, binder.Config{})
	for _, name := range []string{"b", "other/a", "a", "c"} {
		f.Create(fake.Claim(name, "5Gi", fake.InClass("missing-"+strings.ReplaceAll(name, "/", "-"))))
	}
	f.Advance(14 * time.Second)
	f.log()
	f.Advance(time.Second)
	var want []string
	for _, name := range []string{"a", "b", "c", "other-a"} {
		want = append(want, "15s "+provisioningFailed(`storageclass.storage.k8s.io "missing-`+name+`" not found`))
	}
	f.want("BIND-032", want...)
}

// TestWorkers: BIND-034, BIND-041, with API calls that take a second: syncs of claims do not overlap, those of a volume and a claim do.
func TestWorkers(t *testing.T) {
	f := newFixture(t, engine.Config{Latency: time.Second}, binder.Config{})
	f.Create(fake.Class("gold", disk, fake.Default()))
	f.Load(pending(fake.NoClass()), fake.Claim("d", "5Gi", fake.UID("ud"), fake.NoClass(), fake.Phase("Pending")),
		fake.Volume("pv", "10Gi", fake.InClass("x"), fake.Phase("Pending")))
	f.Advance(2 * time.Second)
	log := slices.DeleteFunc(f.log(), func(line string) bool { return strings.Contains(line, " EV ") })
	diffLog(t, "BIND-041", log, []string{"1s PVC.U", "1s PV.S Available", "2s PVC.U"})
}

// TestStart: BIND-024, BIND-004: what is there at the start is in the own caches before anything is synced, and the first resync is
// at once; the next come 15 s after it, or whatever Config says.
func TestStart(t *testing.T) {
	t.Run("BIND-024 the last of many volumes is known to the first sync", func(t *testing.T) {
		f := newFixture(t, engine.Config{}, binder.Config{})
		f.actor.Crash()
		f.Load(pending(), fake.Volume("a", "20Gi", fake.Phase("Available")), fake.Volume("pv", "10Gi", fake.Phase("Available")))
		f.actor.Start()
		f.Advance(0)
		f.want("start", "0s PV.U", "0s PV.S Bound", "0s PVC.U", "0s PVC.S Bound")
	})
	t.Run("BIND-024 a restart begins the periods anew", func(t *testing.T) {
		f := newFixture(t, engine.Config{}, binder.Config{ResyncPeriod: 4 * time.Second})
		f.Create(fake.Claim("c", "5Gi"))
		f.Advance(5 * time.Second)
		f.want("before", "0s "+noVolume, "4s "+noVolume)
		f.actor.Crash()
		f.Advance(time.Second)
		f.actor.Start()
		f.Advance(5 * time.Second)
		// The first sync of existing objects and the first resync are one.
		f.want("after", "6s "+noVolume, "10s "+noVolume)
	})
	t.Run("BIND-004 the first resync is over when users begin", func(t *testing.T) {
		f := newFixture(t, engine.Config{}, binder.Config{})
		f.Create(fake.Claim("c", "5Gi"))
		f.Advance(14 * time.Second)
		f.want("one sync", "0s "+noVolume)
	})
}

// TestCachesAreNotModified: BIND-026, no write of the controller changes an object that caches or the server had before.
func TestCachesAreNotModified(t *testing.T) {
	f := newFixture(t, engine.Config{}, binder.Config{Backends: set(t, fake.InTree(disk))})
	type seen struct{ obj, copy api.Object }
	var all []seen
	f.AfterEvent(func() {
		for _, kind := range []api.Kind{api.PersistentVolume, api.PersistentVolumeClaim, api.StorageClass} {
			for _, obj := range f.Store().List(kind) {
				all = append(all, seen{obj, obj.DeepCopyObject().(api.Object)})
			}
		}
	})
	f.Create(fake.Class("gold", disk), fake.Claim("d", "5Gi", fake.InClass("gold"), fake.Annotations("mine", "yes")),
		fake.Claim("c", "5Gi", fake.Annotations("mine", "yes")),
		fake.Volume("pv", "10Gi", fake.Annotations("mine", "yes"), fake.ForClaim("c")))
	f.Advance(time.Minute)
	f.remove(api.PersistentVolumeClaim, claimKey)
	f.remove(api.PersistentVolumeClaim, "default/d")
	f.Advance(time.Minute)
	if len(all) < 50 {
		t.Fatalf("only %d versions were seen", len(all))
	}
	for _, s := range all {
		if !reflect.DeepEqual(s.copy, s.obj) {
			t.Errorf("BIND-026: %s was changed in place: %v", api.RefTo(s.obj), trace.Changes(s.copy, s.obj))
		}
	}
}

// TestIdle: edge 37, a resync with nothing to do writes nothing, says nothing, and costs nothing.
func TestIdle(t *testing.T) {
	f := newFixture(t, engine.Config{}, binder.Config{})
	f.Create(fake.Volume("pv", "10Gi"))
	f.Advance(time.Second)
	f.Create(fake.Claim("c", "5Gi"))
	f.Advance(time.Minute)
	f.log()
	version := f.Store().Version()
	if pending := f.Pending(); len(pending) > 0 {
		t.Errorf("still queued: %v", pending)
	}
	f.Advance(365 * 24 * time.Hour)
	f.want("a year")
	if f.Store().Version() != version {
		t.Error("something was written")
	}
}
