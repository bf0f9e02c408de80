package volsim_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/explain"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/internal/proof/history"
	"github.com/volsim/volsim/internal/tools/rules"
	"github.com/volsim/volsim/storage"
)

// TestExplainCondition: a note says that a volume is abnormal, until it has recovered, or the Event has expired.
func TestExplainCondition(t *testing.T) {
	disk := fake.CSI("d")
	c := newCluster(t, volsim.Config{Backends: []storage.Backend{disk}, HealthMonitors: []string{"d"},
		FeatureGates: map[string]bool{"CSIVolumeHealth": true}})
	require.NoError(t, c.Create(fake.Node("n1"), fake.Class("fast", "d"), fake.Claim("data", "1Gi", fake.InClass("fast")),
		fake.Pod("web", fake.Claims("data"))))
	require.NoError(t, c.Advance(time.Minute))
	notes := func(name string) []string {
		x, err := c.Explain(name)
		require.NoError(t, err)
		return x.Notes
	}
	condition := func(problem string, d time.Duration) {
		require.NoError(t, disk.SetCondition(disk.Volumes()[0].ID, "", problem))
		require.NoError(t, c.Advance(d))
	}
	require.Empty(t, notes("pod/default/web"))
	condition("worn out", 5*time.Minute)
	require.Equal(t, []string{"the driver says that a volume is abnormal (2026-01-01T00:06:00Z): Volume data: worn out (MNT-346)"}, notes("pod/default/web"))
	require.Equal(t, []string{"the driver says that a volume is abnormal (2026-01-01T00:05:00Z): worn out (HEALTH-004)"}, notes("pvc/default/data"))
	condition("", 5*time.Minute)
	require.Empty(t, notes("pvc/default/data"), "HEALTH-005: recovered")
	require.Len(t, notes("pod/default/web"), 1, "MNT-346: no Event about a recovery")
	condition("", time.Hour)
	require.Empty(t, notes("pod/default/web"), "expired")
}

// TestExplainStopped: no change is promised by a controller that does not run.
func TestExplainStopped(t *testing.T) {
	const driver = "d.example.com"
	for _, tt := range []struct {
		stopped string       // by Config.Without, or by a crash
		driver  *fake.Memory // nil: it can do everything
		object  string
		missing string // the remedy for a controller of Config.Without is to remove it
	}{
		{"kube-scheduler", nil, "pod/p", ""},
		{"persistentvolume-controller", nil, "pvc/data", ""},
		{"attachdetach-controller", nil, "pod/p", ""},
		{"external-provisioner/" + driver, nil, "pvc/data", ""},
		{"external-attacher/" + driver, nil, "va", ""},
		{"external-attacher/" + driver, fake.CSI(driver, fake.Without(storage.Attach)), "va",
			"give Config.Backends a driver d.example.com that attaches, or create a CSIDriver d.example.com with attachRequired: false"},
	} {
		for _, crash := range []bool{true, false} {
			if crash && tt.missing != "" {
				continue
			}
			cfg := volsim.Config{Backends: []storage.Backend{fake.CSI(driver)}}
			if tt.missing != "" {
				cfg.Backends = []storage.Backend{tt.driver}
			} else if !crash {
				cfg.Without = []string{tt.stopped}
			}
			c := newCluster(t, cfg)
			if crash {
				require.NoError(t, c.Crash(tt.stopped))
			}
			require.NoError(t, c.Create(fake.Node("n1"), fake.Class("fast", driver), fake.Claim("data", "1Gi", fake.InClass("fast")),
				fake.Pod("p", fake.Claims("data"))))
			require.NoError(t, c.Advance(10*time.Minute))
			object := tt.object
			if object == "va" {
				object = "va/" + c.Attachments.List()[0].Name
			}
			x, err := c.Explain(object)
			require.NoError(t, err)
			why, remedy := " is not part of the cluster", cmp.Or(tt.missing, fmt.Sprintf("remove %q from Config.Without", tt.stopped))
			if crash {
				why, remedy = " has crashed", "restart "+tt.stopped
			}
			require.Equal(t, explain.Change{When: explain.Manual, Text: tt.stopped + why}, x.Changes, "%s, crash %v", tt.stopped, crash)
			require.Equal(t, explain.Step{Does: remedy}, x.Next[len(x.Next)-1], "%s, crash %v", tt.stopped, crash)
		}
	}
}

