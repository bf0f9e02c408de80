package backends_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/storage"
)

// named is a backend that can do nothing.
type named string

func (n named) Name() string { return string(n) }

// greedy claims to support every source, and panics for CSI sources.
type greedy struct{ named }

func (greedy) Supports(source *corev1.PersistentVolumeSource) bool {
	if source.CSI != nil {
		panic("cannot read this")
	}
	return source.HostPath != nil
}

// lazy has a negative delay, or panics.
type lazy struct{ named }

func (lazy) Delay(op storage.Op, _ string) (d time.Duration) {
	if op == storage.Delete {
		panic("no idea")
	}
	return -1
}

// describing has these capabilities.
type describing struct {
	named
	capabilities func() storage.Capabilities
}

func (d describing) Capabilities() storage.Capabilities { return d.capabilities() }

// halfAttacher cannot detach.
type halfAttacher struct{ named }

func (halfAttacher) Attach(storage.NodeRequest) (map[string]string, error) { return nil, nil }

func setOf(t *testing.T, all ...storage.Backend) *backends.Set {
	t.Helper()
	s, err := backends.NewSet(all...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestNewSet(t *testing.T) {
	var none *fake.Memory
	for _, tt := range []struct {
		name     string
		backends []storage.Backend
		want     string // the error; "" is none
	}{
		{"nothing", nil, ""},
		{"drivers and plugins", []storage.Backend{fake.CSI("b.example.com"), fake.NFS(), fake.CSI("a.example.com")}, ""},
		{"nil", []storage.Backend{fake.NFS(), nil}, "backend 2 of 2 is nil: remove it"},
		{"a nil pointer", []storage.Backend{none},
			"backend 1 of 1 (*fake.Memory) does not return its name: backend 1: Name panicked: runtime error: invalid memory address or nil pointer dereference"},
		{"no name", []storage.Backend{named("")},
			"backend 1 of 1 (backends_test.named): its name is empty; name it like a CSI driver (disk.example.com) or an in-tree plugin (kubernetes.io/disk)"},
		{"the API server's name", []storage.Backend{named("api")},
			`backend 1 of 1 (backends_test.named): the name "api" means the API server in faults; choose another name`},
		{"taken", []storage.Backend{named("a"), named("b"), fake.CSI("a")},
			`backend 3 of 3 (*fake.Memory): there is another backend named "a"; choose another name`},
		{"too long", []storage.Backend{named(strings.Repeat("a", 64))}, "has 64 characters; the name of a CSI driver may have 63"},
		{"long enough", []storage.Backend{named(strings.Repeat("a", 63)), greedy{named(strings.Repeat("b", 64))}}, ""},
		{"half of an interface", []storage.Backend{halfAttacher{named("a")}},
			"it has a method Attach but does not implement storage.Attacher; implement all its methods, and list what it cannot do in Capabilities.Without"},
		{"capabilities that panic", []storage.Backend{describing{"a", func() storage.Capabilities { panic("not yet") }}},
			"backend a: Capabilities panicked: not yet"},
		{"without an unknown operation", []storage.Backend{describing{"a", func() storage.Capabilities {
			return storage.Capabilities{Without: []storage.Op{storage.Delete, "Junk"}}
		}}}, "GetCondition ListConditions]"},
		{"an empty topology key", []storage.Backend{describing{"a", func() storage.Capabilities { return storage.Capabilities{TopologyKeys: []string{""}} }}},
			"its Capabilities.TopologyKeys have an empty key; remove it"},
		{"wrong options", []storage.Backend{fake.CSI("a", fake.Quota("much"), nil)},
			`backend 1 of 1 (*fake.Memory): backend a: Quota "much" is not a size; write it like 10Gi; option 2 is nil`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := backends.NewSet(tt.backends...)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.HasSuffix(err.Error(), tt.want)) {
				t.Errorf("NewSet = %v, want %q", err, tt.want)
			}
		})
	}
}

func TestSetIsSorted(t *testing.T) {
	s := setOf(t, fake.CSI("c"), fake.NFS(), fake.CSI("a"), fake.HostPath(), fake.CSI("b"))
	var names []string
	for name, b := range s.All() {
		names = append(names, name)
		if b.Name() != name {
			t.Errorf("All has %q under the name %q", b.Name(), name)
		}
		if name == "kubernetes.io/host-path" {
			break
		}
	}
	if diff := cmp.Diff([]string{"a", "b", "c", "kubernetes.io/host-path"}, names); diff != "" {
		t.Errorf("All (-want +got):\n%s", diff)
	}
}

func TestSetFindsByName(t *testing.T) {
	s := setOf(t, fake.CSI("disk.example.com", fake.Only(storage.Create, storage.Delete)), fake.NFS())
	if b, ok := s.Get("disk.example.com"); !ok || b.Name() != "disk.example.com" {
		t.Errorf("Get(disk.example.com) = %v, %t, want it", b, ok)
	}
	if b, ok := s.Get("other"); ok {
		t.Errorf("Get(other) = %v, want none", b)
	}
	if _, ok := s.Driver("disk.example.com"); !ok {
		t.Error("Driver(disk.example.com) finds none")
	}
	if b, ok := s.Driver("kubernetes.io/nfs"); ok {
		t.Errorf("Driver(kubernetes.io/nfs) = %v, want none, because it is an in-tree plugin", b)
	}
	for _, tt := range []struct {
		name string
		op   storage.Op
		want bool
	}{
		{"disk.example.com", storage.Create, true},
		{"disk.example.com", storage.Attach, false},
		{"kubernetes.io/nfs", storage.Recycle, true},
		{"other", storage.Create, false},
	} {
		if got := s.Has(tt.name, tt.op); got != tt.want {
			t.Errorf("Has(%s, %s) = %t, want %t", tt.name, tt.op, got, tt.want)
		}
	}
	var empty backends.Set
	if _, ok := empty.Get("a"); ok {
		t.Error("the zero Set has a backend")
	}
}

func TestCan(t *testing.T) {
	for _, op := range backends.Ops() {
		if backends.Can(named("a"), op) {
			t.Errorf("Can(%s) of a backend with only a name = true", op)
		}
		if got, want := backends.Can(fake.CSI("a"), op), op != storage.Recycle && op != storage.GetCapacity; got != want {
			t.Errorf("Can(%s) of a CSI driver = %t, want %t", op, got, want)
		}
	}
	if !backends.Can(fake.CSI("a", fake.Quota("1Gi")), storage.GetCapacity) {
		t.Error("Can(GetCapacity) of a CSI driver with a quota = false")
	}
	if backends.Can(fake.CSI("a"), "Destroy") || backends.Can(nil, storage.Create) {
		t.Error("Can(Destroy), or Can of nil, = true")
	}
}

func TestDelay(t *testing.T) {
	slow := fake.CSI("a", fake.Latency(storage.Create, 3))
	for _, tt := range []struct {
		name string
		b    storage.Backend
		op   storage.Op
		want time.Duration
	}{
		{"a delay", slow, storage.Create, 3},
		{"no delay", slow, storage.Delete, 0},
		{"not a Delayer", named("a"), storage.Create, 0},
		{"a negative delay", lazy{"a"}, storage.Create, 0},
		{"panic", lazy{"a"}, storage.Delete, 0},
	} {
		if got := backends.Delay(tt.b, tt.op, "v"); got != tt.want {
			t.Errorf("%s: Delay = %s, want %s", tt.name, got, tt.want)
		}
	}
}
