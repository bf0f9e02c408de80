package fake_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/storage"
)

const gi = int64(1) << 30

// step is one call, and the code it must have.
type step struct {
	call func(*fake.Memory) error
	want storage.Code
}

func ok(call func(*fake.Memory) error) step { return step{call, "OK"} }

func fails(code storage.Code, call func(*fake.Memory) error) step { return step{call, code} }

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
		return m.Modify(storage.ModifyRequest{ID: id, Parameters: map[string]string{parameter: "1"}})
	}
}

func nodeExpand(id, node string, size int64) func(*fake.Memory) error {
	return func(m *fake.Memory) error {
		_, err := m.NodeExpand(storage.NodeRequest{ID: id, Node: node, Size: size})
		return err
	}
}

// all attaches, stages and publishes a volume.
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
	inline := storage.NodeRequest{ID: objects.InlineHandle("u1", "sec"), Node: "n1", TargetPath: "/pods/u1/volumes/kubernetes.io~csi/sec/mount",
		Pod: storage.PodRef{Namespace: "default", Name: "p1", UID: "u1"}}
	unstaged := inline
	unstaged.ID = "v"
	for _, tt := range []struct {
		name  string
		opts  []fake.MemoryOption
		steps []step
	}{
		{"an impossible size", nil,
			[]step{fails(storage.InvalidArgument, create(sized(-1, 0))), fails(storage.InvalidArgument, create(sized(2, 1)))}},
		{"the same request again", nil, []step{ok(create(one)), ok(create(one)), ok(create(sized(gi/2, 0)))}},
		{"same name, larger", nil, []step{ok(create(one)), fails(storage.AlreadyExists, create(sized(2*gi, 0)))}},
		{"same name, limit below the size", nil, []step{ok(create(one)), fails(storage.AlreadyExists, create(sized(1, 2)))}},
		{"same name, other access mode", nil, []step{ok(create(one)),
			fails(storage.AlreadyExists,
				create(storage.CreateRequest{Name: "v", Size: gi, Modes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}}))}},
		{"same name, other volume mode", nil, []step{ok(create(one)),
			ok(create(storage.CreateRequest{Name: "v", Size: gi, VolumeMode: corev1.PersistentVolumeFilesystem})),
			fails(storage.AlreadyExists, create(storage.CreateRequest{Name: "v", Size: gi, VolumeMode: corev1.PersistentVolumeBlock}))}},
		{"same name, other parameters", nil, []step{ok(create(one)),
			fails(storage.AlreadyExists, create(storage.CreateRequest{Name: "v", Size: gi, Parameters: map[string]string{"type": "ssd"}}))}},
		{"MNT-303: a volume in the pod itself is neither attached nor staged", nil, []step{ok(publishAs(inline)), fails(storage.FailedPrecondition, publishAs(unstaged))}},
		{"the name of a static volume", nil, []step{ok(attach("v", "n1")), fails(storage.AlreadyExists, create(one))}},
		{"too large", []fake.MemoryOption{fake.MaxSize("1Gi")},
			[]step{ok(create(one)), fails(storage.OutOfRange, create(storage.CreateRequest{Name: "w", Size: gi + 1})),
				fails(storage.OutOfRange, expand(storage.ExpandRequest{ID: "v", Size: 2 * gi}))}},
		{"limit below the minimum size", []fake.MemoryOption{fake.MinSize("2Gi")},
			[]step{fails(storage.OutOfRange, create(sized(gi, gi))), ok(create(one)), ok(create(one))}},
		{"quota", []fake.MemoryOption{fake.Quota("2Gi")},
			[]step{ok(create(one)), fails(storage.ResourceExhausted, create(storage.CreateRequest{Name: "w", Size: gi + 1})),
				ok(create(storage.CreateRequest{Name: "w", Size: gi})),
				fails(storage.ResourceExhausted, expand(storage.ExpandRequest{ID: "v", Size: 2 * gi})),
				ok(remove("w")), ok(expand(storage.ExpandRequest{ID: "v", Size: 2 * gi}))}},
		{"quota and the largest int64", []fake.MemoryOption{fake.Quota("2Gi")}, []step{ok(create(one)),
			fails(storage.ResourceExhausted, create(storage.CreateRequest{Name: "w", Size: 1<<63 - 1}))}},

		{"attached twice", nil, []step{ok(attach("v", "n1")), ok(attach("v", "n1"))}},
		{"attached twice with different modes", nil,
			[]step{ok(attach("v", "n1")), fails(storage.AlreadyExists, attach("v", "n1", corev1.ReadWriteMany))}},
		{"a second node", nil,
			[]step{ok(attach("v", "n1")), fails(storage.FailedPrecondition, attach("v", "n2")), ok(detach("v", "n1")), ok(attach("v", "n2"))}},
		{"a second node of a shared volume", nil, []step{ok(attach("v", "n1", corev1.ReadWriteMany)), ok(attach("v", "n2", corev1.ReadOnlyMany)),
			fails(storage.FailedPrecondition, attach("v", "n3"))}},
		{"detached from all nodes", nil,
			[]step{ok(attach("v", "n1", corev1.ReadWriteMany)), ok(attach("v", "n2", corev1.ReadWriteMany)), ok(detach("v", "")),
				ok(attach("v", "n3"))}},
		{"detached from a node without it", nil,
			[]step{ok(detach("v", "n1")), ok(attach("v", "n1")), ok(detach("v", "n2")), fails(storage.FailedPrecondition, attach("v", "n2"))}},

		{"staged before attached", nil,
			[]step{fails(storage.FailedPrecondition, stage("v", "n1")), ok(attach("v", "n2")), fails(storage.FailedPrecondition, stage("v", "n1"))}},
		{"staged without attaching", []fake.MemoryOption{fake.Without(storage.Attach)},
			[]step{ok(stage("v", "n1")), ok(publish("v", "n1", "p1"))}},
		{"published without staging", []fake.MemoryOption{fake.Without(storage.Stage)},
			[]step{fails(storage.FailedPrecondition, publish("v", "n1", "p1")), ok(attach("v", "n1")), ok(publish("v", "n1", "p1"))}},
		{"published before staged", nil, []step{ok(attach("v", "n1")), fails(storage.FailedPrecondition, publish("v", "n1", "p1"))}},
		{"published again for reading only", nil,
			then(all("v", "n1", "p1"), ok(publish("v", "n1", "p1")), fails(storage.AlreadyExists, publishAs(readOnly)))},
		{"unstaged while published", nil,
			then(all("v", "n1", "p1"), fails(storage.FailedPrecondition, unstage("v", "n1")), ok(unpublish("v", "n1", "p1")),
				ok(unstage("v", "n1")), ok(unstage("v", "n1")))},
		{"a second pod", nil, then(all("v", "n1", "p1"), ok(publish("v", "n1", "p2")))},
		{"a second pod with ReadWriteOncePod", nil,
			then(all("v", "n1", "p1"), fails(storage.FailedPrecondition, publishAs(rwop)), ok(unpublish("v", "n1", "p1")),
				ok(publishAs(rwop)), ok(publishAs(rwop)), fails(storage.FailedPrecondition, publish("v", "n1", "p1")))},

		{"deleted in use", nil,
			[]step{ok(create(one)), ok(attach("v", "n1")), fails(storage.FailedPrecondition, remove("v")), ok(detach("v", "n1")),
				ok(remove("v")), ok(remove("v"))}},
		{"used after deletion", nil,
			[]step{ok(create(one)), ok(remove("v")), fails(storage.NotFound, attach("v", "n1")),
				fails(storage.NotFound, expand(storage.ExpandRequest{ID: "v", Size: gi})),
				ok(create(one)), ok(attach("v", "n1"))}},
		{"a static volume deleted", nil,
			[]step{ok(remove("v")), fails(storage.NotFound, attach("v", "n1")), fails(storage.NotFound, publish("v", "n1", "p1")),
				ok(detach("v", "n1"))}},
		{"no static volumes", []fake.MemoryOption{fake.CreatedOnly()},
			[]step{fails(storage.NotFound, attach("v", "n1")), ok(detach("v", "n1")), ok(remove("v")), ok(create(one)), ok(attach("v", "n1"))}},

		{"expanded to an impossible size", nil,
			[]step{fails(storage.InvalidArgument, expand(storage.ExpandRequest{ID: "v"})),
				fails(storage.InvalidArgument, expand(storage.ExpandRequest{ID: "v", Size: 2, Limit: 1}))}},
		{"already larger than the limit", nil,
			[]step{ok(create(one)), fails(storage.OutOfRange, expand(storage.ExpandRequest{ID: "v", Size: 1, Limit: 2}))}},
		{"expanded while attached", []fake.MemoryOption{fake.OfflineExpansion()}, []step{ok(create(one)), ok(attach("v", "n1")),
			fails(storage.FailedPrecondition, expand(storage.ExpandRequest{ID: "v", Size: 2 * gi})),
			ok(expand(storage.ExpandRequest{ID: "v", Size: gi})), ok(detach("v", "n1")), ok(expand(storage.ExpandRequest{ID: "v", Size: 2 * gi}))}},
		{"expanded on a node without it", nil,
			[]step{ok(create(one)), fails(storage.NotFound, nodeExpand("v", "n1", gi)), ok(attach("v", "n1")), ok(stage("v", "n1")),
				ok(nodeExpand("v", "n1", gi)), fails(storage.OutOfRange, nodeExpand("v", "n1", 2*gi))}},

		{"expanded only on the node", []fake.MemoryOption{fake.Without(storage.Expand), fake.MaxSize("3Gi")},
			[]step{ok(create(one)), ok(attach("v", "n1")), ok(stage("v", "n1")),
				ok(nodeExpand("v", "n1", 2*gi)), fails(storage.OutOfRange, nodeExpand("v", "n1", 4*gi))}},
		{"modified", nil, []step{ok(create(one)), ok(modify("v", "iops")), ok(modify("v", "iops")),
			fails(storage.InvalidArgument, modify("", "iops")), ok(remove("v")), fails(storage.NotFound, modify("v", "iops"))}},
		{"modified with an immutable parameter", []fake.MemoryOption{fake.Mutable("iops")},
			[]step{ok(modify("v", "iops")), fails(storage.InvalidArgument, modify("v", "type"))}},

		{"lenient", []fake.MemoryOption{fake.Lenient()},
			[]step{ok(publish("v", "n1", "p1")), ok(stage("v", "n1")), ok(unstage("v", "n1")), ok(attach("v", "n1")), ok(attach("v", "n2")),
				ok(attach("v", "n1", corev1.ReadWriteMany)), ok(publishAs(readOnly)), ok(publishAs(rwop)), ok(nodeExpand("v", "n3", 0)),
				ok(remove("v")), ok(attach("v", "n1"))}},
		{"only Publish", []fake.MemoryOption{fake.Only(storage.Publish)},
			[]step{ok(publish("v", "n1", "p1")), ok(unpublish("v", "n1", "p1")), fails(storage.Unimplemented, create(one))}},
		{"only Create and Delete", []fake.MemoryOption{fake.Only(storage.Create, storage.Delete)},
			[]step{ok(create(one)), ok(remove("v")), fails(storage.Unimplemented, attach("v", "n1")),
				fails(storage.Unimplemented, detach("v", "n1")),
				fails(storage.Unimplemented, stage("v", "n1")), fails(storage.Unimplemented, expand(storage.ExpandRequest{ID: "v", Size: gi}))}},
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
		t.Errorf("Delete = %v, want ErrVolumeInUse with the uses", err)
	}
}

