package engine_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/trace"
)

var update = flag.Bool("update", false, "write the golden files anew")

func volume(name string) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{
			AccessModes:            []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Capacity:               corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/srv/<" + name + ">"}},
		},
	}
}

// tellStory runs something with every sort of entry in its trace.
func tellStory(t *testing.T) *trace.Trace {
	t.Helper()
	log := &trace.Trace{}
	calls := 0
	e := newEngine(t, engine.Config{Trace: log, Injector: engine.InjectorFunc(func(c api.Call) api.Fault {
		calls++
		switch {
		case calls == 1:
			return api.Fault{Delay: 250 * time.Millisecond, Err: errors.New("connection reset"), Effect: true}
		case c.Verb == "delete":
			return api.Fault{Crash: true, Restart: time.Hour}
		}
		return api.Fault{}
	})})
	lives := 0
	startActor(t, e, "persistentvolume-controller", func(a *engine.Actor) {
		if lives++; lives > 1 {
			return
		}
		recorder := a.NewRecorder("persistentvolume-controller")
		queue := a.NewQueue(engine.QueueConfig{Name: "volumes", Sync: func(p *engine.Process, key string) error {
			pv, _ := e.Store().Volumes.Lookup(key)
			p.Decide("BIND-062", pv, "synchronizing %s: volume is unused", api.PersistentVolume)
			changed := pv.DeepCopy()
			changed.Status.Phase = corev1.VolumeAvailable
			changed.Status.Message = "seen at " + p.Now().Format(time.TimeOnly+".000")
			if _, err := p.API().Volumes.UpdateStatus(p, changed); err != nil {
				return err
			}
			recorder.Event(p, pv, corev1.EventTypeWarning, "VolumeMismatch", "first line\nand a \"second\"")
			if _, err := p.API().Volumes.UpdateStatus(p, changed); err == nil {
				t.Errorf("an update of a stale version: no error")
			}
			pv, _ = e.Store().Volumes.Lookup(key)
			if _, err := p.API().Volumes.UpdateStatus(p, pv); err != nil {
				t.Errorf("an update that changes nothing: %v", err)
			}
			return nil
		}})
		a.After(5*time.Second, "sync", func(*engine.Process) { queue.Add("pv1") })
		operations := a.NewNestedOperations()
		a.After(time.Minute, "attach", func(*engine.Process) {
			_ = operations.Run(engine.OperationKey{Volume: "attach-pv1"}, "attach-pv1", func(p *engine.Process) error {
				call := api.Call{Target: "csi.test", Verb: "Attach", Key: "vol-1", Node: "n1"}
				if err := p.Backend(call, 100*time.Millisecond, func() error { return nil }); err != nil {
					t.Errorf("Attach: %v", err)
				}
				p.Decide("ATT-001", nil, "nothing in particular")
				call.Verb = "Stage"
				return p.Backend(call, 0, func() error { return errors.New("no such device") })
			})
		})
		a.After(time.Hour, "delete", func(p *engine.Process) { _, _ = p.API().Nodes.Delete(p, "n1", api.DeleteOptions{}) })
	})
	startActor(t, e, "kubelet/n1", func(a *engine.Actor) {})
	create := func(obj api.Object) {
		if _, err := e.API().Create(e.User(), obj, store.CreateOptions{}); err != nil {
			t.Fatalf("create: %v", err)
		}
	}
	create(volume("pv1"))
	create(node("n1", nil))
	create(node("n2", nil))
	pv, err := e.API().Volumes.Patch(e.User(), "pv1", []byte(`{"metadata":{"annotations":{"example.com/a":"b c","plain":""}}}`), api.Main)
	if err != nil {
		t.Fatalf("patch of %v: %v", pv, err)
	}
	e.Advance(30 * time.Minute)
	if _, err := e.API().Nodes.Delete(e.User(), "n2", api.DeleteOptions{}); err != nil {
		t.Fatalf("delete: %v", err)
	}
	e.Advance(2 * time.Hour)
	return log
}

// TestEntryString compares entries by themselves with their lines in the whole trace.
func TestEntryString(t *testing.T) {
	log := tellStory(t)
	var text bytes.Buffer
	if err := log.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
	if len(lines) != log.Len() || len(lines) == 0 {
		t.Fatalf("there are %d lines for %d entries", len(lines), log.Len())
	}
	i := 0
	for e := range log.Entries() {
		_, behind, found := strings.Cut(lines[i], " "+e.Actor+" ")
		if got := e.String(); !found || strings.TrimLeft(behind, " ") != got || strings.ContainsAny(got, "\r\n") {
			t.Errorf("entry %d is %q, and its line %q", e.Seq, got, lines[i])
		}
		i++
	}
}

