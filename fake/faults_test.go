package fake_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/storage"
)

var (
	errA = storage.Errorf(storage.Internal, "a")
	errB = storage.Errorf(storage.Unavailable, "b")
)

// answers returns the faults of the same call, repeated.
func answers(f *fake.Faults, call api.Call, times int) string {
	var got []string
	for range times {
		switch fault := f.Inject(call); {
		case fault.Crash:
			got = append(got, "crash")
		case fault.Err != nil:
			got = append(got, strings.ToLower(string(storage.CodeOf(fault.Err))))
		case fault.Delay > 0:
			got = append(got, fault.Delay.String())
		default:
			got = append(got, "-")
		}
	}
	return strings.Join(got, " ")
}

func TestFaultOrder(t *testing.T) {
	any := fake.Match{}
	create := api.Call{Target: "disk", Verb: "Create"}
	for _, tt := range []struct {
		name  string
		rules func(f *fake.Faults)
		want  string // the faults of five calls
	}{
		{"no rules", func(f *fake.Faults) {}, "- - - - -"},
		{"no limit by default", func(f *fake.Faults) { f.Fail(any, errA) }, "internal internal internal internal internal"},
		{"the limit removed", func(f *fake.Faults) { f.Fail(any, errA).Times(2).Times(-1) }, "internal internal internal internal internal"},
		{"once", func(f *fake.Faults) { f.Fail(any, errA).Once() }, "internal - - - -"},
		{"twice", func(f *fake.Faults) { f.Fail(any, errA).Times(2) }, "internal internal - - -"},
		{"the first rule is used up first", func(f *fake.Faults) { f.Fail(any, errA).Times(2); f.Fail(any, errB).Once() },
			"internal internal unavailable - -"},
		{"a rule without a limit hides the next", func(f *fake.Faults) { f.Fail(any, errA); f.Fail(any, errB) },
			"internal internal internal internal internal"},
		{"the next rule applies to skipped calls", func(f *fake.Faults) { f.Fail(any, errA).Skip(2); f.Fail(any, errB).Once() },
			"unavailable - internal internal internal"},
		{"a rule for another verb", func(f *fake.Faults) {
			f.Fail(fake.Match{Verb: "Delete"}, errB)
			f.Slow(fake.Match{Verb: "Create"}, time.Second).Once()
		}, "1s - - - -"},
		{"crash", func(f *fake.Faults) { f.Crash(any, time.Minute).Once() }, "crash - - - -"},
		{"cleared", func(f *fake.Faults) { f.Fail(any, errA); f.Clear() }, "- - - - -"},
		{"cleared of one verb", func(f *fake.Faults) {
			f.Fail(fake.Match{Verb: "Create"}, errA)
			f.Fail(any, errB).Once()
			f.Clear("Create", "Delete")
		}, "unavailable - - - -"},
		{"an invalid rule has no effect", func(f *fake.Faults) { f.Fail(fake.Match{Verb: "Make"}, errA) }, "- - - - -"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := fake.NewFaults()
			tt.rules(f)
			if got := answers(f, create, 5); got != tt.want {
				t.Errorf("answers = %s, want %s", got, tt.want)
			}
		})
	}
}

func TestFaultMatch(t *testing.T) {
	call := api.Call{Actor: "attacher", Target: "disk", Verb: "Attach", Key: "v", Node: "n1", Pod: "uid-1"}
	write := api.Call{Actor: "binder", Target: api.APIServer, Verb: "update-status", Kind: "PersistentVolume", Key: "pv1"}
	for _, tt := range []struct {
		match       fake.Match
		call, write bool
	}{
		{fake.Match{}, true, true},
		{fake.Match{Actor: "attacher"}, true, false},
		{fake.Match{Target: "disk"}, true, false},
		{fake.Match{Target: "disk2"}, false, false},
		{fake.Match{Target: "api"}, false, true},
		{fake.Match{Verb: "Attach"}, true, false},
		{fake.Match{Verb: "update-status"}, false, true},
		{fake.Match{Verb: "update"}, false, false},
		{fake.Match{Kind: "PersistentVolume"}, false, true},
		{fake.Match{Key: "v"}, true, false},
		{fake.Match{Node: "n1"}, true, false},
		{fake.Match{Node: "n2"}, false, false},
		{fake.Match{Pod: "uid-1"}, true, false},
		{fake.Match{Pod: "uid-2"}, false, false},
		{fake.Match{Actor: "attacher", Target: "disk", Verb: "Attach", Key: "v", Node: "n1", Pod: "uid-1"}, true, false},
	} {
		for _, c := range []struct {
			call api.Call
			want bool
		}{{call, tt.call}, {write, tt.write}} {
			f := fake.NewFaults()
			f.Fail(tt.match, errA)
			if err := f.Err(); err != nil {
				t.Fatal(err)
			}
			if got := f.Inject(c.call).Err != nil; got != c.want {
				t.Errorf("%+v covers %+v: %t, want %t", tt.match, c.call, got, c.want)
			}
		}
	}
}