func TestCreateResults(t *testing.T) {
	zone := func(name string) storage.Segment { return storage.Segment{"zone": name} }
	rack := func(zone, rack string) storage.Segment { return storage.Segment{"zone": zone, "rack": rack} }
	zoned := []fake.MemoryOption{fake.Topology(zone("a"), zone("b"))}
	request := func(requisite, preferred []storage.Segment) storage.CreateRequest {
		return storage.CreateRequest{Name: "v", Size: gi, Requisite: requisite, Preferred: preferred}
	}
	for _, tt := range []struct {
		name string
		opts []fake.MemoryOption
		req  storage.CreateRequest
		want storage.Volume
		code storage.Code
	}{
		{name: "as requested", req: storage.CreateRequest{Name: "v", Size: gi}, want: storage.Volume{ID: "v", Size: gi}},
		{name: "at least the minimum size", opts: []fake.MemoryOption{fake.MinSize("4Gi")}, req: storage.CreateRequest{Name: "v", Size: gi},
			want: storage.Volume{ID: "v", Size: 4 * gi}},
		{name: "data source confirmed", req: storage.CreateRequest{Name: "v", Content: &corev1.TypedObjectReference{Name: "other"}},
			want: storage.Volume{ID: "v", Content: true}},
		{name: "the first zone", opts: zoned, req: request(nil, nil),
			want: storage.Volume{ID: "v", Size: gi, Topology: []storage.Segment{zone("a")}}},
		{name: "a preferred zone", opts: zoned,
			req:  request([]storage.Segment{zone("a"), zone("b")}, []storage.Segment{zone("c"), zone("b")}),
			want: storage.Volume{ID: "v", Size: gi, Topology: []storage.Segment{zone("b")}}},
		{name: "a required zone", opts: zoned, req: request([]storage.Segment{zone("b")}, nil),
			want: storage.Volume{ID: "v", Size: gi, Topology: []storage.Segment{zone("b")}}},
		{name: "a required zone of a driver with more labels", opts: []fake.MemoryOption{fake.Topology(rack("a", "1"), rack("b", "2"))},
			req: request([]storage.Segment{zone("b")}, nil), want: storage.Volume{ID: "v", Size: gi, Topology: []storage.Segment{rack("b", "2")}}},
		{name: "no such zone", opts: zoned, req: request([]storage.Segment{zone("c")}, nil), code: storage.ResourceExhausted},
		{name: "a driver without topology ignores zones", req: request([]storage.Segment{zone("c")}, nil),
			want: storage.Volume{ID: "v", Size: gi}},
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
	if _, err := m.Create(request([]storage.Segment{zone("a")}, nil)); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Create(request([]storage.Segment{zone("b")}, nil)); storage.CodeOf(err) != storage.AlreadyExists {
		t.Errorf("Create with the same name in another zone = %v, want code AlreadyExists", err)
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
