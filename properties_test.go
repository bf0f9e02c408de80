package volsim_test

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"pgregory.net/rapid"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/binder"
	"github.com/volsim/volsim/check"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/proof/history"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

// Whatever users do, whatever goes wrong and in whatever order: these things hold.

func TestHistoriesOfGentleUsers(t *testing.T) { playHistories(t, history.Options{Steps: 40}) }

func TestHistoriesWithFaults(t *testing.T) {
	playHistories(t, history.Options{Steps: 40, Faults: true})
}

func TestHistoriesWithUserEdits(t *testing.T) {
	playHistories(t, history.Options{Steps: 40, Faults: true, UserEdits: true})
}

func TestHistoriesOfPods(t *testing.T) {
	playHistories(t, history.Options{Steps: 40, Nodes: true})
}

func TestHistoriesOfPodsWithFaults(t *testing.T) {
	playHistories(t, history.Options{Steps: 40, Nodes: true, Faults: true})
}

func playHistories(t *testing.T, opts history.Options) {
	rapid.Check(t, func(r *rapid.T) {
		cfg, backends := history.Config(rapid.Int64Range(0, 1000).Draw(r, "seed"))
		cfg.Check = check.All()
		c, err := volsim.New(cfg)
		if err != nil {
			r.Fatal(err)
		}
		w := &witness{Cluster: c, gentle: !opts.UserEdits}
		w.watch(r)
		choose := func(n int) int { return rapid.IntRange(0, n-1).Draw(r, "choice") }
		if err := history.Run(c, choose, opts, w.check); err != nil {
			r.Fatal(err)
		}
		if err := calmDown(c, opts); err != nil {
			r.Fatal(err)
		}
		if err := w.check(); err != nil {
			r.Fatal(err)
		}
		for _, b := range backends {
			for _, p := range b.Problems() {
				if w.gentle && wrong(p, b, opts) {
					r.Fatalf("backend %s: %v", b.Name(), p)
				}
			}
		}
	})
}

// calmDown ends all faults and waits until everything that can run runs, every deleted pod is gone, and nothing is left over that has
// to go.
func calmDown(c *volsim.Cluster, opts history.Options) error {
	if err := history.Recover(c, history.SettleTime); err != nil {
		return err
	}
	if err := allBound(c); err != nil && cachesDeletedVolume(c) {
		// BIND-111: only a restart helps.
		if err := errors.Join(c.Crash(actors.PersistentVolume), c.Restart(actors.PersistentVolume), c.Advance(history.SettleTime)); err != nil {
			return err
		}
	}
	if err := allBound(c); err != nil {
		return fmt.Errorf("%w after %v without faults", err, history.SettleTime)
	}
	if opts.Nodes {
		if err := podsSettled(c); err != nil {
			return fmt.Errorf("%w after %v without faults", err, history.SettleTime)
		}
	}
	if err := c.Advance(history.CleanupTime); err != nil {
		return err
	}
	if opts.Growth {
		return grown(c)
	}
	return nil
}