// TestExplainNoKubelet: a pod waits for a kubelet that the cluster does not have.
func TestExplainNoKubelet(t *testing.T) {
	for _, tt := range []struct {
		cfg    volsim.Config
		remedy string
	}{
		{volsim.Config{Without: []string{volsim.Kubelets}}, `remove "kubelet" from Config.Without, or write the status yourself`},
		{volsim.Config{ManualNodes: true}, "add node n1 with Cluster.AddNode, or write the status yourself"},
	} {
		c := newCluster(t, tt.cfg)
		require.NoError(t, c.Create(fake.Node("n1"), fake.Volume("v", "1Gi"), fake.Claim("data", "1Gi"), fake.Pod("p", fake.Claims("data"))))
		require.NoError(t, c.Advance(10*time.Second))
		x, err := c.Explain("pod/p")
		require.NoError(t, err)
		require.Equal(t, explain.Change{When: explain.Manual, Text: "kubelet/n1 is not part of the cluster"}, x.Changes)
		require.Equal(t, explain.Step{Does: tt.remedy}, x.Next[len(x.Next)-1])
	}
}

func TestExplainNames(t *testing.T) {
	c := newCluster(t, volsim.Config{})
	require.NoError(t, c.Create(fake.Volume("pv", "1Gi"), fake.Claim("shop/data", "10Gi"), fake.Pod("shop/p", fake.Claims("data"))))
	require.NoError(t, c.Settle())
	for name, want := range map[string]string{"shop/data": "pvc/shop/data", "pvc/shop/data": "pvc/shop/data", "pod/shop/p": "pod/shop/p",
		"pv/pv": "pv/pv"} {
		x, err := c.Explain(name)
		require.NoError(t, err)
		require.Equal(t, want, x.Object)
	}
	for _, name := range []string{"pod/shop/none", "pv/none", "va/none", "default/data"} {
		_, err := c.Explain(name)
		require.True(t, apierrors.IsNotFound(err), "%v", err)
	}
	_, err := c.Explain("data")
	require.EqualError(t, err, `explain: invalid object name "data": want KIND/NAME or KIND/NAMESPACE/NAME, such as pvc/data or pod/shop/web-0`)
}

// failover is a cluster in which a pod on n2 waits for a volume that the dead node n1 has mounted, and how long it has waited.
func failover(t *testing.T, cfg volsim.Config) *volsim.Cluster {
	t.Helper()
	cfg.Backends = []storage.Backend{fake.CSI("disk.example.com")}
	c := newCluster(t, cfg)
	require.NoError(t, c.Create(fake.Class("fast", "disk.example.com"), fake.Node("n1"), fake.Node("n2"),
		fake.Claim("data", "1Gi", fake.InClass("fast"))))
	require.NoError(t, c.Create(fake.Pod("old", fake.Claims("data"), fake.OnNode("n1"))))
	require.NoError(t, c.Advance(time.Minute))
	n1, err := c.Node("n1")
	require.NoError(t, err)
	n1.PowerOff()
	require.NoError(t, c.PatchStatus(fake.Node("n1"), `{"status":{"conditions":[{"type":"Ready","status":"Unknown"}]}}`))
	require.NoError(t, c.DeleteWith(fake.Pod("old"), api.DeleteOptions{GracePeriodSeconds: new(int64)}))
	require.NoError(t, c.Create(fake.Pod("new", fake.Claims("data"), fake.OnNode("n2"))))
	require.NoError(t, c.Advance(2*time.Minute))
	return c
}

// ATT-045, ATT-064: the moment that is foretold is the one at which it happens.
func TestExplainForetellsTheForcedDetach(t *testing.T) {
	c := failover(t, volsim.Config{})
	x, err := c.Explain("pod/new")
	require.NoError(t, err)
	require.Equal(t, "ATT-070", x.Rule, x)
	at := x.Changes.At
	require.WithinDuration(t, c.Now().Add(4*time.Minute), at, time.Second, x)
	require.Contains(t, x.Why, "attached to node n1 since 2026-01-01T00:00:0")
	held := func() bool {
		for _, va := range c.Attachments.List() {
			if va.Spec.NodeName == "n1" {
				return true
			}
		}
		return false
	}
	require.NoError(t, c.Advance(at.Sub(c.Now())-time.Second))
	require.True(t, held())
	require.NoError(t, c.Advance(2*time.Second))
	require.False(t, held())
	require.NoError(t, c.Advance(time.Minute))
	x, err = c.Explain("pod/new")
	require.NoError(t, err)
	require.Equal(t, explain.Settled, x.Changes.When, x)

	// Without a trace, and after a restart of the controller, the six minutes begin now (ATT-134).
	c = failover(t, volsim.Config{TraceLimit: -1})
	x, err = c.Explain("pod/new")
	require.NoError(t, err)
	require.Equal(t, c.Now().Add(6*time.Minute), x.Changes.At)
	c = failover(t, volsim.Config{})
	require.NoError(t, c.Crash("attachdetach-controller"))
	require.NoError(t, c.Restart("attachdetach-controller"))
	x, err = c.Explain("pod/new")
	require.NoError(t, err)
	require.Equal(t, c.Now().Add(6*time.Minute), x.Changes.At)
}

