package backendtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/storage"
)

// recorder is a T that records failures.
type recorder struct{ failures []string }

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

// failing returns the checks that fail for the backend, and their messages.
func failing(newBackend func() storage.Backend, opts ...Option) (names []string, text string) {
	var all []string
	for _, c := range checksFor(newBackend, opts) {
		r := &recorder{}
		c.verify(r, newBackend)
		if len(r.failures) > 0 {
			names = append(names, c.name)
			all = append(all, r.failures...)
		}
	}
	return names, strings.Join(all, "\n")
}

func driver() *fake.Memory { return fake.CSI("disk.example.com") }

type (
	forgetful struct { // creates a new volume each time
		*fake.Memory
		made int
	}
	generous      struct{ *fake.Memory } // ignores the size of a volume with a known name
	stingy        struct{ *fake.Memory } // returns half the size
	onceOnly      struct{ *fake.Memory } // returns an error for a deleted volume
	changing      struct{ *fake.Memory } // has a new name each time
	panicking     struct{ *fake.Memory } // panics for an empty request
	unstaged      struct{ *fake.Memory } // publishes a volume that is not staged
	shrinking     struct{ *fake.Memory } // shrinks volumes
	modifiesOnce  struct{ *fake.Memory } // rejects a repeated Modify
	amnesiac      struct{ *fake.Memory } // loses the data on detach
	oneWay        struct{ *fake.Memory } // cannot detach
	negative      struct{ *fake.Memory } // has negative delays
	modifying     struct{ *fake.Memory } // modifies requests
	undead        struct{ *fake.Memory } // deletes nothing
	accepting     struct{ *fake.Memory } // accepts empty requests
	wrongCode     struct{ *fake.Memory } // rejects with another code
	supportsAll   struct{ *fake.Plugin }
	idle          struct{}
	incomparable  struct{ *fake.Memory } // returns results that depend on the backend's address
	unpublishOnce struct{ *fake.Memory }
)

var changes, made int

func (b *forgetful) Create(req storage.CreateRequest) (storage.Volume, error) {
	if b.made++; req.Name != "" {
		req.Name = fmt.Sprintf("%s-%d", req.Name, b.made)
	}
	return b.Memory.Create(req)
}

func (b generous) Create(req storage.CreateRequest) (storage.Volume, error) {
	if _, ok := b.Volume(req.Name); ok {
		req.Size = 0
	}
	return b.Memory.Create(req)
}

func (b stingy) Create(req storage.CreateRequest) (storage.Volume, error) {
	resp, err := b.Memory.Create(req)
	resp.Size /= 2
	return resp, err
}

func (b onceOnly) Delete(req storage.DeleteRequest) error {
	if _, ok := b.Volume(req.ID); !ok && req.ID != "" {
		return storage.Errorf(storage.NotFound, "no volume %s", req.ID)
	}
	return b.Memory.Delete(req)
}

func (b changing) Name() string { changes++; return fmt.Sprintf("disk-%d", changes) }

func (b panicking) Attach(req storage.NodeRequest) (map[string]string, error) {
	return map[string]string{"first": req.ID[:1]}, nil
}

func (b unstaged) Publish(req storage.NodeRequest) error {
	if err := b.Memory.Publish(req); storage.CodeOf(err) == storage.InvalidArgument {
		return err
	}
	return nil
}

func (b modifiesOnce) Modify(req storage.ModifyRequest) error {
	if v, ok := b.Volume(req.ID); ok && v.Modified != nil {
		return storage.Errorf(storage.InvalidArgument, "nothing to modify")
	}
	return b.Memory.Modify(req)
}

func (b shrinking) Expand(req storage.ExpandRequest) (size int64, onNode bool, err error) {
	_, onNode, err = b.Memory.Expand(req)
	return req.Size, onNode, err
}

func (b amnesiac) Read(string, storage.PodRef, string) (storage.Write, error) {
	return storage.Write{}, nil
}

func (b oneWay) Capabilities() storage.Capabilities {
	c := b.Memory.Capabilities()
	c.Without = append(slices.Clone(c.Without), storage.Detach)
	return c
}

func (b negative) Delay(storage.Op, string) time.Duration { return -time.Second }

func (b modifying) Create(req storage.CreateRequest) (storage.Volume, error) {
	if req.Parameters != nil {
		req.Parameters["seen"] = "true"
	}
	return b.Memory.Create(req)
}

func (b undead) Delete(req storage.DeleteRequest) error {
	if req.ID == "" {
		return b.Memory.Delete(req)
	}
	return nil
}

func (b accepting) Stage(req storage.NodeRequest) error {
	if req.ID == "" {
		return nil
	}
	return b.Memory.Stage(req)
}

func (b wrongCode) Create(req storage.CreateRequest) (storage.Volume, error) {
	resp, err := b.Memory.Create(req)
	if storage.CodeOf(err) == storage.AlreadyExists {
		err = storage.Errorf(storage.Internal, "%v", err)
	}
	return resp, err
}

func (b supportsAll) Supports(*corev1.PersistentVolumeSource) bool { return true }

func (idle) Name() string { return "idle.example.com" }

func (b incomparable) Create(req storage.CreateRequest) (storage.Volume, error) {
	resp, err := b.Memory.Create(req)
	resp.Context = map[string]string{"backend": fmt.Sprintf("%p", b.Memory)}
	return resp, err
}

func (b unpublishOnce) Unpublish(req storage.NodeRequest) error {
	if v, ok := b.Volume(req.ID); req.ID != "" && (!ok || len(v.Published) == 0) {
		return storage.Errorf(storage.Internal, "not mounted")
	}
	return b.Memory.Unpublish(req)
}

