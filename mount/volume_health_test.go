package mount

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/gates"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

// withHealth turns the feature gate on.
func withHealth(s *setup) { s.engine.Gates = gates.Set{CSIVolumeHealth: true} }

// checked returns a fixture whose pod p1 runs, with claim c1 as volume data. Times count from the start of the kubelet.
func checked(t *testing.T, options ...func(*setup)) *fixture {
	t.Helper()
	w := newFixture(t, append([]func(*setup){withHealth}, options...)...)
	w.run("p1")
	w.Begin = engine.DefaultStart
	return w
}

// healthEvents returns the Events about conditions since the mark, and the calls for them with all, with the time.
func (w *fixture) healthEvents(all bool) []string {
	return w.Lines(func(e trace.Entry) string {
		at := e.Time.Sub(w.Begin)
		switch call := endedCall(e); {
		case e.Type == trace.Emitted && e.Reason == "VolumeConditionAbnormal":
			return fmt.Sprintf("%v %s %s: %s", at, e.Verb, e.Object.Key, e.Text)
		case all && strings.HasPrefix(call, string(storage.NodeCondition)):
			return fmt.Sprintf("%v %s", at, call)
		}
		return ""
	})
}

const worn = "the disk is worn out"

// A kubelet checks the volumes of its pods at intervals, and reports those that are abnormal.
func TestVolumeHealth(t *testing.T) {
	broken := func(w *fixture) { w.OK(w.driver.SetCondition(handle, "", worn)) }
	event := func(at string) string { return at + " Warning default/p1: Volume data: " + worn }
	for _, tc := range []struct {
		rule, name string
		setup      func(*setup)
		run        func(w *fixture)
		calls      bool
		want       []string
	}{
		{rule: "MNT-342", name: "without the gate", setup: func(s *setup) { s.engine.Gates = gates.Set{} }, calls: true,
			run: func(w *fixture) { broken(w); w.until(300) }},
		{rule: "MNT-343", name: "a new pod at the next look", run: func(w *fixture) { broken(w); w.until(61) }, want: []string{event("1m0s")}},
		{rule: "MNT-343", name: "the check of a removed pod ends at the next look", run: func(w *fixture) {
			w.until(90)
			w.deletePod("p1")
			checks := []int{len(w.node.kubelet.health.checks)}
			w.until(121)
			want(w.T, "MNT-343: checks before and after", append(checks, len(w.node.kubelet.health.checks)), []int{1, 0})
			w.until(400)
		}, calls: true, want: []string{"1m0s NodeCondition h1"}},
		{rule: "MNT-344", name: "healthy volumes are asked for every minute", run: func(w *fixture) { w.until(200) }, calls: true,
			want: []string{"1m0s NodeCondition h1", "2m0s NodeCondition h1", "3m0s NodeCondition h1"}},
		{rule: "MNT-344", name: "a minute after the end of a slow call", calls: true,
			setup: func(s *setup) { s.driver = []fake.MemoryOption{fake.Latency(storage.NodeCondition, 5*time.Second)} },
			run:   func(w *fixture) { w.until(200) }, want: []string{"1m5s NodeCondition h1", "2m10s NodeCondition h1", "3m15s NodeCondition h1"}},
		{rule: "MNT-344", name: "the time that a setting returns", calls: true, setup: func(s *setup) {
			s.opts.StatsPeriod = func(pod *corev1.Pod, checks int) time.Duration {
				return time.Minute + time.Duration(10*checks)*time.Second
			}
		}, run: func(w *fixture) { w.until(220) }, want: []string{"1m0s NodeCondition h1", "2m10s NodeCondition h1", "3m30s NodeCondition h1"}},
		{rule: "MNT-344", name: "only what is mounted", run: func(w *fixture) {
			w.until(30)
			w.node.kubelet.operations.setPodState(volumeName, w.stored("p1").UID, testSpec("data"), "VolumeMountUncertain")
			w.until(30)
			w.node.kubelet.health.check(nil, &podHealth{pod: w.stored("p1")})
		}, calls: true},
		{rule: "MNT-345", name: "a driver without the capability",
			setup: func(s *setup) { s.driver = []fake.MemoryOption{fake.Without(storage.NodeCondition)} },
			run:   func(w *fixture) { broken(w); w.until(200) }, calls: true},
		{rule: "MNT-345", name: "a driver that is not registered", run: func(w *fixture) {
			broken(w)
			w.node.Unregister(driverName)
			w.until(100)
			w.node.Register(driverName)
			w.until(130)
		}, want: []string{event("2m0s")}},
		{rule: "MNT-346", name: "an error says nothing", run: func(w *fixture) {
			broken(w)
			w.failing(storage.NodeCondition, storage.Internal).Once()
			w.until(130)
		}, calls: true, want: []string{"1m0s NodeCondition h1 = Internal", "2m0s NodeCondition h1", event("2m0s")}},
		{rule: "MNT-346", name: "no Event about a recovery", run: func(w *fixture) {
			broken(w)
			w.until(70)
			w.OK(w.driver.SetCondition(handle, "", ""))
			w.until(200)
		}, want: []string{event("1m0s")}},
		{rule: "MNT-346", name: "a problem on this node only", run: func(w *fixture) {
			w.OK(w.driver.SetCondition(handle, "n2", worn))
			w.until(70)
			w.OK(w.driver.SetCondition(handle, nodeName, worn))
			w.until(130)
		}, want: []string{event("2m0s")}},
	} {
		t.Run(tc.rule+" "+tc.name, func(t *testing.T) {
			var options []func(*setup)
			if tc.setup != nil {
				options = append(options, tc.setup)
			}
			w := checked(t, options...)
			tc.run(w)
			want(t, tc.rule+": "+tc.name, w.healthEvents(tc.calls), tc.want)
		})
	}
}

