package binder_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/binder"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/options"
	"github.com/volsim/volsim/internal/core/pvcontroller"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/internal/proof/rig"
	"github.com/volsim/volsim/reclaim"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

// Objects and helpers of the controller's tables. Their claim is default/c with uid uc, their volume is pv; a log is what was done
// to the API in order, in the words of docs/rules/binder.md: PV.U and PVC.U for updates, PV.S and PVC.S with the phase for status
// updates, PV.C and PV.D, EV with object, type, reason and text.

const (
	claimKey                = "default/c"
	completed, byController = objects.AnnBindCompleted, objects.AnnBoundByController
)

var errBroken = errors.New("the server is broken")

// available is a volume that the controller has synced.
func available(name, size string, opts ...fake.Option) *corev1.PersistentVolume {
	return fake.Volume(name, size, append(opts, fake.Phase("Available"))...)
}

// pending is the claim of the tables: Pending, for 5Gi, of class "".
func pending(opts ...fake.Option) *corev1.PersistentVolumeClaim {
	return fake.Claim("c", "5Gi", append([]fake.Option{fake.UID("uc"), fake.Phase("Pending")}, opts...)...)
}

// bound is the claim of the tables after its bind to the volume pv.
func bound(opts ...fake.Option) *corev1.PersistentVolumeClaim {
	claim := pending(append([]fake.Option{fake.VolumeName("pv"), fake.Phase("Bound"), ann(completed, byController)}, opts...)...)
	if claim.Status.Phase == corev1.ClaimBound {
		claim.Status.AccessModes = claim.Spec.AccessModes
		claim.Status.Capacity = quantities("10Gi")
	}
	return claim
}

// ours is the volume of the tables bound to their claim.
func ours(opts ...fake.Option) *corev1.PersistentVolume {
	return fake.Volume("pv", "10Gi", append([]fake.Option{fake.Phase("Bound"), fake.ForClaim("c", "uc"), ann(byController)}, opts...)...)
}

// ann sets annotations of which only the presence counts.
func ann(keys ...string) fake.Option {
	var pairs []string
	for _, key := range keys {
		pairs = append(pairs, key, "yes")
	}
	return fake.Annotations(pairs...)
}

func quantities(size string) corev1.ResourceList { return fake.Volume("v", size).Spec.Capacity }

func edit[T any](obj T, change func(T)) T { change(obj); return obj }

// withReclaimer adds the reclaiming half to a configuration.
func withReclaimer(cfg binder.Config) binder.Config {
	cfg.NewReclaimer = func(c pvcontroller.Host) pvcontroller.Reclaimer {
		return reclaim.NewReclaimer(c, cfg.Backends, options.Reclaimer{Migration: objects.MigratedDriver})
	}
	return cfg
}