// TestHistoriesBySeed runs -seeds histories of each sort: no invariant is violated unless a forced action explains it, and those do occur.
func TestHistoriesBySeed(t *testing.T) {
	sorts := []struct {
		name string
		opts history.Options
		// forced are invariants that are broken by force, and only by force, in some of these histories.
		forced []string
	}{
		{"gentle users", history.Options{Steps: 60}, nil},
		{"faults", history.Options{Steps: 60, Faults: true}, nil},
		{"user edits", history.Options{Steps: 60, Faults: true, UserEdits: true}, []string{"bound-both-ways"}},
		{"pods", history.Options{Steps: 60, Nodes: true}, nil},
		{"growing volumes", history.Options{Steps: 60, Nodes: true, Growth: true}, nil},
		{"growing volumes and faults", history.Options{Steps: 60, Nodes: true, Faults: true, Growth: true}, nil},
		{"pods and faults", history.Options{Steps: 60, Nodes: true, Faults: true}, []string{"unmount-before-detach"}},
	}
	for _, sort := range sorts {
		t.Run(sort.name, func(t *testing.T) {
			forced := map[string]bool{}
			for seed := *first; seed < *first+int64(*seeds); seed++ {
				cfg, _ := history.Config(seed)
				cfg.Check = check.All()
				c, err := volsim.New(cfg)
				require.NoError(t, err)
				rng := rand.New(rand.NewPCG(uint64(seed), 42))
				require.NoError(t, history.Run(c, rng.IntN, sort.opts, nil), "seed %d", seed)
				require.NoError(t, calmDown(c, sort.opts), "seed %d", seed)
				if broken := check.Unforced(c.Violations()); len(broken) > 0 {
					t.Fatalf("seed %d: %v", seed, broken[0])
				}
				for _, v := range c.Violations() {
					forced[v.Invariant] = true
				}
				c.Close()
			}
			for _, name := range sort.forced {
				require.True(t, forced[name], "%s is never broken by force: the histories do not lead there", name)
			}
		})
	}
}

// wrong reports whether a problem must not be in a history of these options.
func wrong(p fake.Problem, b storage.Backend, opts history.Options) bool {
	switch p.Kind {
	case "TwoWriters":
		// A volume that is not attached can be mounted anywhere, whatever its access modes say.
		return backends.Can(b, storage.Attach)
	case "RecycledInUse", "DeletedInUse", "DetachedInUse":
		// Pods that are deleted by force, and nodes that are cut off, hold volumes that the API objects do not show as used.
		return !opts.Nodes || !opts.Faults
	}
	return true
}

// witness watches a cluster and remembers the first thing that should not have happened.
type witness struct {
	*volsim.Cluster
	gentle  bool
	version uint64
	err     error
}

func (w *witness) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
}

func (w *witness) watch(r *rapid.T) {
	watchTable(r, w, w.Volumes)
	watchTable(r, w, w.Claims)
	watchTable(r, w, w.Pods)
	watchTable(r, w, w.Classes)
}

// watchTable checks every change of a table.
func watchTable[T api.Object](r *rapid.T, w *witness, table volsim.Table[T]) {
	_, err := table.Watch(func(change api.Change[T]) {
		// API-005: versions only grow.
		if change.Version <= w.version {
			w.fail("%s: version %d after %d", change.Key, change.Version, w.version)
		}
		w.version = change.Version
		// API-052: what has finalizers is marked before it goes.
		if change.Type == api.Deleted && len(change.Old.GetFinalizers()) > 0 && change.Old.GetDeletionTimestamp() == nil {
			w.fail("%s vanished with finalizers %v and was never marked", change.Key, change.Old.GetFinalizers())
		}
	})
	if err != nil {
		r.Fatal(err)
	}
}

// check looks at what happened since the last look.
func (w *witness) check() error {
	if broken := check.Unforced(w.Violations()); len(broken) > 0 {
		w.fail("%v", broken[0])
	}
	return w.err
}

// allBound reports a claim that could be bound and is not.
func allBound(c *volsim.Cluster) error {
	classes := map[string]bool{}
	for _, class := range c.Classes.List() {
		delayed, err := objects.IsDelayed(class)
		if err != nil {
			return err
		}
		classes[class.Name] = delayed
	}
	for _, claim := range c.Claims.List() {
		if claim.Spec.VolumeName != "" {
			continue
		}
		d := binder.Match(claim, c.Volumes.List(), binder.Options{Delayed: classes[objects.ClassOf(claim)]})
		if d.Volume != nil {
			return fmt.Errorf("claim %s is %s although volume %s would do", api.KeyOf(claim), claim.Status.Phase, d.Volume.Name)
		}
	}
	return nil
}

