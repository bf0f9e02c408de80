package fake_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/fake"
)

// named is a backend that can do nothing.
type named string

func (n named) Name() string { return string(n) }

// greedy is an in-tree plugin by what it says, and panics over CSI sources.
type greedy struct{ named }

func (greedy) Supports(source *corev1.PersistentVolumeSource) bool {
	if source.CSI != nil {
		panic("cannot read this")
	}
	return source.HostPath != nil
}

// lazy takes less than no time, or panics.
type lazy struct{ named }

func (lazy) Delay(op fake.Op, _ string) (d time.Duration) {
	if op == fake.Delete {
		panic("no idea")
	}
	return -1
}

func setOf(t *testing.T, backends ...fake.Backend) *fake.Set {
	t.Helper()
	s, err := fake.NewSet(backends...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestNewSet(t *testing.T) {
	var none *fake.Memory
	for _, tt := range []struct {
		name     string
		backends []fake.Backend
		want     string // the error; "" is none
	}{
		{"nothing", nil, ""},
		{"drivers and plugins", []fake.Backend{fake.CSI("b.example.com"), fake.NFS(), fake.CSI("a.example.com")}, ""},
		{"nil", []fake.Backend{fake.NFS(), nil}, "backend 2 of 2 is nil: leave it out"},
		{"a nil pointer", []fake.Backend{none}, "backend 1 of 1 (*fake.Memory) cannot tell its name: backend 1: Name panicked: runtime error: invalid memory address or nil pointer dereference"},
		{"no name", []fake.Backend{named("")}, "backend 1 of 1 (fake_test.named): its name is empty: name it like a CSI driver (disk.example.com) or an in-tree plugin (kubernetes.io/disk)"},
		{"the API server's name", []fake.Backend{named("api")}, `backend 1 of 1 (fake_test.named): the name "api" means the API server in faults: choose another name`},
		{"taken", []fake.Backend{named("a"), named("b"), fake.CSI("a")}, `backend 3 of 3 (*fake.Memory): there is another backend named "a": give it a name of its own`},
		{"too long", []fake.Backend{named(strings.Repeat("a", 64))}, "has 64 characters: a CSI driver may have 63"},
		{"long enough", []fake.Backend{named(strings.Repeat("a", 63)), greedy{named(strings.Repeat("b", 64))}}, ""},
		{"wrong options", []fake.Backend{fake.CSI("a", fake.Quota("much"), nil)}, `backend 1 of 1 (*fake.Memory): backend a: Quota "much" is not a size: write it like 10Gi; option 2 is nil`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := fake.NewSet(tt.backends...)
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
	s := setOf(t, fake.CSI("disk.example.com", fake.ProvisionOnly()), fake.NFS())
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
		t.Errorf("Driver(kubernetes.io/nfs) = %v, want none: it is a plugin", b)
	}
	for _, tt := range []struct {
		name string
		op   fake.Op
		want bool
	}{
		{"disk.example.com", fake.Create, true},
		{"disk.example.com", fake.Attach, false},
		{"kubernetes.io/nfs", fake.Recycle, true},
		{"other", fake.Create, false},
	} {
		if got := s.Has(tt.name, tt.op); got != tt.want {
			t.Errorf("Has(%s, %s) = %t, want %t", tt.name, tt.op, got, tt.want)
		}
	}
	var empty fake.Set
	if _, ok := empty.Get("a"); ok {
		t.Error("the zero Set has a backend")
	}
}

func TestCan(t *testing.T) {
	for _, op := range fake.Ops() {
		if fake.Can(named("a"), op) {
			t.Errorf("Can(%s) of a backend with a name alone = true", op)
		}
		if got, want := fake.Can(fake.CSI("a"), op), op != fake.Recycle; got != want {
			t.Errorf("Can(%s) of a CSI driver = %t, want %t", op, got, want)
		}
	}
	if fake.Can(fake.CSI("a"), "Destroy") || fake.Can(nil, fake.Create) {
		t.Error("Can(Destroy), or Can of nil, = true")
	}
}

func TestDelayOf(t *testing.T) {
	slow := fake.CSI("a", fake.Latency(fake.Create, 3))
	for _, tt := range []struct {
		name string
		b    fake.Backend
		op   fake.Op
		want time.Duration
	}{
		{"as the backend says", slow, fake.Create, 3},
		{"nothing said", slow, fake.Delete, 0},
		{"no Delayer", named("a"), fake.Create, 0},
		{"less than zero", lazy{"a"}, fake.Create, 0},
		{"panic", lazy{"a"}, fake.Delete, 0},
	} {
		if got := fake.DelayOf(tt.b, tt.op, "v"); got != tt.want {
			t.Errorf("%s: DelayOf = %s, want %s", tt.name, got, tt.want)
		}
	}
}