// growing is a cluster with a bound claim of a driver, used by a running pod if asked for.
func growing(t *testing.T, used bool, opts ...fake.MemoryOption) *volsim.Cluster {
	t.Helper()
	c := newCluster(t, volsim.Config{Backends: []storage.Backend{fake.CSI("disk.example.com", opts...)}})
	require.NoError(t, c.Create(fake.Class("fast", "disk.example.com", fake.Expandable()), fake.Node("n1"),
		fake.Claim("data", "1Gi", fake.InClass("fast")),
		&storagev1.VolumeAttributesClass{ObjectMeta: metav1.ObjectMeta{Name: "gold"}, DriverName: "disk.example.com",
			Parameters: map[string]string{"iops": "9"}}))
	if used {
		require.NoError(t, c.Create(fake.Pod("p", fake.Claims("data"))))
	}
	require.NoError(t, c.Advance(time.Minute))
	return c
}

// Explanations of claims that are expanded or modified agree with what the controllers do about them.
func TestExplainWhatGrows(t *testing.T) {
	const more, gold = `{"spec":{"resources":{"requests":{"storage":"2Gi"}}}}`, `{"spec":{"volumeAttributesClassName":"gold"}}`
	for _, tt := range []struct {
		rule, name, patch string
		used              bool
		opts              []fake.MemoryOption
		wait              time.Duration
		when              explain.When
	}{
		{rule: "EXP-021", name: "at it", patch: more, used: true, opts: []fake.MemoryOption{fake.Latency(storage.Expand, 5*time.Second)},
			when: explain.Automatic},
		{rule: "EXP-040", name: "up to the node", patch: more, used: true, when: explain.Automatic},
		{rule: "BIND-060d", name: "and soon", patch: more, used: true, wait: 3 * time.Minute, when: explain.Settled},
		{rule: "EXP-023", name: "no pod", patch: more, wait: 3 * time.Minute, when: explain.Manual},
		{rule: "EXP-025", name: "in use", patch: more, used: true, opts: []fake.MemoryOption{fake.OfflineExpansion()}, wait: time.Minute,
			when: explain.Manual},
		{rule: "EXP-025", name: "too large", patch: more, opts: []fake.MemoryOption{fake.MaxSize("1Gi")}, wait: time.Hour, when: explain.Manual},
		{rule: "EXP-014", name: "not able", patch: more,
			opts: []fake.MemoryOption{fake.Without(storage.Expand, storage.NodeExpand, storage.Modify)}, wait: time.Minute, when: explain.Manual},
		{rule: "VAC-007", name: "at it", patch: gold, opts: []fake.MemoryOption{fake.Latency(storage.Modify, 5*time.Second)},
			when: explain.Automatic},
		{rule: "BIND-060d", name: "changed soon", patch: gold, wait: time.Minute, when: explain.Settled},
		{rule: "VAC-006", name: "no class", patch: `{"spec":{"volumeAttributesClassName":"none"}}`, wait: time.Minute, when: explain.Manual},
		{rule: "VAC-013", name: "not possible", patch: gold, opts: []fake.MemoryOption{fake.Mutable("type")}, wait: time.Minute,
			when: explain.Manual},
		{rule: "VAC-002", name: "not able", patch: gold, opts: []fake.MemoryOption{fake.Without(storage.Modify)}, wait: time.Minute,
			when: explain.Manual},
	} {
		t.Run(tt.rule+" "+tt.name, func(t *testing.T) {
			c := growing(t, tt.used, tt.opts...)
			require.NoError(t, c.Patch(fake.Claim("data", "1Gi"), tt.patch))
			require.NoError(t, c.Advance(tt.wait))
			x, err := c.Explain("pvc/data")
			require.NoError(t, err)
			require.Equal(t, tt.rule, x.Rule, x)
			require.Equal(t, tt.when, x.Changes.When, x)
			before := statusOf(t, c)
			require.NoError(t, c.Advance(time.Hour))
			require.Equal(t, tt.when == explain.Automatic, statusOf(t, c) != before, x)
		})
	}
}

