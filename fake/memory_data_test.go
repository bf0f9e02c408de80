package fake_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/storage"
)

func at(seconds int) time.Time { return time.Unix(int64(seconds), 0).UTC() }

func do(t *testing.T, m *fake.Memory, steps ...step) {
	t.Helper()
	for i, s := range steps {
		if err := s.call(m); storage.CodeOf(err) != s.want {
			t.Fatalf("step %d = %v, want code %s", i+1, err, s.want)
		}
	}
}

func TestDataFollowsTheVolume(t *testing.T) {
	m := fake.CSI("disk.example.com")
	p1, p2 := podNamed("p1"), podNamed("p2")
	do(t, m, all("v", "n1", "p1")...)
	if got, err := m.Read("v", p1, "n1"); err != nil || got != (storage.Write{}) {
		t.Errorf("Read of a fresh volume = %+v, %v, want the zero Write", got, err)
	}
	for i := range 2 {
		want := storage.Write{Version: i + 1, Pod: p1, Node: "n1", At: at(i)}
		if got, err := m.Write("v", p1, "n1", at(i)); err != nil || got != want {
			t.Errorf("Write = %+v, %v, want %+v", got, err, want)
		}
	}
	do(t, m, ok(unpublish("v", "n1", "p1")), ok(unstage("v", "n1")), ok(detach("v", "n1")))
	do(t, m, all("v", "n2", "p2")...)
	want := storage.Write{Version: 2, Pod: p1, Node: "n1", At: at(1)}
	if got, err := m.Read("v", p2, "n2"); err != nil || got != want {
		t.Errorf("Read on the next node = %+v, %v, want %+v", got, err, want)
	}
	state, found := m.Volume("v")
	if !found || len(state.Writes) != 2 || state.Content != want || !state.Static {
		t.Errorf("Volume = %+v, want a static one with two writes", state)
	}
	if _, found := m.Volume("w"); found {
		t.Error("Volume(w) finds one")
	}
	if writers := m.Writers("v"); len(writers) != 1 || writers[0].Node != "n2" || len(m.Writers("w")) != 0 {
		t.Errorf("Writers = %+v, want p2 on n2", writers)
	}
}

func TestAccess(t *testing.T) {
	readOnly := toPod("v", "n1", "p1")
	readOnly.ReadOnly = true
	attachReadOnly := func(m *fake.Memory) error {
		_, err := m.Attach(storage.NodeRequest{ID: "v", Node: "n1", ReadOnly: true})
		return err
	}
	for _, tt := range []struct {
		name        string
		steps       []step
		read, write storage.Code
	}{
		{"published to the pod", all("v", "n1", "p1"), "OK", "OK"},
		{"no volume", nil, storage.NotFound, storage.NotFound},
		{"not published", []step{ok(attach("v", "n1")), ok(stage("v", "n1"))}, storage.FailedPrecondition, storage.FailedPrecondition},
		{"published to another pod", all("v", "n1", "p2"), storage.FailedPrecondition, storage.FailedPrecondition},
		{"published on another node", all("v", "n2", "p1"), storage.FailedPrecondition, storage.FailedPrecondition},
		{"published for reading", []step{ok(attach("v", "n1")), ok(stage("v", "n1")), ok(publishAs(readOnly))}, "OK", storage.FailedPrecondition},
		{"attached for reading", []step{ok(attachReadOnly), ok(stage("v", "n1")), ok(publish("v", "n1", "p1"))}, "OK",
			storage.FailedPrecondition},
		{"detached by force", then(all("v", "n1", "p1"), ok(detach("v", "n1"))), storage.FailedPrecondition, storage.FailedPrecondition},
		{"rebooted", then(all("v", "n1", "p1"), ok(func(m *fake.Memory) error { m.Reboot("n1"); return nil })), storage.FailedPrecondition,
			storage.FailedPrecondition},
		{"another node rebooted", then(all("v", "n1", "p1"), ok(func(m *fake.Memory) error { m.Reboot("n2"); return nil })), "OK", "OK"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := fake.CSI("disk.example.com")
			do(t, m, tt.steps...)
			if _, err := m.Read("v", podNamed("p1"), "n1"); storage.CodeOf(err) != tt.read {
				t.Errorf("Read = %v, want code %s", err, tt.read)
			}
			if _, err := m.Write("v", podNamed("p1"), "n1", at(1)); storage.CodeOf(err) != tt.write {
				t.Errorf("Write = %v, want code %s", err, tt.write)
			}
		})
	}
}