// cachesDeletedVolume reports whether the last failure of the PersistentVolume controller is about a volume that does not exist (BIND-111).
func cachesDeletedVolume(c *volsim.Cluster) bool {
	var last error
	for e := range c.Trace().Entries() {
		if e.Type == trace.KeyFailed && e.Actor == actors.PersistentVolume {
			last = e.Err
		}
	}
	var status apierrors.APIStatus
	if !errors.As(last, &status) || !apierrors.IsNotFound(last) || status.Status().Details == nil {
		return false
	}
	_, err := c.Volumes.Get(status.Status().Details.Name)
	return status.Status().Details.Kind == "persistentvolumes" && apierrors.IsNotFound(err)
}

// TestDeletedWhileWritten: a volume is deleted while the PersistentVolume controller binds it. With some seed the controller keeps it in its
// cache; a restart then binds the claim to the other volume.
func TestDeletedWhileWritten(t *testing.T) {
	const rule = "BIND-111"
	for seed := range int64(500) {
		for steps := 6; steps < 16; steps++ {
			c := newCluster(t, volsim.Config{Seed: seed})
			require.NoError(t, c.Create(fake.Volume("small", "1Gi"), fake.Volume("large", "10Gi")))
			require.NoError(t, c.Settle())
			require.NoError(t, c.Create(fake.Claim("data", "1Gi")))
			for range steps {
				c.Step()
			}
			require.NoError(t, c.Delete(fake.Volume("small", "1Gi")))
			require.NoError(t, c.Advance(time.Hour))
			if allBound(c) == nil {
				continue
			}
			require.True(t, cachesDeletedVolume(c), "%s, seed %d", rule, seed)
			require.NoError(t, c.Crash(actors.PersistentVolume))
			require.NoError(t, c.Restart(actors.PersistentVolume))
			require.NoError(t, c.Advance(time.Minute))
			require.NoError(t, allBound(c), "%s, seed %d", rule, seed)
			return
		}
	}
	t.Fatalf("%s: no seed shows it", rule)
}

// podsSettled reports a pod that could run and does not, or was deleted and is still there.
func podsSettled(c *volsim.Cluster) error {
	for _, pod := range c.Pods.List() {
		key := api.KeyOf(pod)
		switch {
		case pod.DeletionTimestamp != nil:
			return fmt.Errorf("pod %s was deleted at %v and is still there", key, pod.DeletionTimestamp)
		case pod.Spec.NodeName == "" || pod.Status.Phase != corev1.PodPending:
			continue
		}
		claim, err := c.Claims.Get(api.Key(pod.Namespace, pod.Spec.Volumes[0].PersistentVolumeClaim.ClaimName))
		if err != nil || claim.DeletionTimestamp != nil || claim.Status.Phase != corev1.ClaimBound {
			continue
		}
		pv, err := c.Volumes.Get(claim.Spec.VolumeName)
		if err != nil || isBlock(pv.Spec.VolumeMode) || isBlock(claim.Spec.VolumeMode) {
			continue // a mount of a block volume never comes about
		}
		// What the attacher refuses for good: a volume that is being deleted, and modes that no CSI driver can be asked for together.
		if pv.DeletionTimestamp != nil || pv.Spec.CSI != nil && len(pv.Spec.AccessModes) > 1 {
			continue
		}
		if usedByOther(c, pod, pv) {
			continue // another pod has the volume, as it may
		}
		return fmt.Errorf("pod %s on %s is Pending although its claim is bound to %s; %s", key, pod.Spec.NodeName, pv.Name,
			lastEvent(c, pod.Name))
	}
	return nil
}

func isBlock(mode *corev1.PersistentVolumeMode) bool {
	return mode != nil && *mode == corev1.PersistentVolumeBlock
}

// lastEvent is the newest event about an object of that name.
func lastEvent(c *volsim.Cluster, name string) string {
	last := "no event has the reason"
	for e := range c.Trace().Entries() {
		if _, of := objects.SplitKey(e.Object.Key); e.Type == trace.Emitted && of == name {
			last = e.Reason + ": " + e.Text
		}
	}
	return last
}

