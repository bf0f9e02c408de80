package attach

import (
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/objects"
)

func podWith(uid string) *corev1.Pod {
	pod := fake.Pod("p-" + uid)
	pod.UID = types.UID(uid)
	return pod
}

func specWith(modes ...string) objects.VolumeSpec {
	return objects.VolumeSpec{PV: fake.Volume("pv", "1Gi", fake.Modes(modes...))}
}

func TestDesiredWorld(t *testing.T) {
	w := newDesiredState()
	w.addNode("n")
	at := pair{"v", "n"}
	if !w.add(at, podWith("2"), specWith("RWO")) || w.add(at, podWith("2"), specWith("RWX")) {
		t.Error("ATT-023: adding a pod twice is news twice")
	}
	v, ok := w.get(at)
	if !ok || objects.MultiAttachAllowed(v.spec) {
		t.Errorf("ATT-020, ATT-023: the volume is %+v, %v, want the spec of the first pod", v, ok)
	}
	v.multiAttachReported = true
	// ATT-002: a pod of the same name with another uid is another pod.
	again := podWith("2")
	again.UID = "1"
	if !w.add(at, again, specWith("RWX")) || len(v.pods) != 2 {
		t.Errorf("ATT-002: there are %d pods, want 2", len(v.pods))
	}
	if list := v.pods; list[0].UID != "1" || list[1].UID != "2" {
		t.Error("ATT-212: the pods are not in the order of their uids")
	}
	if w.deleteNode("n") || !w.manages("n") {
		t.Error("ATT-022: a node with volumes is deleted")
	}
	w.remove(at, "2")
	if !v.multiAttachReported || !w.has(at) {
		t.Error("ATT-024: the volume goes before its last pod")
	}
	if !w.remove(at, "1") || w.remove(at, "1") || w.has(at) {
		t.Error("ATT-020, ATT-024: the volume stays without pods")
	}
	w.add(at, podWith("3"), specWith("RWX"))
	if v, _ := w.get(at); v.multiAttachReported || !objects.MultiAttachAllowed(v.spec) {
		t.Errorf("ATT-024: the volume is %+v, want a new one", v)
	}
	w.remove(at, "3")
	if !w.deleteNode("n") || w.manages("n") {
		t.Error("ATT-022: a node without volumes stays")
	}
}

// step is something that happens to the volume v on the node n.
type step func(w *actualState, at pair)

var (
	attachIt    step = func(w *actualState, at pair) { w.markAttached(at, specWith("RWO"), "/dev/x") }
	uncertainIt step = func(w *actualState, at pair) { w.markUncertain(at, specWith("RWX")) }
	detachIt    step = func(w *actualState, at pair) { w.markDetached(at) }
	unuse       step = func(w *actualState, at pair) { w.setInUse(at.node, nil) }
	use         step = func(w *actualState, at pair) { w.setInUse(at.node, []corev1.UniqueVolumeName{"other", at.volume}) }
	request     step = func(w *actualState, at pair) {
		a, _ := w.get(at)
		w.requestDetach(pair{}, a, time.Unix(1000, 0))
	}
	touch    step = func(w *actualState, at pair) { w.cancelDetach(at) }
	reportIt step = func(w *actualState, at pair) { w.report(at) }
	unreport step = func(w *actualState, at pair) { w.unreport(at) }
	write    step = func(w *actualState, at pair) { w.take(at.node) }
	dirty    step = func(w *actualState, at pair) { w.markDirty(at.node) }
)