func TestPodsAreComparedByUID(t *testing.T) {
	m := fake.CSI("disk.example.com", fake.Lenient())
	req := toPod("v", "n1", "p1")
	req.Pod.UID = "old"
	do(t, m, ok(publishAs(req)))
	if _, err := m.Write("v", storage.PodRef{Namespace: "default", Name: "p1", UID: "new"}, "n1", at(1)); err == nil {
		t.Error("a later pod with the same name can write")
	}
	if _, err := m.Write("v", podNamed("p1"), "n1", at(1)); err != nil {
		t.Errorf("Write without UID = %v, want success by name", err)
	}
}

func TestRecycledVolumeIsEmpty(t *testing.T) {
	p := fake.InTree("kubernetes.io/mock-storage")
	do(t, p.Memory, ok(publish("pv1", "n1", "p1")))
	if _, err := p.Write("pv1", podNamed("p1"), "n1", at(1)); err != nil {
		t.Fatal(err)
	}
	if err := p.Recycle("pv1", nil); err != nil {
		t.Fatal(err)
	}
	if got, err := p.Read("pv1", podNamed("p1"), "n1"); err != nil || got != (storage.Write{}) {
		t.Errorf("Read = %+v, %v, want the zero Write", got, err)
	}
	if got, err := p.Write("pv1", podNamed("p1"), "n1", at(2)); err != nil || got.Version != 2 {
		t.Errorf("Write = %+v, %v, want version 2: recycling does not reset versions", got, err)
	}
}

func TestExpandedVolume(t *testing.T) {
	m := fake.CSI("disk.example.com")
	do(t, m, ok(create(storage.CreateRequest{Name: "fs", Size: gi})),
		ok(create(storage.CreateRequest{Name: "raw", Size: gi, VolumeMode: corev1.PersistentVolumeBlock})))
	for _, tt := range []struct {
		id   string
		size int64
		want string
	}{
		{"fs", gi, "1Gi, on the node false"},
		{"fs", 3 * gi, "3Gi, on the node true"},
		{"fs", 2 * gi, "3Gi, on the node true"},
		{"raw", 3 * gi, "3Gi, on the node false"},
	} {
		size, onNode, err := m.Expand(storage.ExpandRequest{ID: tt.id, Size: tt.size})
		if got := fmt.Sprintf("%dGi, on the node %t", size/gi, onNode); err != nil || got != tt.want {
			t.Errorf("Expand(%s, %d) = %s, %v, want %s", tt.id, tt.size, got, err, tt.want)
		}
	}
	do(t, m, all("fs", "n1", "p1")...)
	if got, err := m.NodeExpand(storage.NodeRequest{ID: "fs", Node: "n1", Size: 3 * gi}); err != nil || got != 3*gi {
		t.Errorf("NodeExpand = %d, %v, want 3Gi", got, err)
	}
	if _, onNode, err := m.Expand(storage.ExpandRequest{ID: "fs", Size: 3 * gi}); err != nil || onNode {
		t.Errorf("Expand after NodeExpand = %t, %v, want no expansion on the node", onNode, err)
	}
	if state, _ := m.Volume("fs"); state.Size != 3*gi || state.Usable != 3*gi {
		t.Errorf("Volume = %d bytes, %d usable, want 3Gi", state.Size, state.Usable)
	}
}

