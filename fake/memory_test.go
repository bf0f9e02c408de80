package fake_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/storage"
)

const gi = int64(1) << 30

// step is one call, and the code it must have.
type step struct {
	call func(*fake.Memory) error
	want storage.Code
}

func ok(call func(*fake.Memory) error) step { return step{call, "OK"} }

func refused(code storage.Code, call func(*fake.Memory) error) step { return step{call, code} }

func create(req storage.CreateRequest) func(*fake.Memory) error {
	return func(m *fake.Memory) error { _, err := m.Create(req); return err }
}

func remove(id string) func(*fake.Memory) error {
	return func(m *fake.Memory) error { return m.Delete(storage.DeleteRequest{ID: id}) }
}

func attach(id, node string, mode ...corev1.PersistentVolumeAccessMode) func(*fake.Memory) error {
	req := storage.NodeRequest{ID: id, Node: node}
	if len(mode) > 0 {
		req.Mode = mode[0]
	}
	return func(m *fake.Memory) error { _, err := m.Attach(req); return err }
}

func detach(id, node string) func(*fake.Memory) error {
	return func(m *fake.Memory) error { return m.Detach(storage.NodeRequest{ID: id, Node: node}) }
}

func stage(id, node string) func(*fake.Memory) error {
	return func(m *fake.Memory) error {
		return m.Stage(storage.NodeRequest{ID: id, Node: node, StagingPath: "/stage"})
	}
}

func unstage(id, node string) func(*fake.Memory) error {
	return func(m *fake.Memory) error {
		return m.Unstage(storage.NodeRequest{ID: id, Node: node, StagingPath: "/stage"})
	}
}

func podNamed(name string) storage.PodRef { return storage.PodRef{Namespace: "default", Name: name} }

func publishAs(req storage.NodeRequest) func(*fake.Memory) error {
	return func(m *fake.Memory) error { return m.Publish(req) }
}

func toPod(id, node, pod string) storage.NodeRequest {
	return storage.NodeRequest{ID: id, Node: node, TargetPath: "/" + pod, StagingPath: "/stage", Pod: podNamed(pod)}
}

func publish(id, node, pod string) func(*fake.Memory) error { return publishAs(toPod(id, node, pod)) }

func unpublish(id, node, pod string) func(*fake.Memory) error {
	return func(m *fake.Memory) error {
		return m.Unpublish(storage.NodeRequest{ID: id, Node: node, TargetPath: "/" + pod})
	}
}

func expand(req storage.ExpandRequest) func(*fake.Memory) error {
	return func(m *fake.Memory) error { _, _, err := m.Expand(req); return err }
}

func modify(id, parameter string) func(*fake.Memory) error {
	return func(m *fake.Memory) error {
		return m.Modify(id, map[string]string{parameter: "1"})
	}
}

func nodeExpand(id, node string, size int64) func(*fake.Memory) error {
	return func(m *fake.Memory) error {
		_, err := m.NodeExpand(storage.NodeRequest{ID: id, Node: node, Size: size})
		return err
	}
}

// all is everything up to the pod.
func all(id, node, pod string) []step {
	return []step{ok(attach(id, node)), ok(stage(id, node)), ok(publish(id, node, pod))}
}

func then(before []step, more ...step) []step {
	return append(before[:len(before):len(before)], more...)
}

