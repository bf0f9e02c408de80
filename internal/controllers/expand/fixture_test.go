package expand_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/internal/core/options"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

const (
	driver = "disk.example.com"
	key    = "default/data"
	sec    = time.Second
	minute = time.Minute
)

// fixture is a cluster with a driver and a claim of 1Gi that is bound to a volume of it. There are no kubelets: the test takes their part.
type fixture struct {
	*volsim.Cluster
	t    *testing.T
	disk *fake.Memory
	pv   string
	base time.Time
	seq  uint64
}

func newFixture(t *testing.T, opts ...fake.MemoryOption) *fixture {
	return newFixtureWith(t, volsim.Config{}, opts...)
}

func newFixtureWith(t *testing.T, cfg volsim.Config, opts ...fake.MemoryOption) *fixture {
	t.Helper()
	w := &fixture{t: t, disk: fake.CSI(driver, opts...)}
	cfg.Backends = append(cfg.Backends, w.disk)
	cfg.Without = append(cfg.Without, volsim.Kubelets)
	w.start(cfg)
	w.must(w.Create(fake.Class("fast", driver, fake.Expandable())))
	w.settle()
	w.must(w.Create(fake.Claim("data", "1Gi", fake.InClass("fast"))))
	w.settle()
	w.pv = w.claim().Spec.VolumeName
	require.NotEmpty(t, w.pv)
	w.mark()
	return w
}

func (w *fixture) start(cfg volsim.Config) {
	w.t.Helper()
	c, err := volsim.New(cfg)
	require.NoError(w.t, err)
	w.t.Cleanup(c.Close)
	w.Cluster = c
}

func (w *fixture) must(err error) { w.t.Helper(); require.NoError(w.t, err) }

func (w *fixture) settle() { w.t.Helper(); w.must(w.Settle()) }

func (w *fixture) advance(d time.Duration) { w.t.Helper(); w.must(w.Advance(d)) }

// mark begins the log, and its times, here.
func (w *fixture) mark() { w.base, w.seq = w.Now(), w.Trace().Seq() }

func (w *fixture) claim() *corev1.PersistentVolumeClaim {
	w.t.Helper()
	claim, err := w.Claims.Get(key)
	w.must(err)
	return claim
}

func (w *fixture) volume() *corev1.PersistentVolume {
	w.t.Helper()
	pv, err := w.Volumes.Get(w.pv)
	w.must(err)
	return pv
}

// ask changes the requested size of the claim.
func (w *fixture) ask(size string) error {
	return w.Patch(fake.Claim("data", "1Gi"), `{"spec":{"resources":{"requests":{"storage":"`+size+`"}}}}`)
}

// nodeStatus writes the status of the claim as a kubelet does.
func (w *fixture) nodeStatus(status, capacity string) {
	w.t.Helper()
	patch := `{"status":{"allocatedResourceStatuses":{"storage":"` + status + `"}}}`
	if capacity != "" {
		patch = `{"status":{"capacity":{"storage":"` + capacity + `"},"allocatedResourceStatuses":null,"conditions":null}}`
	}
	w.must(w.PatchStatus(fake.Claim("data", "1Gi"), patch))
}

// state describes the claim (capacity, status, allocated size, conditions) and its volume (size).
func (w *fixture) state() string { return stateOf(w.claim()) + " | " + sizeOf(w.volume()) }

func stateOf(claim *corev1.PersistentVolumeClaim) string {
	var parts []string
	if c, ok := claim.Status.Capacity[corev1.ResourceStorage]; ok {
		parts = append(parts, c.String())
	}
	if a, ok := claim.Status.AllocatedResources[corev1.ResourceStorage]; ok {
		parts = append(parts, "allocated "+a.String())
	}
	if s, ok := claim.Status.AllocatedResourceStatuses[corev1.ResourceStorage]; ok {
		parts = append(parts, string(s))
	}
	if m := claim.Status.ModifyVolumeStatus; m != nil {
		parts = append(parts, string(m.Status)+" "+m.TargetVolumeAttributesClassName)
	}
	if c := claim.Status.CurrentVolumeAttributesClassName; c != nil {
		parts = append(parts, "is "+*c)
	}
	var conditions []string
	for _, c := range claim.Status.Conditions {
		conditions = append(conditions, string(c.Type))
	}
	if len(conditions) > 0 {
		parts = append(parts, "["+strings.Join(conditions, " ")+"]")
	}
	if _, ok := claim.Annotations["volume.kubernetes.io/node-expansion-not-required"]; ok {
		parts = append(parts, "no node")
	}
	if r, ok := claim.Annotations["volume.kubernetes.io/storage-resizer"]; ok {
		parts = append(parts, "by "+r)
	}
	return strings.Join(parts, ", ")
}

func sizeOf(pv *corev1.PersistentVolume) string {
	text := pv.Spec.Capacity.Storage().String()
	if before, ok := pv.Annotations["volume.alpha.kubernetes.io/pre-resize-capacity"]; ok {
		text += " before " + before
	}
	if c := pv.Spec.VolumeAttributesClassName; c != nil {
		text += " is " + *c
	}
	return text
}

// log returns what the controllers of this package did since the mark. A new log begins; its times count from the same mark.
func (w *fixture) log() []string {
	actors := []string{actors.Expander, actors.Resizer(driver), actors.VACProtection}
	var lines []string
	for e := range w.Trace().Since(w.seq) {
		if !slices.Contains(actors, e.Actor) {
			continue
		}
		var text string
		switch e.Type {
		case trace.Emitted:
			text = e.Verb + " " + e.Reason + ": " + e.Text
		case trace.Storage:
			if e.Verb != "end" {
				continue
			}
			text = fmt.Sprintf("%s %s", e.Call.Verb, storage.CodeOf(e.Err))
		case trace.Write:
			text = written(e)
		default:
			continue
		}
		lines = append(lines, fmt.Sprintf("%v %s", e.Time.Sub(w.base), strings.ReplaceAll(text, w.pv, "pv")))
	}
	w.seq = w.Trace().Seq()
	return lines
}

func written(e trace.Entry) string {
	switch obj := e.New.(type) {
	case *corev1.PersistentVolumeClaim:
		if e.Err == nil {
			return "claim " + stateOf(obj)
		}
	case *corev1.PersistentVolume:
		if e.Err == nil {
			return "volume " + sizeOf(obj)
		}
	}
	text := fmt.Sprintf("%s %s", e.Verb, e.Object)
	if e.Err != nil {
		text += " failed"
	}
	return text
}

// want compares the log with the lines.
func (w *fixture) want(rule string, lines ...string) {
	w.t.Helper()
	got := w.log()
	if !slices.Equal(got, lines) {
		w.t.Errorf("%s: the log is\n\t%s\nwant\n\t%s", rule, strings.Join(got, "\n\t"), strings.Join(lines, "\n\t"))
	}
}

// wantState compares claim and volume.
func (w *fixture) wantState(rule, want string) {
	w.t.Helper()
	if got := w.state(); got != want {
		w.t.Errorf("%s: claim and volume are %q, want %q", rule, got, want)
	}
}

const external = "0s Normal ExternalExpanding: waiting for an external controller to expand this PVC"

// resizing returns a configuration with settings of the resizer.
func resizing(opts options.Resizer) volsim.Config {
	var cfg volsim.Config
	internals.Options(&cfg).Resizer = opts
	return cfg
}
