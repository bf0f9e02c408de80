package volsim_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

func newCluster(t *testing.T, cfg volsim.Config) *volsim.Cluster {
	t.Helper()
	c, err := volsim.New(cfg)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func TestSmallestVolumeWins(t *testing.T) {
	c := newCluster(t, volsim.Config{})
	require.NoError(t, c.Create(fake.Volume("huge", "100Gi"), fake.Volume("snug", "12Gi")))
	require.NoError(t, c.Settle())
	require.NoError(t, c.Create(fake.Claim("data", "10Gi")))
	require.NoError(t, c.Settle())
	claim, err := c.Claims.Get("default/data")
	require.NoError(t, err)
	require.Equal(t, corev1.ClaimBound, claim.Status.Phase)
	require.Equal(t, "snug", claim.Spec.VolumeName)
}

// MATCH-017: a claim that comes in the same instant as its volumes takes the first that is Available; as in a cluster, that need
// not be the one that fits best.
func TestAClaimInAHurryTakesWhatIsThere(t *testing.T) {
	taken := map[string]bool{}
	for seed := range int64(20) {
		c := newCluster(t, volsim.Config{Seed: seed})
		require.NoError(t, c.Create(fake.Volume("huge", "100Gi"), fake.Volume("snug", "12Gi"), fake.Claim("data", "10Gi")))
		require.NoError(t, c.Until(func() bool { return len(c.Claims.List()[0].Spec.VolumeName) > 0 }, time.Minute))
		taken[c.Claims.List()[0].Spec.VolumeName] = true
	}
	require.Equal(t, map[string]bool{"huge": true, "snug": true}, taken)
}

// RECL-043, RECL-044: a bound volume that is deleted is only marked, and its claim stays Bound until it is deleted itself.
func TestDeletedVolumeStaysWithItsClaim(t *testing.T) {
	c := newCluster(t, volsim.Config{})
	require.NoError(t, c.Create(fake.Volume("pv", "12Gi"), fake.Claim("data", "10Gi")))
	require.NoError(t, c.Settle())
	require.NoError(t, c.Delete(fake.Volume("pv", "12Gi")))
	require.NoError(t, c.Advance(time.Minute))
	pv, err := c.Volumes.Get("pv")
	require.NoError(t, err)
	require.NotNil(t, pv.DeletionTimestamp)
	claim, err := c.Claims.Get("default/data")
	require.NoError(t, err)
	require.Equal(t, corev1.ClaimBound, claim.Status.Phase)

	require.NoError(t, c.Delete(claim))
	require.NoError(t, c.Settle())
	_, err = c.Volumes.Get("pv")
	require.True(t, apierrors.IsNotFound(err), "%v", err)
}

func TestAPodRunsOnItsVolume(t *testing.T) {
	disk := fake.CSI("disk.example.com")
	c := newCluster(t, volsim.Config{Backends: []storage.Backend{disk}})
	require.NoError(t, c.Create(fake.Node("n1"), fake.Class("fast", "disk.example.com"), fake.Claim("data", "10Gi", fake.InClass("fast")),
		fake.Pod("db", fake.Claims("data"), fake.OnNode("n1"), fake.Annotations("volsim.dev/write", "yes"))))
	require.NoError(t, c.Until(func() bool { return phaseOf(c, "default/db") == corev1.PodRunning }, time.Minute))
	require.NoError(t, c.Settle())
	volumes := disk.Volumes()
	require.Len(t, volumes, 1)
	require.Len(t, volumes[0].Writes, 1)
	require.Equal(t, "n1", volumes[0].Writes[0].Node)

	require.NoError(t, c.Delete(fake.Pod("db")))
	require.NoError(t, c.Delete(fake.Claim("data", "10Gi")))
	require.NoError(t, c.Settle())
	require.Zero(t, c.Pods.Len())
	require.Zero(t, c.Claims.Len())
	require.Zero(t, c.Attachments.Len())
	require.Empty(t, disk.Volumes(), "policy Delete takes the storage with it")
	require.Empty(t, disk.Problems())
}

func phaseOf(c *volsim.Cluster, pod string) corev1.PodPhase {
	p, err := c.Pods.Get(pod)
	if err != nil {
		return ""
	}
	return p.Status.Phase
}

// What a table hands out, and what it was given, is the caller's own.
func TestCopiesInCopiesOut(t *testing.T) {
	c := newCluster(t, volsim.Config{})
	pv := fake.Volume("pv", "12Gi", fake.Labels("tier", "gold"))
	require.NoError(t, c.Create(pv))
	pv.Labels["tier"] = "lead"
	got, err := c.Volumes.Get("pv")
	require.NoError(t, err)
	require.Equal(t, "gold", got.Labels["tier"])
	got.Labels["tier"] = "lead"
	c.Volumes.List()[0].Labels["tier"] = "lead"
	stop, err := c.Volumes.Watch(func(change api.Change[*corev1.PersistentVolume]) { change.Object.Labels["tier"] = "lead" })
	require.NoError(t, err)
	stop()
	again, err := c.Volumes.Get("pv")
	require.NoError(t, err)
	require.Equal(t, "gold", again.Labels["tier"])
}

func TestTimeMovesOnlyWhenAsked(t *testing.T) {
	c := newCluster(t, volsim.Config{})
	start := c.Now()
	require.Equal(t, engine.DefaultStart, start)
	require.NoError(t, c.Create(fake.Claim("data", "10Gi")))
	require.Equal(t, start, c.Now())
	require.NoError(t, c.Advance(time.Hour))
	require.Equal(t, start.Add(time.Hour), c.Now())
	require.ErrorContains(t, c.Advance(-time.Second), "time does not run backwards")
	require.Equal(t, start.Add(time.Hour), c.Now())
	require.ErrorContains(t, c.Until(func() bool { return false }, time.Minute), "1m0s of virtual time is spent")
	require.ErrorContains(t, c.Until(nil, time.Minute), "the condition is nil")
}

// A claim that waits for a volume is no pending work, and a cluster at rest has none: an idle year costs nothing.
func TestAnIdleYear(t *testing.T) {
	c := newCluster(t, volsim.Config{})
	for i := range 50 {
		name := strings.Repeat("x", i+1)
		require.NoError(t, c.Create(fake.Volume(name, "12Gi"), fake.Claim(name, "10Gi")))
	}
	require.NoError(t, c.Settle())
	require.NoError(t, c.Advance(time.Minute))
	seen := c.Trace().Seq()
	require.NoError(t, c.Advance(365*24*time.Hour))
	require.Equal(t, seen, c.Trace().Seq(), "nothing happened")
}

func TestExplainNeedsAClaim(t *testing.T) {
	c := newCluster(t, volsim.Config{})
	_, err := c.Explain("default/data")
	require.True(t, apierrors.IsNotFound(err), "%v", err)
	require.NoError(t, c.Create(fake.Volume("small", "1Gi"), fake.Claim("data", "10Gi")))
	require.NoError(t, c.Settle())
	why, err := c.Explain("default/data")
	require.NoError(t, err)
	require.Equal(t, "BIND-058", why.Rule)
	require.Len(t, why.Candidates, 1)
	require.Equal(t, "MATCH-011", why.Candidates[0].Rule)
}

func TestNamesOfNothing(t *testing.T) {
	c := newCluster(t, volsim.Config{})
	require.ErrorContains(t, c.Crash("nobody"), `"nobody"`)
	require.ErrorContains(t, c.Restart("nobody"), `"nobody"`)
	_, err := c.Node("n1")
	require.EqualError(t, err, `node "n1": there is no such node`)
	none := newCluster(t, volsim.Config{Without: []string{volsim.Kubelets}})
	_, err = none.Node("n1")
	require.ErrorContains(t, err, "runs no kubelets")
}

// panicky is a driver that panics when it creates a volume.
type panicky struct{}

func (panicky) Name() string                                         { return "panicky.example.com" }
func (panicky) Create(storage.CreateRequest) (storage.Volume, error) { panic("no disk left") }
func (panicky) Delete(storage.DeleteRequest) error                   { return nil }

func TestABackendThatPanicsIsAFailedCall(t *testing.T) {
	c := newCluster(t, volsim.Config{Backends: []storage.Backend{panicky{}}})
	require.NoError(t, c.Create(fake.Class("fast", "panicky.example.com"), fake.Claim("data", "10Gi", fake.InClass("fast"))))
	require.NoError(t, c.Advance(time.Minute))
	var panicked *backends.PanicError
	for e := range c.Trace().Entries() {
		if e.Type == trace.Storage && e.Err != nil {
			require.ErrorAs(t, e.Err, &panicked)
		}
	}
	require.NotNil(t, panicked)
	require.Contains(t, panicked.Stack, "panicky.Create")
	var out strings.Builder
	require.NoError(t, c.Trace().WriteText(&out))
	require.Contains(t, out.String(), "no disk left")
	// The simulation goes on.
	require.NoError(t, c.Create(fake.Volume("pv", "12Gi"), fake.Claim("other", "10Gi")))
	require.NoError(t, c.Advance(time.Minute))
	claim, err := c.Claims.Get("default/other")
	require.NoError(t, err)
	require.Equal(t, corev1.ClaimBound, claim.Status.Phase)
}