func TestMemory(t *testing.T) {
	one := storage.CreateRequest{Name: "v", Size: gi}
	sized := func(size, limit int64) storage.CreateRequest {
		return storage.CreateRequest{Name: "v", Size: size, Limit: limit}
	}
	rwop := toPod("v", "n1", "p2")
	rwop.Mode = corev1.ReadWriteOncePod
	readOnly := toPod("v", "n1", "p1")
	readOnly.ReadOnly = true
	for _, tt := range []struct {
		name  string
		opts  []fake.MemoryOption
		steps []step
	}{
		{"a size that is none", nil, []step{refused(storage.InvalidArgument, create(sized(-1, 0))), refused(storage.InvalidArgument, create(sized(2, 1)))}},
		{"the same again", nil, []step{ok(create(one)), ok(create(one)), ok(create(sized(gi/2, 0)))}},
		{"larger under the same name", nil, []step{ok(create(one)), refused(storage.AlreadyExists, create(sized(2*gi, 0)))}},
		{"limited to less under the same name", nil, []step{ok(create(one)), refused(storage.AlreadyExists, create(sized(1, 2)))}},
		{"another mode under the same name", nil, []step{ok(create(one)),
			refused(storage.AlreadyExists, create(storage.CreateRequest{Name: "v", Size: gi, Modes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}}))}},
		{"another volume mode under the same name", nil, []step{ok(create(one)),
			ok(create(storage.CreateRequest{Name: "v", Size: gi, VolumeMode: corev1.PersistentVolumeFilesystem})),
			refused(storage.AlreadyExists, create(storage.CreateRequest{Name: "v", Size: gi, VolumeMode: corev1.PersistentVolumeBlock}))}},
		{"other parameters under the same name", nil, []step{ok(create(one)),
			refused(storage.AlreadyExists, create(storage.CreateRequest{Name: "v", Size: gi, Parameters: map[string]string{"type": "ssd"}}))}},
		{"the name of a static volume", nil, []step{ok(attach("v", "n1")), refused(storage.AlreadyExists, create(one))}},
		{"too large", []fake.MemoryOption{fake.MaxSize("1Gi")}, []step{ok(create(one)), refused(storage.OutOfRange, create(storage.CreateRequest{Name: "w", Size: gi + 1})),
			refused(storage.OutOfRange, expand(storage.ExpandRequest{ID: "v", Size: 2 * gi}))}},
		{"the smallest is more than the limit", []fake.MemoryOption{fake.MinSize("2Gi")}, []step{refused(storage.OutOfRange, create(sized(gi, gi))), ok(create(one)), ok(create(one))}},
		{"quota", []fake.MemoryOption{fake.Quota("2Gi")}, []step{ok(create(one)), refused(storage.ResourceExhausted, create(storage.CreateRequest{Name: "w", Size: gi + 1})),
			ok(create(storage.CreateRequest{Name: "w", Size: gi})), refused(storage.ResourceExhausted, expand(storage.ExpandRequest{ID: "v", Size: 2 * gi})),
			ok(remove("w")), ok(expand(storage.ExpandRequest{ID: "v", Size: 2 * gi}))}},
		{"quota of a size beyond counting", []fake.MemoryOption{fake.Quota("2Gi")}, []step{ok(create(one)),
			refused(storage.ResourceExhausted, create(storage.CreateRequest{Name: "w", Size: 1<<63 - 1}))}},

		{"attached twice in the same way", nil, []step{ok(attach("v", "n1")), ok(attach("v", "n1"))}},
		{"attached twice in another way", nil, []step{ok(attach("v", "n1")), refused(storage.AlreadyExists, attach("v", "n1", corev1.ReadWriteMany))}},
		{"a second node", nil, []step{ok(attach("v", "n1")), refused(storage.FailedPrecondition, attach("v", "n2")), ok(detach("v", "n1")), ok(attach("v", "n2"))}},
		{"a second node of a shared volume", nil, []step{ok(attach("v", "n1", corev1.ReadWriteMany)), ok(attach("v", "n2", corev1.ReadOnlyMany)),
			refused(storage.FailedPrecondition, attach("v", "n3"))}},
		{"detached from everywhere", nil, []step{ok(attach("v", "n1", corev1.ReadWriteMany)), ok(attach("v", "n2", corev1.ReadWriteMany)), ok(detach("v", "")), ok(attach("v", "n3"))}},
		{"detached from where it was not", nil, []step{ok(detach("v", "n1")), ok(attach("v", "n1")), ok(detach("v", "n2")), refused(storage.FailedPrecondition, attach("v", "n2"))}},

		{"staged before attached", nil, []step{refused(storage.FailedPrecondition, stage("v", "n1")), ok(attach("v", "n2")), refused(storage.FailedPrecondition, stage("v", "n1"))}},
		{"staged without attaching", []fake.MemoryOption{fake.Without(storage.Attach)}, []step{ok(stage("v", "n1")), ok(publish("v", "n1", "p1"))}},
		{"published without staging", []fake.MemoryOption{fake.Without(storage.Stage)}, []step{refused(storage.FailedPrecondition, publish("v", "n1", "p1")), ok(attach("v", "n1")), ok(publish("v", "n1", "p1"))}},
		{"published before staged", nil, []step{ok(attach("v", "n1")), refused(storage.FailedPrecondition, publish("v", "n1", "p1"))}},
		{"published in another way", nil, then(all("v", "n1", "p1"), ok(publish("v", "n1", "p1")), refused(storage.AlreadyExists, publishAs(readOnly)))},
		{"unstaged under a pod", nil, then(all("v", "n1", "p1"), refused(storage.FailedPrecondition, unstage("v", "n1")), ok(unpublish("v", "n1", "p1")), ok(unstage("v", "n1")), ok(unstage("v", "n1")))},
		{"a second pod", nil, then(all("v", "n1", "p1"), ok(publish("v", "n1", "p2")))},
		{"a second pod of a volume for one", nil, then(all("v", "n1", "p1"), refused(storage.FailedPrecondition, publishAs(rwop)), ok(unpublish("v", "n1", "p1")),
			ok(publishAs(rwop)), ok(publishAs(rwop)), refused(storage.FailedPrecondition, publish("v", "n1", "p1")))},

		{"deleted in use", nil, []step{ok(create(one)), ok(attach("v", "n1")), refused(storage.FailedPrecondition, remove("v")), ok(detach("v", "n1")), ok(remove("v")), ok(remove("v"))}},
		{"used after deletion", nil, []step{ok(create(one)), ok(remove("v")), refused(storage.NotFound, attach("v", "n1")), refused(storage.NotFound, expand(storage.ExpandRequest{ID: "v", Size: gi})),
			ok(create(one)), ok(attach("v", "n1"))}},
		{"a static volume deleted", nil, []step{ok(remove("v")), refused(storage.NotFound, attach("v", "n1")), refused(storage.NotFound, publish("v", "n1", "p1")), ok(detach("v", "n1"))}},
		{"no static volumes", []fake.MemoryOption{fake.CreatedOnly()}, []step{refused(storage.NotFound, attach("v", "n1")), ok(detach("v", "n1")), ok(remove("v")), ok(create(one)), ok(attach("v", "n1"))}},

		{"expanded to nothing", nil, []step{refused(storage.InvalidArgument, expand(storage.ExpandRequest{ID: "v"})), refused(storage.InvalidArgument, expand(storage.ExpandRequest{ID: "v", Size: 2, Limit: 1}))}},
		{"too large already", nil, []step{ok(create(one)), refused(storage.OutOfRange, expand(storage.ExpandRequest{ID: "v", Size: 1, Limit: 2}))}},
		{"expanded while attached", []fake.MemoryOption{fake.OfflineExpansion()}, []step{ok(create(one)), ok(attach("v", "n1")),
			refused(storage.FailedPrecondition, expand(storage.ExpandRequest{ID: "v", Size: 2 * gi})), ok(expand(storage.ExpandRequest{ID: "v", Size: gi})), ok(detach("v", "n1")), ok(expand(storage.ExpandRequest{ID: "v", Size: 2 * gi}))}},
		{"expanded on a node that does not have it", nil, []step{ok(create(one)), refused(storage.NotFound, nodeExpand("v", "n1", gi)), ok(attach("v", "n1")), ok(stage("v", "n1")),
			ok(nodeExpand("v", "n1", gi)), refused(storage.OutOfRange, nodeExpand("v", "n1", 2*gi))}},

		{"expanded on the node alone", []fake.MemoryOption{fake.Without(storage.Expand), fake.MaxSize("3Gi")}, []step{ok(create(one)), ok(attach("v", "n1")), ok(stage("v", "n1")),
			ok(nodeExpand("v", "n1", 2*gi)), refused(storage.OutOfRange, nodeExpand("v", "n1", 4*gi))}},
		{"modified", nil, []step{ok(create(one)), ok(modify("v", "iops")), ok(modify("v", "iops")), refused(storage.InvalidArgument, modify("", "iops")), ok(remove("v")), refused(storage.NotFound, modify("v", "iops"))}},
		{"modified as it cannot be", []fake.MemoryOption{fake.Mutable("iops")}, []step{ok(modify("v", "iops")), refused(storage.InvalidArgument, modify("v", "type"))}},

		{"lenient", []fake.MemoryOption{fake.Lenient()}, []step{ok(publish("v", "n1", "p1")), ok(stage("v", "n1")), ok(unstage("v", "n1")), ok(attach("v", "n1")), ok(attach("v", "n2")),
			ok(attach("v", "n1", corev1.ReadWriteMany)), ok(publishAs(readOnly)), ok(publishAs(rwop)), ok(nodeExpand("v", "n3", 0)), ok(remove("v")), ok(attach("v", "n1"))}},
		{"only mounts", []fake.MemoryOption{fake.Only(storage.Publish)}, []step{ok(publish("v", "n1", "p1")), ok(unpublish("v", "n1", "p1")), refused(storage.Unimplemented, create(one))}},
		{"what was taken away", []fake.MemoryOption{fake.Only(storage.Create, storage.Delete)}, []step{ok(create(one)), ok(remove("v")), refused(storage.Unimplemented, attach("v", "n1")), refused(storage.Unimplemented, detach("v", "n1")),
			refused(storage.Unimplemented, stage("v", "n1")), refused(storage.Unimplemented, expand(storage.ExpandRequest{ID: "v", Size: gi}))}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := fake.CSI("disk.example.com", tt.opts...)
			if err := m.Err(); err != nil {
				t.Fatal(err)
			}
			for i, s := range tt.steps {
				if err := s.call(m); storage.CodeOf(err) != s.want {
					t.Fatalf("step %d = %v, want code %s", i+1, err, s.want)
				}
			}
		})
	}
}