func TestBrokenBackendsFail(t *testing.T) {
	for _, tt := range []struct {
		name string
		make func() storage.Backend
		want []string // the checks that fail
		text string   // part of their messages
	}{
		{"forgetful", func() storage.Backend { return &forgetful{Memory: driver()} },
			[]string{"Create is idempotent by name", "Create rejects another size with the same name"},
			"want code [AlreadyExists]"},
		{"generous", func() storage.Backend { return generous{driver()} },
			[]string{"Create rejects another size with the same name"},
			"Create(2147483648 bytes) after Create(1073741824 bytes) of the same name succeeded"},
		{"stingy", func() storage.Backend { return stingy{driver()} }, []string{"a volume is at least as large as requested"},
			"returned 536870912 bytes"},
		{"an error for a deleted volume", func() storage.Backend { return onceOnly{driver()} },
			[]string{"Delete is idempotent", "Delete of an unknown volume succeeds"}, "no volume backendtest-unknown"},
		{"changing name", func() storage.Backend { return changing{driver()} }, []string{"the name is set and constant"}, "want one name"},
		{"panicking", func() storage.Backend { return panicking{fake.CSI("disk.example.com", fake.Only(storage.Attach))} },
			[]string{"an empty request is rejected"},
			"backend disk.example.com: Attach panicked: runtime error: slice bounds out of range [:1] with length 0"},
		{"publishes without staging", func() storage.Backend { return unstaged{driver()} }, []string{"Publish needs Stage first"},
			"Publish before Stage succeeded, want code [FailedPrecondition]"},
		{"shrinking", func() storage.Backend { return shrinking{driver()} }, []string{"Expand never shrinks"}, "after 3221225472"},
		{"modifies once", func() storage.Backend { return modifiesOnce{driver()} },
			[]string{"Modify is idempotent, or rejected as invalid"}, "nothing to modify when repeated"},
		{"forgets data", func() storage.Backend { return amnesiac{driver()} },
			[]string{"data survives a move to another node", "data survives a repeated Publish"}, ""},
		{"one way", func() storage.Backend { return oneWay{driver()} }, []string{"opposite operations are both supported or neither"},
			"Attach is supported: true, Detach is supported: false"},
		{"negative delay", func() storage.Backend { return negative{driver()} }, []string{"delays are constant and not negative"},
			"Delay(Create) = -1s"},
		{"modifies requests", func() storage.Backend { return modifying{driver()} }, []string{"a request is not modified or retained"},
			"seen:true"},
		{"deletes nothing", func() storage.Backend { return undead{driver()} },
			[]string{"a deleted volume can be created again", "a deleted volume cannot be attached", "a volume that is created again is empty"}, ""},
		{"accepts empty requests", func() storage.Backend { return accepting{driver()} }, []string{"an empty request is rejected"},
			"Stage with an empty request succeeded"},
		{"wrong code", func() storage.Backend { return wrongCode{driver()} }, []string{"Create rejects another size with the same name"},
			"(code Internal), want code [AlreadyExists]"},
		{"supports everything", func() storage.Backend { return supportsAll{fake.InTree("kubernetes.io/x")} },
			[]string{"an empty source is not supported"}, "want false"},
		{"no operation", func() storage.Backend { return idle{} }, []string{"it supports an operation"}, "implement one of the interfaces"},
		{"results depend on the address", func() storage.Backend { return incomparable{driver()} },
			[]string{"the same calls have the same results"}, ""},
		{"unpublishes once", func() storage.Backend { return unpublishOnce{driver()} }, []string{"Unpublish is idempotent"}, "not mounted"},
		{"rejects nothing", func() storage.Backend { return fake.CSI("disk.example.com", fake.Lenient()) },
			[]string{"a deleted volume cannot be attached", "Publish needs Stage first"}, "Attach of a deleted volume succeeded"},
		{"bad options", func() storage.Backend { return fake.CSI("disk.example.com", fake.MinSize("huge")) },
			[]string{"the name is set and constant"}, `MinSize "huge" is not a size`},
		{"too small", func() storage.Backend {
			return fake.CSI("disk.example.com", fake.Only(storage.Create, storage.Delete), fake.MaxSize("1Mi"))
		}, nil, "OutOfRange"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, text := failing(tt.make)
			if diff := cmp.Diff(tt.want, got); diff != "" && tt.want != nil {
				t.Errorf("failing checks (-want +got):\n%s\n%s", diff, text)
			}
			if len(got) == 0 {
				t.Error("no check fails")
			}
			if !strings.Contains(text, tt.text) {
				t.Errorf("failures do not contain %q:\n%s", tt.text, text)
			}
		})
	}
}

func TestNilBackendFails(t *testing.T) {
	calls := 0
	maker := func() storage.Backend {
		if calls++; calls == 1 {
			return driver()
		}
		return nil
	}
	names, text := failing(maker)
	if !slices.Contains(names, "the name is set and constant") || !strings.Contains(text, "nil backend") {
		t.Errorf("failing = %v, %s, want every check to report the nil backend", names, text)
	}
}

func TestChecksThatApply(t *testing.T) {
	names := func(b storage.Backend) []string {
		var names []string
		for _, c := range checksFor(func() storage.Backend { return b }, nil) {
			names = append(names, c.name)
		}
		return names
	}
	want := []string{"the name is set and constant", "it supports an operation", "opposite operations are both supported or neither",
		"an empty request is rejected"}
	if diff := cmp.Diff(want, names(idle{})); diff != "" {
		t.Errorf("checks of a backend without operations (-want +got):\n%s", diff)
	}
	every := len(checks())
	full := names(fake.CSI("disk.example.com"))
	if left := every - len(full); left != 3 { // the check of Supports, and the two of Recycle
		t.Errorf("%d of %d checks do not apply to a CSI driver, want 3", left, every)
	}
}