func set(t *testing.T, all ...storage.Backend) *backends.Set {
	t.Helper()
	s, err := backends.NewSet(all...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func trial(t *testing.T, cfg binder.TrialConfig, objs ...api.Object) *binder.Trial {
	t.Helper()
	tr, err := binder.NewTrial(cfg, objs...)
	if err != nil {
		t.Fatalf("NewTrial: %v", err)
	}
	return tr
}

// logOf is the log of a trace.
func logOf(trace *trace.Trace) []string { return logSince(trace, 0) }

func logSince(trace *trace.Trace, seq uint64) []string {
	log := []string{}
	for e := range trace.Since(seq) {
		if line := logLine(e); line != "" {
			log = append(log, line)
		}
	}
	return log
}

var (
	shortKinds = map[api.Kind]string{api.PersistentVolume: "PV", api.PersistentVolumeClaim: "PVC", api.Pod: "Pod"}
	shortVerbs = map[string]string{"create": "C", "update": "U", "update-status": "S", "delete": "D"}
)

// logLine formats an entry for the log; "" omits it. Calls to backends appear when they end.
func logLine(e trace.Entry) string {
	object := shortKinds[e.Object.Kind]
	switch {
	case e.Actor != actors.PersistentVolume:
		return ""
	case e.Type == trace.Storage && e.Verb == "end":
		line := "CALL " + e.Call.Verb
		if e.Call.Node != "" {
			line += " on " + e.Call.Node
		}
		if e.Err != nil {
			line += " failed"
		}
		return line
	case object == "":
		return ""
	case e.Type == trace.Emitted:
		return fmt.Sprintf("EV %s %s %s: %s", object, e.Verb, e.Reason, e.Text)
	case e.Type != trace.Write:
		return ""
	case e.Err != nil:
		return object + "." + shortVerbs[e.Verb] + " refused"
	case e.Verb == "update-status":
		return object + ".S " + phaseOf(e.New)
	}
	return object + "." + shortVerbs[e.Verb]
}

// timed returns the log of a trace with the virtual time since the start.
func timed(trace *trace.Trace, seq uint64) []string {
	log := []string{}
	for e := range trace.Since(seq) {
		if line := logLine(e); line != "" {
			log = append(log, e.Time.Sub(engine.DefaultStart).String()+" "+line)
		}
	}
	return log
}

func phaseOf(obj api.Object) string {
	switch obj := obj.(type) {
	case *corev1.PersistentVolume:
		return string(obj.Status.Phase)
	case *corev1.PersistentVolumeClaim:
		return string(obj.Status.Phase)
	}
	return ""
}

func diffLog(t *testing.T, call string, got, want []string) {
	t.Helper()
	if diff := cmp.Diff(got, want, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s: log -got +want:\n%s", call, diff)
	}
}

// failing is an injector that makes the nth call (from 1) of a log's sort, PV.S for example, fail with errBroken; PV.G is a read.
func failing(what string, nth int) api.Injector {
	count := 0
	return engine.InjectorFunc(func(c api.Call) api.Fault {
		verb := shortVerbs[c.Verb]
		if c.Verb == "get" {
			verb = "G"
		}
		if shortKinds[api.Kind(c.Kind)]+"."+verb != what {
			return api.Fault{}
		}
		if count++; count != nth {
			return api.Fault{}
		}
		return api.Fault{Err: errBroken}
	})
}

// theClaim and theVolume are the objects of the tables as the API server has them now.
func theClaim(t *testing.T, s *store.Store) *corev1.PersistentVolumeClaim {
	t.Helper()
	claim, err := s.Claims.Get(claimKey)
	if err != nil {
		t.Fatal(err)
	}
	return claim
}

func theVolume(t *testing.T, s *store.Store) *corev1.PersistentVolume {
	t.Helper()
	pv, err := s.Volumes.Get("pv")
	if err != nil {
		t.Fatal(err)
	}
	return pv
}

// keys lists the keys of annotations in order.
func keys(annotations map[string]string) []string { return slices.Sorted(maps.Keys(annotations)) }

// refText is a claimRef in short: namespace/name[uid].
func refText(pv *corev1.PersistentVolume) string {
	ref := pv.Spec.ClaimRef
	if ref == nil {
		return "none"
	}
	return fmt.Sprintf("%s/%s[%s]", ref.Namespace, ref.Name, ref.UID)
}

// claimStatus is the status of a claim in short: phase, modes, capacity, attributes class.
func claimStatus(claim *corev1.PersistentVolumeClaim) string {
	var parts []string
	for _, mode := range claim.Status.AccessModes {
		parts = append(parts, string(mode))
	}
	for _, name := range slices.Sorted(maps.Keys(claim.Status.Capacity)) {
		q := claim.Status.Capacity[name]
		parts = append(parts, string(name)+"="+q.String())
	}
	if name := claim.Status.CurrentVolumeAttributesClassName; name != nil {
		parts = append(parts, "vac="+*name)
	}
	return strings.Join(append([]string{string(claim.Status.Phase)}, parts...), " ")
}

// fixture is an engine with the PersistentVolume controller and no other.
type fixture struct {
	*rig.Rig
	actor *engine.Actor
}

func newFixture(t *testing.T, ecfg engine.Config, cfg binder.Config) *fixture {
	t.Helper()
	f := &fixture{Rig: rig.New(t, ecfg)}
	var err error
	f.actor, err = binder.New(f.Engine, withReclaimer(cfg))
	f.OK(err)
	return f
}

// remove deletes an object immediately, whether it has finalizers or not.
func (f *fixture) remove(kind api.Kind, key string) {
	f.T.Helper()
	f.Patch(kind, key, `{"metadata":{"finalizers":null}}`)
	f.Delete(kind, key)
}

// log returns what the controller did since the last call, with the virtual time since the start.
func (f *fixture) log() []string { return f.Log(logLine) }

func (f *fixture) want(when string, want ...string) {
	f.T.Helper()
	f.Want(when, f.log(), want...)
}