func TestInTreeDeleteInUse(t *testing.T) {
	// RECL-027
	p := fake.InTree("kubernetes.io/mock-storage")
	if err := publish("pv1", "n1", "p1")(p.Memory); err != nil {
		t.Fatal(err)
	}
	err := p.Delete(storage.DeleteRequest{ID: "pv1"})
	if !errors.Is(err, backends.ErrVolumeInUse) || err.Error() != "volume pv1 is in use: published to default/p1 on n1" {
		t.Errorf("Delete = %v, want ErrVolumeInUse that tells by whom", err)
	}
}

func TestCreateAnswers(t *testing.T) {
	zone := func(name string) storage.Segment { return storage.Segment{"zone": name} }
	zoned := []fake.MemoryOption{fake.Topology(zone("a"), zone("b"))}
	asked := func(requisite, preferred []storage.Segment) storage.CreateRequest {
		return storage.CreateRequest{Name: "v", Size: gi, Requisite: requisite, Preferred: preferred}
	}
	for _, tt := range []struct {
		name string
		opts []fake.MemoryOption
		req  storage.CreateRequest
		want storage.Volume
		code storage.Code
	}{
		{name: "as asked", req: storage.CreateRequest{Name: "v", Size: gi}, want: storage.Volume{ID: "v", Size: gi}},
		{name: "at least the smallest", opts: []fake.MemoryOption{fake.MinSize("4Gi")}, req: storage.CreateRequest{Name: "v", Size: gi}, want: storage.Volume{ID: "v", Size: 4 * gi}},
		{name: "content is confirmed", req: storage.CreateRequest{Name: "v", Content: &corev1.TypedObjectReference{Name: "other"}}, want: storage.Volume{ID: "v", Content: true}},
		{name: "the first zone", opts: zoned, req: asked(nil, nil), want: storage.Volume{ID: "v", Size: gi, Topology: []storage.Segment{zone("a")}}},
		{name: "the zone preferred", opts: zoned, req: asked([]storage.Segment{zone("a"), zone("b")}, []storage.Segment{zone("c"), zone("b")}), want: storage.Volume{ID: "v", Size: gi, Topology: []storage.Segment{zone("b")}}},
		{name: "a zone required", opts: zoned, req: asked([]storage.Segment{zone("b")}, nil), want: storage.Volume{ID: "v", Size: gi, Topology: []storage.Segment{zone("b")}}},
		{name: "no such zone", opts: zoned, req: asked([]storage.Segment{zone("c")}, nil), code: storage.ResourceExhausted},
		{name: "zones do not matter to a driver without", req: asked([]storage.Segment{zone("c")}, nil), want: storage.Volume{ID: "v", Size: gi}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := fake.CSI("disk.example.com", tt.opts...)
			got, err := m.Create(tt.req)
			if code := storage.CodeOf(err); code != tt.code && (err != nil || tt.code != "") {
				t.Fatalf("Create = %v, want code %s", err, tt.code)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Create (-want +got):\n%s", diff)
			}
			if backends.HasTopology(m) != (tt.opts != nil && tt.want.Size != 4*gi) {
				t.Errorf("HasTopology = %t", backends.HasTopology(m))
			}
		})
	}
	m := fake.CSI("disk.example.com", zoned...)
	if _, err := m.Create(asked([]storage.Segment{zone("a")}, nil)); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Create(asked([]storage.Segment{zone("b")}, nil)); storage.CodeOf(err) != storage.AlreadyExists {
		t.Errorf("Create in another zone by the same name = %v, want code AlreadyExists", err)
	}
	if !backends.HasTopology(m) || backends.HasTopology(fake.NFS()) {
		t.Error("HasTopology is wrong")
	}
	resp, err := fake.InTree("kubernetes.io/mock-storage").Create(storage.CreateRequest{Name: "pvc-1", Size: gi})
	if err != nil || resp.ID != "pvc-1" || resp.Source.HostPath == nil || resp.Source.HostPath.Path != "/tmp/hostpath_pv/pvc-1" {
		t.Errorf("Create of a plugin = %+v, %v, want a hostPath below /tmp", resp, err)
	}
}