func TestGoldenTraces(t *testing.T) {
	log, again := tellStory(t), tellStory(t)
	tests := []struct {
		file  string
		write func(*trace.Trace, io.Writer) error
	}{
		{"trace.txt", (*trace.Trace).WriteText},
		{"trace.jsonl", (*trace.Trace).WriteJSON},
	}
	for _, test := range tests {
		var got, second bytes.Buffer
		if err := test.write(log, &got); err != nil {
			t.Errorf("%s: %v", test.file, err)
		}
		if err := test.write(again, &second); err != nil || !bytes.Equal(got.Bytes(), second.Bytes()) {
			t.Errorf("%s: the same run gave other bytes, or an error: %v", test.file, err)
		}
		path := filepath.Join("testdata", test.file)
		if *update {
			if err := os.MkdirAll("testdata", 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got.String()); diff != "" {
			t.Errorf("%s (-want +got, to accept: go test ./engine -run Golden -update):\n%s", test.file, diff)
		}
		if err := test.write(log, brokenPipe{}); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("%s into a closed pipe: %v, want that error", test.file, err)
		}
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// Each line is JSON, and the patches lead from one version to the next.
func TestWriteJSONIsJSON(t *testing.T) {
	var out strings.Builder
	if err := tellStory(t).WriteJSON(&out); err != nil {
		t.Fatal(err)
	}
	pv := map[string]any{}
	for line := range strings.Lines(out.String()) {
		var entry struct {
			Type    string
			Object  struct{ Kind, Key string }
			Outcome string
			Patch   map[string]any
		}
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		if entry.Object.Kind == "PersistentVolume" && entry.Type == "write" && entry.Outcome != "refused" {
			merge(pv, entry.Patch)
		}
	}
	if status, _ := pv["status"].(map[string]any); status["phase"] != "Available" {
		t.Errorf("the patches lead to %v, want an available volume", pv)
	}
	if spec, _ := pv["spec"].(map[string]any); spec["persistentVolumeReclaimPolicy"] != "Retain" {
		t.Errorf("the patches lead to %v, want a volume with a reclaim policy", pv)
	}
}

func merge(target, patch map[string]any) {
	for key, value := range patch {
		inner, isMap := value.(map[string]any)
		old, wasMap := target[key].(map[string]any)
		switch {
		case value == nil:
			delete(target, key)
		case isMap && wasMap:
			merge(old, inner)
		default:
			target[key] = value
		}
	}
}

// With a limit the newest entries are kept; times still count from the start of the engine.
func TestTraceLimit(t *testing.T) {
	var sunk []uint64
	log := &trace.Trace{Limit: 3, Sink: func(e trace.Entry) { sunk = append(sunk, e.Seq) }}
	e := newEngine(t, engine.Config{Trace: log})
	startActor(t, e, "a", func(a *engine.Actor) {
		a.Go("decide", func(p *engine.Process) {
			if !p.Tracing() {
				t.Errorf("Tracing() = false")
			}
			for range 6 {
				p.Sleep(time.Second)
				p.Decide("BIND-091", nil, "100%")
			}
		})
	})
	if e.Trace() != log {
		t.Errorf("Trace() is not that of the configuration")
	}
	e.Advance(time.Minute)
	var out strings.Builder
	if err := log.WriteText(&out); err != nil {
		t.Fatal(err)
	}
	if want := "+4s         a  BIND-091 100%\n+5s         a  BIND-091 100%\n+6s         a  BIND-091 100%\n"; out.String() != want {
		t.Errorf("got:\n%swant:\n%s", out.String(), want)
	}
	if log.Len() != 3 || log.Seq() != 7 || len(sunk) != 7 {
		t.Errorf("Len %d, Seq %d, %d sunk; want 3, 7, 7", log.Len(), log.Seq(), len(sunk))
	}
	var since []uint64
	for entry := range log.Since(6) {
		since = append(since, entry.Seq)
	}
	if diff := cmp.Diff([]uint64{7}, since); diff != "" {
		t.Errorf("Since(6) (-want +got):\n%s", diff)
	}
	for range log.Entries() {
		break // a walk may end early
	}
}

func TestEmptyTrace(t *testing.T) {
	var out strings.Builder
	var log trace.Trace
	for _, write := range []func(io.Writer) error{log.WriteText, log.WriteJSON} {
		if err := write(&out); err != nil || out.Len() != 0 {
			t.Errorf("an empty trace gave %q and error %v, want nothing", out.String(), err)
		}
	}
}