func TestReport(t *testing.T) {
	one := storage.CreateRequest{Name: "v", Size: gi}
	csi := func(phase string, opts ...fake.Option) *corev1.PersistentVolume {
		return fake.Volume("pv", "1Gi", append(opts, fake.CSISource("disk.example.com", "v"), fake.Phase(phase))...)
	}
	deleting := csi("Available")
	deleting.DeletionTimestamp = new(metav1.NewTime(at(1)))
	boundDeleting := csi("Bound")
	boundDeleting.DeletionTimestamp = new(metav1.NewTime(at(1)))
	deleteOf := func(uid types.UID) func(*fake.Memory) error {
		return func(m *fake.Memory) error { return m.Delete(storage.DeleteRequest{ID: "v", UID: uid}) }
	}
	pvs := func(pvs ...*corev1.PersistentVolume) []*corev1.PersistentVolume { return pvs }
	onBoth := then(all("v", "n1", "p1"), ok(attach("v", "n2")), ok(stage("v", "n2")), ok(publish("v", "n2", "p2")))
	shared := func(node, pod string) step {
		req := toPod("v", node, pod)
		req.Mode = corev1.ReadWriteMany
		return ok(publishAs(req))
	}
	lenient := []fake.MemoryOption{fake.Lenient()}
	for _, tt := range []struct {
		name  string
		opts  []fake.MemoryOption
		steps []step
		pvs   []*corev1.PersistentVolume
		want  []string
	}{
		{"no problem", nil, []step{ok(create(one))}, pvs(csi("Bound")), nil},
		{"leaked", nil, []step{ok(create(one))}, nil, []string{"Leaked v: no PersistentVolume has it"}},
		{"another driver's volume of that handle", nil, []step{ok(create(one))}, pvs(fake.Volume("pv", "1Gi", fake.CSISource("other", "v")), nil),
			[]string{"Leaked v: no PersistentVolume has it"}},
		{"a static volume does not leak", nil, []step{ok(attach("v", "n1"))}, nil, nil},
		{"deleted while bound", nil, []step{ok(create(one)), ok(remove("v"))}, pvs(csi("Bound")),
			[]string{"DeletedWhenWanted v: PersistentVolume pv is Bound"}},
		{"deleted while bound and deleted", nil, []step{ok(create(one)), ok(remove("v"))}, pvs(boundDeleting),
			[]string{"DeletedWhenWanted v: PersistentVolume pv is Bound"}},
		{"deleted while available", nil, []step{ok(remove("v"))}, pvs(csi("")), []string{"DeletedWhenWanted v: PersistentVolume pv is Pending"}},
		{"deleted while being deleted", nil, []step{ok(remove("v"))}, pvs(deleting), nil},
		{"deleted when released", nil, []step{ok(create(one)), ok(remove("v"))}, pvs(csi("Released")), nil},
		{"deleted and created again", nil, []step{ok(create(one)), ok(remove("v")), ok(create(one))}, pvs(csi("Bound")), nil},
		{"deleted with another PersistentVolume", nil, []step{ok(create(one)), ok(deleteOf("old"))}, pvs(csi("Bound", fake.UID("new"))), nil},
		{"deleted with this PersistentVolume", nil, []step{ok(create(one)), ok(deleteOf("old"))}, pvs(csi("Bound", fake.UID("old"))),
			[]string{"DeletedWhenWanted v: PersistentVolume pv is Bound"}},
		{"used again after deletion", lenient, []step{ok(create(one)), ok(remove("v")), ok(attach("v", "n1"))}, pvs(csi("Bound")),
			[]string{"DeletedWhenWanted v: PersistentVolume pv is Bound"}},
		{"created twice", nil,
			[]step{ok(create(one)), fails(storage.AlreadyExists, create(storage.CreateRequest{Name: "v", Size: 2 * gi}))}, pvs(csi("Bound")),
			[]string{"DoubleCreate v: created again with another size"}},
		{"two writers", lenient, onBoth, nil, []string{"TwoWriters v: can be written on nodes n1, n2"}},
		{"two writers of a shared volume", lenient, []step{shared("n1", "p1"), shared("n2", "p2")}, nil, nil},
		{"two writers on one node", nil, then(all("v", "n1", "p1"), ok(publish("v", "n1", "p2"))), nil, nil},
		{"a second writer after a forced detach", nil,
			then(all("v", "n1", "p1"), ok(detach("v", "n1")), ok(attach("v", "n2")), ok(stage("v", "n2")), ok(publish("v", "n2", "p2"))), nil,
			[]string{"DetachedInUse v: detached from n1 while published to default/p1"}},
		{"deleted in use", lenient, then(all("v", "n1", "p1"), ok(remove("v"))), nil,
			[]string{"DeletedInUse v: deleted while attached to n1, staged on n1, published to default/p1 on n1"}},
		{"problems in order, then leaks by name", nil, []step{ok(create(storage.CreateRequest{Name: "w"})), ok(create(one)),
			fails(storage.AlreadyExists, create(storage.CreateRequest{Name: "w", Size: 1}))}, nil,
			[]string{"DoubleCreate w: created again with another size", "Leaked v: no PersistentVolume has it",
				"Leaked w: no PersistentVolume has it"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := fake.CSI("disk.example.com", tt.opts...)
			do(t, m, tt.steps...)
			var got []string
			for _, p := range m.Report(tt.pvs) {
				got = append(got, p.String())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Report (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPluginReport(t *testing.T) {
	p := fake.InTree("kubernetes.io/mock-storage")
	do(t, p.Memory, ok(create(storage.CreateRequest{Name: "pv1"})), ok(create(storage.CreateRequest{Name: "pv2"})),
		ok(publish("pv1", "n1", "p1")))
	if err := p.Recycle("pv1", nil); err != nil {
		t.Fatal(err)
	}
	got := p.Report([]*corev1.PersistentVolume{fake.Volume("pv1", "1Gi"), fake.Volume("pv2", "1Gi", fake.NFSSource("s", "/"))})
	want := []fake.Problem{
		{Kind: "RecycledInUse", Volume: "pv1", Detail: "recycled while published to default/p1 on n1"},
		{Kind: "Leaked", Volume: "pv2", Detail: "no PersistentVolume has it"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Report (-want +got):\n%s", diff)
	}
}