func TestMemoryOptionErrors(t *testing.T) {
	for _, tt := range []struct {
		opt  fake.MemoryOption
		want string
	}{
		{nil, "backend a: option 1 is nil"},
		{fake.Without("Destroy"), `backend a: Without: there is no operation "Destroy"`},
		{fake.Only("Make", storage.Create), `backend a: Only: there is no operation "Make"`},
		{fake.Latency(storage.Create, -1), "backend a: Latency of Create is -1ns; it must not be negative"},
		{fake.Latency("Make", 1), `backend a: Latency: there is no operation "Make"`},
		{fake.MaxSize("-1Gi"), `backend a: MaxSize "-1Gi" is not a size; write it like 10Gi`},
		{fake.Topology(nil), "backend a: Topology with an empty segment; give at least one label"},
	} {
		if err := fake.CSI("a", tt.opt).Err(); err == nil || err.Error() != tt.want {
			t.Errorf("Err = %v, want %s", err, tt.want)
		}
	}
	const want = "backend a: MinSize 2147483648 is more than MaxSize 1073741824"
	if err := fake.CSI("a", fake.MinSize("2Gi"), fake.MaxSize("1Gi")).Err(); err == nil || err.Error() != want {
		t.Errorf("Err = %v, want %s", err, want)
	}
}