func TestFaultKinds(t *testing.T) {
	for _, tt := range []struct {
		name string
		add  func(f *fake.Faults) *fake.Rule
		want api.Fault
		text string
	}{
		{"fail", func(f *fake.Faults) *fake.Rule { return f.Fail(fake.Match{Verb: "Create"}, errA) }, api.Fault{Err: errA},
			"{Verb: Create}: error rpc error: code = Internal desc = a"},
		{"lose", func(f *fake.Faults) *fake.Rule { return f.Lose(fake.Match{}, errA).Once() }, api.Fault{Err: errA, Effect: true},
			"{}: error rpc error: code = Internal desc = a, after taking effect, 0 left"},
		{"slow failure", func(f *fake.Faults) *fake.Rule { return f.Add(fake.Match{}, api.Fault{Err: errA, Delay: time.Second}) },
			api.Fault{Err: errA, Delay: time.Second},
			"{}: delay 1s error rpc error: code = Internal desc = a"},
		{"slow", func(f *fake.Faults) *fake.Rule { return f.Slow(fake.Match{}, time.Second) }, api.Fault{Delay: time.Second}, "{}: delay 1s"},
		{"crash before", func(f *fake.Faults) *fake.Rule { return f.Crash(fake.Match{}, time.Minute) },
			api.Fault{Crash: true, Restart: time.Minute}, "{}: crash, restart after 1m0s"},
		{"crash after", func(f *fake.Faults) *fake.Rule { return f.Add(fake.Match{}, api.Fault{Crash: true, Effect: true}) },
			api.Fault{Crash: true, Effect: true},
			"{}: crash, restart after 0s, after taking effect"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := fake.NewFaults()
			rule := tt.add(f)
			if rule.Fired() != 0 || len(f.Unused()) != 1 {
				t.Errorf("Fired = %d, Unused = %v before any call", rule.Fired(), f.Unused())
			}
			got := f.Inject(api.Call{Verb: "Create"})
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateErrors()); diff != "" {
				t.Errorf("Inject (-want +got):\n%s", diff)
			}
			if got := rule.Describe(); got != tt.text {
				t.Errorf("text = %q, want %q", got, tt.text)
			}
			if rule.Fired() != 1 || f.Unused() != nil {
				t.Errorf("Fired = %d, Unused = %v after one call", rule.Fired(), f.Unused())
			}
		})
	}
}

func TestImpossibleFaults(t *testing.T) {
	failing := api.Fault{Err: errA}
	for _, tt := range []struct {
		name  string
		match fake.Match
		fault api.Fault
		want  string // "" is none
	}{
		{"anything", fake.Match{}, failing, ""},
		{"backend", fake.Match{Target: "disk", Verb: "Publish", Node: "n1", Key: "v"}, failing, ""},
		{"API", fake.Match{Target: "api", Verb: "patch-status", Kind: "Node"}, failing, ""},
		{"unknown verb", fake.Match{Verb: "Mount"}, failing, `fault {Verb: Mount}: unknown verb "Mount": want one of create, update, `},
		{"unknown verb of the API", fake.Match{Target: "api", Verb: "updaet"}, failing, `deletecollection, get, list, bind; did you mean "update"`},
		{"verb of an apply", fake.Match{Kind: "ConfigMap", Verb: "apply"}, failing, "bind; server-side apply is a patch"},
		{"unknown operation", fake.Match{Target: "disk", Verb: "Mount"}, failing, `unknown verb "Mount": want one of Create, Delete, `},
		{"lower case", fake.Match{Target: "disk", Verb: "delete"}, failing, "fault {Target: disk, Verb: delete}: no call matches"},
		{"backend verb at the API", fake.Match{Target: "api", Verb: "Delete"}, failing, "no call matches"},
		{"node at the API", fake.Match{Target: "api", Node: "n1"}, failing, "no call matches"},
		{"pod at the API", fake.Match{Target: "api", Pod: "uid-1"}, failing, "no call matches"},
		{"kind at a backend", fake.Match{Target: "disk", Kind: "Pod"}, failing, "no call matches"},
		{"unknown kind", fake.Match{Kind: "pods"}, failing, `there is no kind "pods"; write it as in a manifest, one of [`},
		{"kind without its group", fake.Match{Kind: "StatefulSet"}, failing, `there is no kind "StatefulSet"; its name here has the group: "StatefulSet.apps"`},
		{"kind without its group, of one of our own", fake.Match{Kind: "VolumeSnapshot"}, failing, `its name here has the group: "VolumeSnapshot.snapshot.storage.k8s.io"`},
		{"custom kind without its group", fake.Match{Kind: "Database"}, failing, `or with its group, as in "StatefulSet.apps"`},
		{"key without a namespace", fake.Match{Kind: "PersistentVolumeClaim", Key: "data"}, failing,
			`the key "data" of a PersistentVolumeClaim has no namespace; want namespace/name (a list has only the namespace: set Verb to list)`},
		{"key with a namespace", fake.Match{Kind: "PersistentVolumeClaim", Key: "default/data"}, failing, ""},
		{"key of a kind without namespaces", fake.Match{Kind: "PersistentVolume", Key: "data"}, failing, ""},
		{"namespace of a list", fake.Match{Kind: "Pod", Verb: "list", Key: "default"}, failing, ""},
		{"no fault", fake.Match{}, api.Fault{}, "fault {}: nothing fails; set Err, Crash or Delay"},
		{"effect alone", fake.Match{}, api.Fault{Effect: true}, "an effect without an error or a crash; set Err or Crash"},
		{"negative delay", fake.Match{}, api.Fault{Delay: -1}, "a delay of -1ns; it must not be negative"},
		{"negative restart", fake.Match{}, api.Fault{Crash: true, Restart: -1}, "a restart after -1ns; it must not be negative"},
		{"restart without crash", fake.Match{}, api.Fault{Err: errA, Restart: 1}, "a restart without a crash; set Crash"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := fake.NewFaults()
			f.Add(tt.match, tt.fault)
			err := f.Err()
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("Add = %v, want %q", err, tt.want)
			}
		})
	}
}