func TestActualWorld(t *testing.T) {
	const yes, no = true, false
	tests := []struct {
		rule, name string
		steps      []step
		state      attachState
		mounted    bool
		requested  bool
		reported   bool
		dirty      bool
	}{
		{"ATT-041", "nothing", nil, detached, no, no, no, no},
		{"ATT-042", "attached, assumed to be mounted", []step{attachIt}, attached, yes, no, yes, yes},
		{"ATT-044", "uncertain, assumed to be mounted", []step{uncertainIt}, uncertain, yes, no, no, no},
		{"ATT-042", "attached again is nothing to write", []step{attachIt, write, attachIt}, attached, yes, no, yes, no},
		{"ATT-042", "attached again leaves alone what is in use, and the request", []step{attachIt, unuse, request, attachIt}, attached, no,
			yes, yes, yes},
		{"ATT-042", "uncertain after attached: reported as before", []step{attachIt, write, unuse, request, uncertainIt}, uncertain, no, yes,
			yes, no},
		{"ATT-046", "attached and not reported", []step{attachIt, unreport}, attached, yes, no, no, yes},
		{"ATT-046", "attached after uncertain", []step{uncertainIt, unuse, attachIt}, attached, no, no, yes, yes},
		{"ATT-048", "uncertain and reported", []step{attachIt, unreport, uncertainIt, reportIt}, uncertain, yes, no, yes, yes},
		{"ATT-048", "what is unknown is not reported", []step{reportIt}, detached, no, no, no, no},
		{"ATT-047", "taking out what is not there is nothing to write", []step{attachIt, unreport, write, unreport}, attached, yes, no, no, no},
		{"ATT-042", "detached: still in use", []step{attachIt, write, detachIt}, detached, yes, no, no, yes},
		{"ATT-042", "detached when it was not reported", []step{attachIt, unreport, write, detachIt}, detached, yes, no, no, no},
		{"ATT-042", "detached twice", []step{attachIt, detachIt, write, detachIt}, detached, yes, no, no, no},
		{"ATT-043", "what the node says replaces all", []step{use, attachIt, unuse}, attached, no, no, yes, yes},
		{"ATT-043", "also before it is attached", []step{use}, detached, yes, no, no, no},
		{"ATT-045", "only a touch clears the request", []step{attachIt, request, uncertainIt, attachIt}, attached, yes, yes, yes, yes},
		{"ATT-045", "a touch clears the request", []step{attachIt, request, touch}, attached, yes, no, yes, yes},
		{"ATT-045", "detached clears it too", []step{attachIt, request, detachIt, attachIt}, attached, yes, no, yes, yes},
		{"ATT-049", "the report stays", []step{attachIt, detachIt, write, dirty}, detached, yes, no, no, yes},
		{"ATT-115", "no report, nothing to write", []step{dirty}, detached, no, no, no, no},
	}
	for _, tt := range tests {
		w := newActualState()
		at := pair{"v", "n"}
		for _, s := range tt.steps {
			s(&w, at)
		}
		if got := w.state(at); got != tt.state {
			t.Errorf("%s %s: state = %v, want %v", tt.rule, tt.name, got, tt.state)
		}
		if got := w.mounted(at); got != tt.mounted {
			t.Errorf("%s %s: mounted = %v, want %v", tt.rule, tt.name, got, tt.mounted)
		}
		if got := !w.requestedAt(at).IsZero(); got != tt.requested {
			t.Errorf("%s %s: requested = %v, want %v", tt.rule, tt.name, got, tt.requested)
		}
		reported := false
		if r, ok := w.reports["n"]; ok {
			_, reported = r.find("v")
		}
		if reported != tt.reported {
			t.Errorf("%s %s: reported = %v, want %v", tt.rule, tt.name, reported, tt.reported)
		}
		if got := slices.Equal(w.dirtyNodes(), []string{"n"}); got != tt.dirty || w.anyDirty() != tt.dirty {
			t.Errorf("%s %s: dirty nodes = %v, want %v", tt.rule, tt.name, w.dirtyNodes(), tt.dirty)
		}
	}
}

// Spec and device path belong to the volume and are the same for every node (ATT-040, ATT-042).
func TestActualWorldShares(t *testing.T) {
	w := newActualState()
	attachIt(&w, pair{"v", "m"})
	if got := w.volumes["v"].devicePath; got != "/dev/x" {
		t.Errorf("ATT-006: the device path is %q, want /dev/x", got)
	}
	uncertainIt(&w, pair{"v", "n"})
	if v := w.volumes["v"]; v.devicePath != "" || !objects.MultiAttachAllowed(v.spec) {
		t.Errorf("ATT-040: the volume is %+v, want what the last writer said", v)
	}
	if got := w.attachedTo("v"); !slices.Equal(got, []string{"m"}) {
		t.Errorf("ATT-070: attached to %v for sure, want m", got)
	}
	volumes, _ := w.take("m")
	if len(volumes) != 1 || volumes[0] != (corev1.AttachedVolume{Name: "v"}) {
		t.Errorf("ATT-006, ATT-040: the report of m is %v, want v without a path", volumes)
	}
	if _, again := w.take("m"); again {
		t.Error("ATT-113: the report would be written twice")
	}
}

