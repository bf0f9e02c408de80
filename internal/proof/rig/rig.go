// Package rig is the test fixture of controllers: an engine whose calls can fail, edits that fail the test, and a log.
//
// A package's fixture embeds a Rig and adds its controllers, its usual objects, and the format of a line of the log.
package rig

import (
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

// Rig is an engine with a trace, and a log that begins at a mark. Its methods fail the test. Edits are the user's.
type Rig struct {
	*engine.Engine
	T      testing.TB
	Faults *fake.Faults
	// Begin is the time of the last mark, from which the log counts.
	Begin time.Time
	seen  uint64
}

// New returns a Rig with a new engine. Without an injector in the configuration the engine asks Rig.Faults.
func New(t testing.TB, cfg engine.Config) *Rig {
	t.Helper()
	r := &Rig{T: t, Faults: fake.NewFaults()}
	if cfg.Trace == nil {
		cfg.Trace = &trace.Trace{}
	}
	if cfg.Injector == nil {
		cfg.Injector = r.Faults
	}
	e, err := engine.New(cfg)
	r.OK(err)
	r.Engine = e
	r.Mark()
	return r
}

// Backends returns a set of backends.
func Backends(t testing.TB, all ...storage.Backend) *backends.Set {
	t.Helper()
	set, err := backends.NewSet(all...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// OK fails the test if there is an error.
func (r *Rig) OK(err error) {
	r.T.Helper()
	if err != nil {
		r.T.Fatal(err)
	}
}

// Create creates copies of the objects.
func (r *Rig) Create(objs ...api.Object) {
	r.T.Helper()
	for _, obj := range objs {
		r.OK(fake.Err(obj))
		if _, err := r.API().Create(r.User(), copyOf(obj), store.CreateOptions{}); err != nil {
			r.T.Fatalf("create %s: %v", api.RefTo(obj), err)
		}
	}
}

// Load stores copies of the objects as they are, with their status.
func (r *Rig) Load(objs ...api.Object) {
	r.T.Helper()
	for _, obj := range objs {
		r.OK(fake.Err(obj))
		if _, err := r.API().Load(r.User(), copyOf(obj)); err != nil {
			r.T.Fatalf("load %s: %v", api.RefTo(obj), err)
		}
	}
}

func copyOf(obj api.Object) api.Object { return obj.DeepCopyObject().(api.Object) }

// Patch applies a merge patch.
func (r *Rig) Patch(kind api.Kind, key, patch string) {
	r.T.Helper()
	r.patch(api.Ref{Kind: kind, Key: key}, patch, api.Main)
}

// PatchStatus applies a merge patch to the status.
func (r *Rig) PatchStatus(kind api.Kind, key, patch string) {
	r.T.Helper()
	r.patch(api.Ref{Kind: kind, Key: key}, patch, api.Status)
}

func (r *Rig) patch(ref api.Ref, patch string, sub api.Subresource) {
	r.T.Helper()
	if _, err := r.API().Patch(r.User(), ref, []byte(patch), sub); err != nil {
		r.T.Fatalf("patch %s: %v", ref, err)
	}
}

// Delete deletes an object; a pod gets its grace period.
func (r *Rig) Delete(kind api.Kind, key string) {
	r.T.Helper()
	r.delete(kind, key, api.DeleteOptions{})
}

// DeleteNow deletes an object without a grace period.
func (r *Rig) DeleteNow(kind api.Kind, key string) {
	r.T.Helper()
	r.delete(kind, key, api.DeleteOptions{GracePeriodSeconds: new(int64(0))})
}

func (r *Rig) delete(kind api.Kind, key string, opts api.DeleteOptions) {
	r.T.Helper()
	ref := api.Ref{Kind: kind, Key: key}
	if _, err := r.API().Delete(r.User(), ref, opts); err != nil {
		r.T.Fatalf("delete %s: %v", ref, err)
	}
}

// Elapsed returns the virtual time since the engine started.
func (r *Rig) Elapsed() time.Duration { return r.Now().Sub(engine.DefaultStart) }

// Mark begins a new log here. Its times count from now.
func (r *Rig) Mark() { r.Begin, r.seen = r.Now(), r.Trace().Seq() }

// Since iterates over the entries of the trace since the mark.
func (r *Rig) Since() iter.Seq[trace.Entry] { return r.Trace().Since(r.seen) }

// Lines returns the entries of the trace since the mark for which line returns a text.
func (r *Rig) Lines(line func(trace.Entry) string) []string {
	var lines []string
	for e := range r.Since() {
		if text := line(e); text != "" {
			lines = append(lines, text)
		}
	}
	return lines
}

// Log returns Lines with the time since the mark before each, and begins a new log from which times go on.
func (r *Rig) Log(line func(trace.Entry) string) []string {
	lines := r.Lines(func(e trace.Entry) string {
		text := line(e)
		if text != "" {
			text = e.Time.Sub(r.Begin).String() + " " + text
		}
		return text
	})
	r.seen = r.Trace().Seq()
	return lines
}

// Want compares lines.
func (r *Rig) Want(what string, got []string, want ...string) {
	r.T.Helper()
	if !slices.Equal(got, want) {
		r.T.Errorf("%s:\n\t%s\nwant:\n\t%s", what, strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}