// grown reports a claim that could have what it asks for and does not.
func grown(c *volsim.Cluster) error {
	for _, claim := range c.Claims.List() {
		request, capacity := claim.Spec.Resources.Requests[corev1.ResourceStorage], claim.Status.Capacity[corev1.ResourceStorage]
		if claim.Status.Phase != corev1.ClaimBound || claim.DeletionTimestamp != nil || request.Cmp(capacity) <= 0 {
			continue
		}
		pv, err := c.Volumes.Get(claim.Spec.VolumeName)
		if err != nil || pv.DeletionTimestamp != nil || pv.Spec.CSI == nil || pv.Spec.ClaimRef == nil || pv.Spec.ClaimRef.UID != claim.UID {
			continue // no component can expand it
		}
		if pending := objects.HasCondition(claim, corev1.PersistentVolumeClaimFileSystemResizePending); pending && !running(c, claim) {
			continue // the rest is for a node to do
		}
		if used(c, claim) && refusedInUse(c, pv) {
			continue // EXP-025, MNT-419: the driver said so once, and that is believed for as long as pods use the volume
		}
		return fmt.Errorf("claim %s asks for %s and has %s, its volume %s; its status is %+v", api.KeyOf(claim), request.String(),
			capacity.String(),
			pv.Spec.Capacity.Storage(), claim.Status)
	}
	return nil
}

// refusedInUse reports whether a driver has said that the volume is not expanded while it is in use, and is still believed.
func refusedInUse(c *volsim.Cluster, pv *corev1.PersistentVolume) bool {
	controller, node := false, false
	injected := map[string]error{} // by verb
	for e := range c.Trace().Entries() {
		switch {
		case e.Call.Key != pv.Spec.CSI.VolumeHandle:
		case e.Type == trace.Injected:
			injected[e.Call.Verb] = e.Err
		case e.Type == trace.Storage && e.Verb == "end":
			// One that succeeded with an error injected is one whose caller received that error.
			refused := storage.CodeOf(cmp.Or(e.Err, injected[e.Call.Verb])) == storage.FailedPrecondition
			delete(injected, e.Call.Verb)
			switch storage.Op(e.Call.Verb) {
			case storage.Expand:
				controller = refused // EXP-025
			case storage.NodeExpand:
				node = node || refused // MNT-419: a later success, while another pod is mounted, does not change it
			case storage.Unstage, storage.Detach:
				node = false // MNT-419: the kubelet has no record of the volume any more
			}
		}
	}
	return controller || node
}

// running reports whether a pod runs with the claim, used whether one may.
func running(c *volsim.Cluster, claim *corev1.PersistentVolumeClaim) bool {
	return slices.ContainsFunc(c.Pods.List(), func(pod *corev1.Pod) bool {
		return pod.Status.Phase == corev1.PodRunning && slices.Contains(objects.ClaimsOf(pod), api.KeyOf(claim))
	})
}

func used(c *volsim.Cluster, claim *corev1.PersistentVolumeClaim) bool {
	return slices.ContainsFunc(c.Pods.List(), func(pod *corev1.Pod) bool {
		return !objects.Terminated(pod) && slices.Contains(objects.ClaimsOf(pod), api.KeyOf(claim))
	})
}

// usedByOther reports whether another pod prevents this one from using the volume: one on another node, or for ReadWriteOncePod any other.
func usedByOther(c *volsim.Cluster, pod *corev1.Pod, pv *corev1.PersistentVolume) bool {
	alone := pv.Spec.AccessModes[0] == corev1.ReadWriteOncePod
	for _, other := range c.Pods.List() {
		if other.UID == pod.UID || other.Spec.NodeName == "" || other.Namespace != pod.Namespace ||
			other.Spec.Volumes[0].PersistentVolumeClaim.ClaimName != pod.Spec.Volumes[0].PersistentVolumeClaim.ClaimName {
			continue
		}
		if alone || other.Spec.NodeName != pod.Spec.NodeName && pv.Spec.CSI != nil {
			return true
		}
	}
	return false
}