// stats is a driver that records the requests for conditions.
type stats struct {
	*fake.Memory
	asked []storage.NodeRequest
}

func (s *stats) NodeCondition(req storage.NodeRequest) (string, error) {
	s.asked = append(s.asked, req)
	return "", errors.New("no")
}

// MNT-345: the request names the volume, and the path of a file system or of a device.
func TestVolumeHealthRequest(t *testing.T) {
	for _, tc := range []struct {
		rule, name string
		volume     []fake.Option
		pod        fake.Option
		path       string
	}{
		{"MNT-345", "file system", nil, fake.Claims("c1"), "/var/lib/kubelet/pods/UID/volumes/kubernetes.io~csi/pv1/mount"},
		{"MNT-345", "block volume", []fake.Option{fake.Block()}, fake.BlockClaims("c1"),
			"/var/lib/kubelet/plugins/kubernetes.io/csi/volumeDevices/pv1/dev/UID"},
	} {
		s := &stats{}
		w := newFixture(t, withHealth, func(f *setup) {
			f.volume = tc.volume
			f.wrap = func(m *fake.Memory) storage.Backend { s.Memory = m; return s }
		})
		pod := w.run("p1", tc.pod)
		w.Advance(time.Minute)
		want(t, tc.rule+": "+tc.name, s.asked, []storage.NodeRequest{{ID: handle, Node: nodeName,
			TargetPath: strings.ReplaceAll(tc.path, "UID", string(pod.UID))}})
	}
}

// MNT-344: a volume under two names counts twice, in the order of the pod. MNT-346: too many Events are counted, not stored.
func TestVolumeHealthEvents(t *testing.T) {
	w := newFixture(t, withHealth)
	w.OK(w.driver.SetCondition(handle, "", worn))
	pod := fake.Pod("p1", fake.OnNode(nodeName))
	addClaim(pod, "data", "c1")
	addClaim(pod, "again", "c1")
	w.Create(pod)
	w.Advance(11 * time.Second)
	w.attach(handle)
	w.Advance(50 * time.Second)
	want(t, "MNT-344", w.healthEvents(false), []string{"59s Warning default/p1: Volume data: " + worn,
		"59s Warning default/p1: Volume again: " + worn})
	// Of 61 checks 13 find the first 25 Events; after that one in five minutes is stored.
	w.Advance(60 * time.Minute)
	var counts []string
	for _, e := range w.Store().Events.List() {
		if e.Reason == "VolumeConditionAbnormal" {
			counts = append(counts, fmt.Sprintf("%s %d", e.Message, e.Count))
		}
	}
	want(t, "MNT-346", counts, []string{"Volume data: " + worn + " 61", "Volume again: " + worn + " 13"})
}
