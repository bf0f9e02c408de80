package explore

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/trace"
)

// skippedFields are the fields of a trace entry that do not belong to a state, with the reasons.
var skippedFields = map[string]string{
	"Seq":      "follows from how many entries there were",
	"Activity": "counts processes: runs that differ in nothing else differ in it",
	"Cause":    "counts processes as well",
	"Old":      "is the New of the last write of the object, or what it was at the beginning",
}

// fill gives a field a value that is not its zero value.
func fill(t *testing.T, name string, v reflect.Value) {
	t.Helper()
	switch {
	case v.Kind() == reflect.String:
		v.SetString("x")
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.Type() == reflect.TypeFor[*trace.Detach]():
		v.Set(reflect.ValueOf(&trace.Detach{Volume: "x"}))
	case v.CanUint():
		v.SetUint(7)
	case v.Type() == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(engine.DefaultStart))
	case v.Type() == reflect.TypeFor[error]():
		v.Set(reflect.ValueOf(errors.New("no luck")))
	case v.Type() == reflect.TypeFor[api.Object]():
		v.Set(reflect.ValueOf(fake.Volume("x", "1Gi")))
	default:
		t.Fatalf("%s is a %v: add this kind to fill", name, v.Type())
	}
}

// fields walks the fields of a struct, with those of the structs in it.
func fields(v reflect.Value, name string, yield func(name string, field reflect.Value)) {
	if v.Kind() != reflect.Struct || v.Type() == reflect.TypeFor[time.Time]() {
		yield(name, v)
		return
	}
	if name != "" {
		name += "."
	}
	for i := range v.NumField() {
		fields(v.Field(i), name+v.Type().Field(i).Name, yield)
	}
}

// TestEntryFields checks that every field of a trace entry changes the state, except those in skippedFields.
func TestEntryFields(t *testing.T) {
	run, err := newModel(t, func(*fixture) {})(nil)
	require.NoError(t, err)
	defer run.Engine.Close()
	tracker := newTracker(run, func(api.Kind, api.Object) {}, actorSets{})
	digests := map[digest]string{tracker.entry(digest{}, trace.Entry{}): "an empty entry"}
	fields(reflect.ValueOf(trace.Entry{}), "", func(name string, _ reflect.Value) {
		var e trace.Entry
		fields(reflect.ValueOf(&e).Elem(), "", func(other string, field reflect.Value) {
			if other == name {
				fill(t, name, field)
			}
		})
		d := tracker.entry(digest{}, e)
		same, known := digests[d]
		if _, ok := skippedFields[name]; ok {
			require.Truef(t, known, "%s changes the state", name)
			return
		}
		require.Falsef(t, known, "an entry with %s is taken for %s", name, same)
		digests[d] = "one with " + name
	})
	for _, e := range []trace.Entry{{New: fake.Volume("y", "1Gi")}, {New: fake.Volume("x", "2Gi")}, {Err: errors.New("worse luck")}} {
		d := tracker.entry(digest{}, e)
		require.Empty(t, digests[d], "entries that differ in objects or errors differ")
		digests[d] = "another"
	}
}

// TestReadByInvariants checks which entries invariants may depend on.
func TestReadByInvariants(t *testing.T) {
	old, now := fake.Volume("a", "1Gi"), fake.Volume("a", "2Gi")
	for _, tt := range []struct {
		name  string
		entry trace.Entry
		want  bool
	}{
		{"a write", trace.Entry{Type: trace.Write, Old: old, New: now}, true},
		{"a creation", trace.Entry{Type: trace.Write, New: now}, true},
		{"a deletion", trace.Entry{Type: trace.Write, Old: old}, true},
		{"a write that changes nothing", trace.Entry{Type: trace.Write, Old: old, New: old}, false},
		{"a rejected write", trace.Entry{Type: trace.Write, Old: old, New: now, Err: errors.New("no luck")}, false},
		{"a call", trace.Entry{Type: trace.Storage}, true},
		{"a fault", trace.Entry{Type: trace.Injected}, true},
		{"a start", trace.Entry{Type: trace.Started}, true},
		{"a crash", trace.Entry{Type: trace.Crashed}, true},
		{"a decision", trace.Entry{Type: trace.Decision, Rule: "ATT-001"}, false},
		{"a decision to detach", trace.Entry{Type: trace.Decision, Detach: &trace.Detach{}}, false},
		{"a decision to detach by force", trace.Entry{Type: trace.Decision, Detach: &trace.Detach{Forced: true}}, true},
		{"an Event", trace.Entry{Type: trace.Emitted}, false},
		{"a failed key", trace.Entry{Type: trace.KeyFailed}, false},
		{"a failed operation", trace.Entry{Type: trace.OperationFailed}, false},
	} {
		if got := readByInvariants(tt.entry); got != tt.want {
			t.Errorf("readByInvariants(%s) = %t, want %t", tt.name, got, tt.want)
		}
	}
}

// TestOrderedWithoutTrace checks the error for a run that reads the order of Events without a trace.
func TestOrderedWithoutTrace(t *testing.T) {
	_, err := Exhaustive(newModel(t, func(s *fixture) { s.run.Ordered = true }), Options{})
	require.ErrorContains(t, err, "set engine.Config.Trace")
}
