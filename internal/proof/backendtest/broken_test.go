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

// failing are the checks that such a backend does not pass, and all they say.
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
	forgetful struct { // makes a new volume each time
		*fake.Memory
		made int
	}
	generous      struct{ *fake.Memory } // finds a volume by its name alone
	stingy        struct{ *fake.Memory } // gives half
	onceOnly      struct{ *fake.Memory } // complains about what is gone
	changing      struct{ *fake.Memory } // has a new name each time
	panicking     struct{ *fake.Memory } // does not expect empty requests
	unstaged      struct{ *fake.Memory } // publishes without asking
	shrinking     struct{ *fake.Memory } // takes Expand by the letter
	modifiesOnce  struct{ *fake.Memory } // wants news each time
	amnesiac      struct{ *fake.Memory } // loses the data on detach
	oneWay        struct{ *fake.Memory } // cannot do the opposite
	backwards     struct{ *fake.Memory } // is done before it was asked
	meddling      struct{ *fake.Memory } // writes into requests
	undead        struct{ *fake.Memory } // deletes nothing
	unrefusing    struct{ *fake.Memory } // takes empty requests
	wrongCode     struct{ *fake.Memory } // refuses with another code
	supportsAll   struct{ *fake.Plugin }
	idle          struct{}
	incomparable  struct{ *fake.Memory } // answers by the number of backends made
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

func (b modifiesOnce) Modify(id string, parameters map[string]string) error {
	if v, ok := b.Volume(id); ok && v.Modified != nil {
		return storage.Errorf(storage.InvalidArgument, "nothing to modify")
	}
	return b.Memory.Modify(id, parameters)
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

func (b backwards) Delay(storage.Op, string) time.Duration { return -time.Second }

func (b meddling) Create(req storage.CreateRequest) (storage.Volume, error) {
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

func (b unrefusing) Stage(req storage.NodeRequest) error {
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
		want []string // the checks that must fail, and no others
		text string   // part of what they say
	}{
		{"forgetful", func() storage.Backend { return &forgetful{Memory: driver()} },
			[]string{"Create is idempotent by name", "Create refuses another size under the same name"},
			"want code [AlreadyExists]"},
		{"generous", func() storage.Backend { return generous{driver()} },
			[]string{"Create refuses another size under the same name"}, "Create(2147483648 bytes) after Create(1073741824 bytes) of the same name succeeded"},
		{"stingy", func() storage.Backend { return stingy{driver()} }, []string{"a volume is at least as large as asked"}, "gave 536870912 bytes"},
		{"complains about what is gone", func() storage.Backend { return onceOnly{driver()} },
			[]string{"Delete is idempotent", "an unknown volume is deleted already"}, "no volume backendtest-unknown"},
		{"changing name", func() storage.Backend { return changing{driver()} }, []string{"name is set and stays"}, "want one name"},
		{"panicking", func() storage.Backend { return panicking{fake.CSI("disk.example.com", fake.Only(storage.Attach))} },
			[]string{"an empty request is refused"}, "backend disk.example.com: Attach panicked: runtime error: slice bounds out of range [:1] with length 0"},
		{"publishes without asking", func() storage.Backend { return unstaged{driver()} }, []string{"Publish needs Stage first"}, "Publish before Stage succeeded, want code [FailedPrecondition]"},
		{"shrinking", func() storage.Backend { return shrinking{driver()} }, []string{"Expand never shrinks"}, "after 3221225472"},
		{"modifies once", func() storage.Backend { return modifiesOnce{driver()} }, []string{"Modify is idempotent, or refused as invalid"}, "nothing to modify when repeated"},
		{"forgets data", func() storage.Backend { return amnesiac{driver()} },
			[]string{"data survives the way to another node", "data survives a repeated Publish"}, ""},
		{"one way", func() storage.Backend { return oneWay{driver()} }, []string{"operations come with their opposites"}, "Can(Attach) = true, Can(Detach) = false"},
		{"before it was asked", func() storage.Backend { return backwards{driver()} }, []string{"delays are not negative and stay"}, "Delay(Create) = -1s"},
		{"meddling", func() storage.Backend { return meddling{driver()} }, []string{"a request belongs to the caller"}, "seen:true"},
		{"deletes nothing", func() storage.Backend { return undead{driver()} },
			[]string{"a deleted volume can be made again", "a deleted volume cannot be attached", "a volume made again is empty"}, ""},
		{"takes empty requests", func() storage.Backend { return unrefusing{driver()} }, []string{"an empty request is refused"}, "Stage with an empty request succeeded"},
		{"wrong code", func() storage.Backend { return wrongCode{driver()} }, []string{"Create refuses another size under the same name"}, "(code Internal), want code [AlreadyExists]"},
		{"supports everything", func() storage.Backend { return supportsAll{fake.InTree("kubernetes.io/x")} }, []string{"no source is not supported"}, "want false"},
		{"can do nothing", func() storage.Backend { return idle{} }, []string{"it can do something"}, "implement one of the interfaces"},
		{"answers by address", func() storage.Backend { return incomparable{driver()} }, []string{"the same calls have the same answers"}, ""},
		{"unpublishes once", func() storage.Backend { return unpublishOnce{driver()} }, []string{"Unpublish is idempotent"}, "not mounted"},
		{"refuses nothing", func() storage.Backend { return fake.CSI("disk.example.com", fake.Lenient()) },
			[]string{"a deleted volume cannot be attached", "Publish needs Stage first"}, "Attach of a deleted volume succeeded"},
		{"bad options", func() storage.Backend { return fake.CSI("disk.example.com", fake.MinSize("huge")) }, []string{"name is set and stays"}, `MinSize "huge" is not a size`},
		{"cannot hold it", func() storage.Backend {
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
				t.Errorf("failures do not say %q:\n%s", tt.text, text)
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
	if !slices.Contains(names, "name is set and stays") || !strings.Contains(text, "nil backend") {
		t.Errorf("failing = %v, %s, want every check to tell of the nil backend", names, text)
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
	want := []string{"name is set and stays", "it can do something", "operations come with their opposites", "an empty request is refused"}
	if diff := cmp.Diff(want, names(idle{})); diff != "" {
		t.Errorf("checks of a backend that can do nothing (-want +got):\n%s", diff)
	}
	every := len(checks())
	full := names(fake.CSI("disk.example.com"))
	if left := every - len(full); left != 3 { // Supporter, and the two that recycle
		t.Errorf("%d of %d checks do not apply to a CSI driver, want 3", left, every)
	}
}