func TestAttachedPatch(t *testing.T) {
	list := func(names ...string) []corev1.AttachedVolume {
		var volumes []corev1.AttachedVolume
		for _, name := range names {
			volumes = append(volumes, corev1.AttachedVolume{Name: corev1.UniqueVolumeName(name)})
		}
		return volumes
	}
	tests := []struct {
		rule, name     string
		cached, wanted []corev1.AttachedVolume
		want           []corev1.AttachedVolume
	}{
		{"ATT-114", "equal", list("v"), list("v"), list("stored")},
		{"ATT-114", "both empty", nil, nil, list("stored")},
		{"ATT-110", "as a whole", list("v"), list("u", "v"), list("u", "v")},
		{"ATT-110", "a reorder is a change", list("v", "u"), list("u", "v"), list("u", "v")},
		{"ATT-110", "empty is removed", list("v"), nil, nil},
	}
	for _, tt := range tests {
		node := &corev1.Node{Status: corev1.NodeStatus{VolumesAttached: list("stored")}}
		if err := attachedPatch(tt.cached, tt.wanted)(node); err != nil || !reflect.DeepEqual(node.Status.VolumesAttached, tt.want) {
			t.Errorf("%s %s: attachedPatch makes the list %v, %v, want %v", tt.rule, tt.name, node.Status.VolumesAttached, err, tt.want)
		}
	}
}

func TestMultiAttachText(t *testing.T) {
	in := func(keys ...string) []*corev1.Pod {
		var pods []*corev1.Pod
		for _, key := range keys {
			pods = append(pods, fake.Pod(key))
		}
		return pods
	}
	const prefix = `Multi-Attach error for volume "pv" `
	tests := []struct {
		rule     string
		blocking []*corev1.Pod
		want     string
	}{
		{"ATT-072", nil, "Volume is already exclusively attached to one node and can't be attached to another"},
		{"ATT-072", in("x/a", "x/b"), "Volume is already used by pod(s) a, b"},
		{"ATT-072", in("x/a", "y/b", "z/c"), "Volume is already used by pod(s) a and 2 pod(s) in different namespaces"},
		{"ATT-072", in("y/b"), "Volume is already used by 1 pod(s) in different namespaces"},
	}
	for _, tt := range tests {
		if got := multiAttachText(specWith("RWO"), "x", tt.blocking); got != prefix+tt.want {
			t.Errorf("%s: the text is %q, want %q", tt.rule, got, prefix+tt.want)
		}
	}
}

// TestReportTaken compares reports with a map over random changes. A list that was taken does not change.
func TestReportTaken(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	w, reported := newActualState(), map[corev1.UniqueVolumeName]bool{}
	var taken, copies [][]corev1.AttachedVolume
	for range 2000 {
		at := pair{corev1.UniqueVolumeName(rune('a' + rng.IntN(8))), "n"}
		switch rng.IntN(5) {
		case 0, 1:
			path := ""
			if rng.IntN(8) == 0 {
				path = "/dev/" + string(at.volume)
			}
			w.markAttached(at, objects.VolumeSpec{}, path)
			reported[at.volume] = true
		case 2:
			w.unreport(at)
			delete(reported, at.volume)
		case 3:
			w.markDetached(at)
			delete(reported, at.volume)
		case 4:
			list, ok := w.take("n")
			if !ok {
				continue
			}
			var want []corev1.AttachedVolume
			for _, name := range slices.Sorted(maps.Keys(reported)) {
				volume := corev1.AttachedVolume{Name: name}
				if v, ok := w.volumes[name]; ok {
					volume.DevicePath = v.devicePath
				}
				want = append(want, volume)
			}
			if !slices.Equal(list, want) {
				t.Fatalf("ATT-110: the report is %v, want %v", list, want)
			}
			taken, copies = append(taken, list), append(copies, slices.Clone(list))
		}
	}
	for i := range taken {
		if !slices.Equal(taken[i], copies[i]) {
			t.Fatalf("ATT-110: report %d has become %v, want %v", i, taken[i], copies[i])
		}
	}
}