func TestFaultErrors(t *testing.T) {
	f := fake.NewFaults()
	f.Fail(fake.Match{}, nil)
	f.Fail(fake.Match{}, errA).Times(0).Once()
	f.Fail(fake.Match{}, errA).Times(-2).Once()
	f.Fail(fake.Match{}, errA).Skip(-1).Once()
	f.Add(fake.Match{}, api.Fault{Err: errA, Delay: -1}).Once()
	f.Add(fake.Match{}, api.Fault{Delay: 1, Effect: true}).Once()
	want := []string{
		"fault {}: nothing fails; set Err, Crash or Delay",
		"fault {}: Times(0); give 1 or more, or -1 for no limit",
		"fault {}: Times(-2); give 1 or more, or -1 for no limit",
		"fault {}: Skip(-1); give 0 or more",
		"fault {}: a delay of -1ns; it must not be negative",
		"fault {}: an effect without an error or a crash; set Err or Crash",
	}
	if diff := cmp.Diff(strings.Join(want, "\n"), fmt.Sprint(f.Err())); diff != "" {
		t.Errorf("Err (-want +got):\n%s", diff)
	}
	f.Clear()
	if err := f.Err(); err != nil {
		t.Errorf("Err after Clear = %v, want nil", err)
	}
	var zero fake.Faults
	if fault := zero.Inject(api.Call{}); fault.Err != nil || errors.Is(zero.Err(), errA) {
		t.Errorf("the zero Faults injects %+v", fault)
	}
}

// Active holds while a rule that is not used up may match a request of the actor to the API server, even if other rules apply first.
func TestActive(t *testing.T) {
	get := fake.Match{Actor: "kubelet/n1", Target: api.APIServer, Verb: "get"}
	for _, tt := range []struct {
		name  string
		rules func(f *fake.Faults)
		calls int // that were made
		want  bool
	}{
		{"no rules", func(*fake.Faults) {}, 0, false},
		{"a rule for all", func(f *fake.Faults) { f.Fail(fake.Match{}, errA) }, 5, true},
		{"a rule for the actor", func(f *fake.Faults) { f.Fail(get, errA) }, 5, true},
		{"a rule for another actor", func(f *fake.Faults) { f.Fail(fake.Match{Actor: "kubelet/n2"}, errA) }, 0, false},
		{"a rule for a verb of backends", func(f *fake.Faults) { f.Fail(fake.Match{Verb: "Delete"}, errA) }, 0, false},
		{"a rule for a backend", func(f *fake.Faults) { f.Fail(fake.Match{Target: "disk.example.com"}, errA) }, 0, false},
		{"a rule that is not used up", func(f *fake.Faults) { f.Fail(get, errA).Times(2) }, 1, true},
		{"a rule that is used up", func(f *fake.Faults) { f.Fail(get, errA).Times(2) }, 2, false},
		{"a rule that skips calls", func(f *fake.Faults) { f.Slow(get, time.Second).Skip(3).Once() }, 2, true},
		{"a rule behind another", func(f *fake.Faults) { f.Fail(get, errA).Once(); f.Fail(get, errB).Once() }, 1, true},
		{"cleared", func(f *fake.Faults) { f.Fail(get, errA); f.Clear() }, 0, false},
		{"an invalid rule", func(f *fake.Faults) { f.Fail(fake.Match{Verb: "Make"}, errA) }, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := fake.NewFaults()
			tt.rules(f)
			answers(f, get, tt.calls)
			for range 2 { // Active does not change the rules
				if got := f.Active("kubelet/n1"); got != tt.want {
					t.Errorf("Active = %t, want %t", got, tt.want)
				}
			}
		})
	}
}
