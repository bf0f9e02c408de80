package fake_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/storage"
)

// anyCall draws a call for one of few volumes, nodes and pods, and its description.
func anyCall(t *rapid.T) (string, func(*fake.Memory) error) {
	id := rapid.SampledFrom([]string{"v", "w"}).Draw(t, "volume")
	node := rapid.SampledFrom([]string{"n1", "n2"}).Draw(t, "node")
	pod := rapid.SampledFrom([]string{"p1", "p2"}).Draw(t, "pod")
	mode := rapid.SampledFrom([]corev1.PersistentVolumeAccessMode{"", corev1.ReadWriteMany}).Draw(t, "mode")
	size := rapid.Int64Range(1, 4).Draw(t, "size") * gi
	calls := []struct {
		name string
		call func(*fake.Memory) error
	}{
		{"create", create(storage.CreateRequest{Name: id, Size: size})},
		{"delete", remove(id)},
		{"attach", attach(id, node, mode)},
		{"detach", detach(id, node)},
		{"stage", stage(id, node)},
		{"unstage", unstage(id, node)},
		{"publish", publish(id, node, pod)},
		{"unpublish", unpublish(id, node, pod)},
		{"expand", expand(storage.ExpandRequest{ID: id, Size: size})},
		{"node expand", nodeExpand(id, node, 0)},
	}
	c := rapid.SampledFrom(calls).Draw(t, "call")
	return fmt.Sprintf("%s(%s, %s, %s, %q, %d)", c.name, id, node, pod, mode, size), c.call
}

func TestMemoryInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, twin := fake.CSI("disk.example.com"), fake.CSI("disk.example.com")
		sizes := map[string]int64{}
		for range rapid.IntRange(1, 60).Draw(t, "calls") {
			name, call := anyCall(t)
			before, gone := m.Volumes(), len(m.Deleted())
			err := call(m)
			after := m.Volumes()
			if twinErr := call(twin); fmt.Sprint(err) != fmt.Sprint(twinErr) {
				t.Fatalf("%s = %v, and %v on a backend with the same history", name, err, twinErr)
			}
			if err != nil && (!cmp.Equal(before, after) || len(m.Deleted()) != gone) {
				t.Fatalf("%s = %v, but it had an effect:\n%s", name, err, cmp.Diff(before, after))
			}
			if err == nil {
				if err := call(m); err != nil || !cmp.Equal(after, m.Volumes()) {
					t.Fatalf("%s again = %v, want success without effect:\n%s", name, err, cmp.Diff(after, m.Volumes()))
				}
				if err := call(twin); err != nil {
					t.Fatalf("%s again on the twin = %v", name, err)
				}
			}
			checkStates(t, name, m)
			if len(m.Deleted()) > gone {
				clear(sizes)
			}
			for _, v := range m.Volumes() {
				if v.Size < sizes[v.ID] {
					t.Fatalf("after %s volume %s shrank from %d to %d", name, v.ID, sizes[v.ID], v.Size)
				}
				sizes[v.ID] = v.Size
			}
		}
		if diff := cmp.Diff(m.Report(nil), twin.Report(nil)); diff != "" {
			t.Fatalf("reports of the same history differ:\n%s", diff)
		}
	})
}

// checkStates checks invariants of a driver that is not lenient.
func checkStates(t *rapid.T, name string, m *fake.Memory) {
	for _, v := range m.Deleted() {
		if len(v.Attached)+len(v.Staged)+len(v.Published) > 0 {
			t.Fatalf("after %s volume %s is deleted and in use: %+v", name, v.ID, v)
		}
	}
	for _, v := range m.Volumes() {
		if len(v.Attached) > 1 {
			for _, a := range v.Attached {
				if a.Mode != corev1.ReadWriteMany {
					t.Fatalf("after %s volume %s is attached to two nodes: %+v", name, v.ID, v.Attached)
				}
			}
		}
		for _, p := range v.Published {
			if !slices.ContainsFunc(v.Staged, func(u fake.Use) bool { return u.Node == p.Node }) {
				t.Fatalf("after %s volume %s is published where it is not staged: %+v", name, v.ID, v)
			}
		}
		if v.Usable > v.Size {
			t.Fatalf("after %s volume %s has %d usable bytes of %d", name, v.ID, v.Usable, v.Size)
		}
	}
	for _, p := range m.Problems() {
		if p.Kind == "DeletedInUse" || p.Kind == "RecycledInUse" {
			t.Fatalf("after %s: %s, which a strict driver rejects", name, p)
		}
	}
}