// statusOf is how far the claim data has got.
func statusOf(t *testing.T, c *volsim.Cluster) string {
	t.Helper()
	claim, err := c.Claims.Get("default/data")
	require.NoError(t, err)
	capacity := claim.Status.Capacity["storage"]
	return capacity.String() + " " + *cmp.Or(claim.Status.CurrentVolumeAttributesClassName, new(string))
}

// explained are the explanations of all objects.
func explained(t *testing.T, c *volsim.Cluster) map[string]explain.Explanation {
	t.Helper()
	all := map[string]explain.Explanation{}
	explainer := explain.New(internals.Snapshot(c))
	ask := func(obj api.Object) {
		x, err := explainer.Object(api.RefTo(obj))
		require.NoError(t, err)
		all[x.Object] = x
	}
	for _, obj := range c.Pods.List() {
		ask(obj)
	}
	for _, obj := range c.Claims.List() {
		ask(obj)
	}
	for _, obj := range c.Volumes.List() {
		ask(obj)
	}
	for _, obj := range c.Attachments.List() {
		ask(obj)
	}
	return all
}

// whole checks that an explanation is complete: its rules are in the catalogue, and each object that waits names what it waits for.
func whole(t *testing.T, x *explain.Explanation, known map[string]bool) {
	t.Helper()
	require.True(t, known[x.Rule], "no rule %q: %s", x.Rule, x)
	require.NotEmpty(t, x.Why)
	require.True(t, x.Changes.Rule == "" || known[x.Changes.Rule], "no rule %q: %s", x.Changes.Rule, x)
	require.Equal(t, x.Changes.When == explain.Automatic, !x.Changes.At.IsZero(), x)
	if x.Changes.When == explain.Manual {
		require.NotEmpty(t, x.Next, x)
	}
	for _, c := range x.Candidates {
		require.True(t, c.Rule == "" || known[c.Rule], "no rule %q: %s", c.Rule, x)
	}
	for i := range x.Related {
		whole(t, &x.Related[i], known)
	}
}

// settledForm returns the visible state of the explained objects.
func settledForm(c *volsim.Cluster) []string {
	var lines []string
	add := func(obj api.Object, more ...any) {
		lines = append(lines, fmt.Sprint(api.RefTo(obj), obj.GetUID(), obj.GetDeletionTimestamp() != nil, obj.GetFinalizers(), more))
	}
	for _, pod := range c.Pods.List() {
		add(pod, pod.Spec.NodeName, pod.Status.Phase)
	}
	for _, claim := range c.Claims.List() {
		add(claim, claim.Spec.VolumeName, claim.Status.Phase)
	}
	for _, pv := range c.Volumes.List() {
		add(pv, pv.Spec.ClaimRef != nil, pv.Status.Phase)
	}
	for _, va := range c.Attachments.List() {
		add(va, va.Status.Attached)
	}
	return lines
}

// TestExplanationsHold: after a random history, in which nodes may have been left broken, what is said to change by itself does, and
// where nothing is said to change by itself nothing does.
func TestExplanationsHold(t *testing.T) {
	known := map[string]bool{}
	for _, rule := range rules.All() {
		known[rule.ID] = true
	}
	still := 0
	for seed := range int64(60) {
		cfg, _ := history.Config(seed)
		c := newCluster(t, cfg)
		chance := rand.New(rand.NewPCG(uint64(seed), 1))
		require.NoError(t, history.Run(c, chance.IntN, history.Options{Steps: 40, Nodes: true, Faults: seed%2 == 1, UserEdits: seed%4 >= 2}, nil))
		c.Faults.Clear()
		for _, name := range c.Controllers() {
			if name != "kubelet/n1" && name != "machine/n1" {
				require.NoError(t, c.Restart(name))
			}
		}
		require.NoError(t, c.Advance(time.Hour))
		before, form := explained(t, c), settledForm(c)
		moves := ""
		for _, x := range before {
			whole(t, &x, known)
			if x.Changes.When == explain.Automatic {
				moves += x.String() + "\n"
			}
		}
		require.NoError(t, c.Advance(time.Hour))
		if moves == "" {
			still++
			require.Equal(t, form, settledForm(c), "seed %d: something changed by itself", seed)
		} else {
			require.NotEqual(t, form, settledForm(c), "seed %d: nothing changed, although:\n%s", seed, moves)
		}
	}
	require.Greater(t, still, 20)
}
