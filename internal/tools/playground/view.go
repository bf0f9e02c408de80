package playground

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/objname"
	"github.com/volsim/volsim/internal/tools/kubectl"
	"github.com/volsim/volsim/trace"
)

// first are the kinds whose tables come first, in this order; the others follow by name.
var first = []api.Kind{
	api.PersistentVolumeClaim, api.PersistentVolume, api.Pod, api.Node, api.VolumeAttachment, api.StorageClass,
}

// hidden are kinds whose objects only repeat what others show.
var hidden = []api.Kind{"Lease.coordination.k8s.io", "ControllerRevision.apps", "Endpoints", "EndpointSlice.discovery.k8s.io", "Namespace"}

// table is a table of kubectl.
type table struct {
	Kind    string   `json:"kind"`
	Columns []string `json:"columns"`
	Rows    []row    `json:"rows"`
}

// row is one object. Tone says how its state is shown: good, waiting, bad or none.
type row struct {
	Object string   `json:"object"`
	Cells  []string `json:"cells"`
	Tone   string   `json:"tone"`
	Ends   bool     `json:"ends,omitempty"` // it is being deleted
}

// viewAnswer holds the objects at one moment of a run.
type viewAnswer struct {
	Tick   int     `json:"tick"`
	Ticks  int     `json:"ticks"`
	Now    string  `json:"now"`
	Offset string  `json:"offset"`
	Line   int     `json:"line"`
	Tables []table `json:"tables"`
	// Events are the last Events, newest first.
	Events []string `json:"events"`
}

type viewArgs struct {
	Run  string `json:"run"`
	Tick int    `json:"tick"`
}

// shownEvents is the number of Events in a view.
const shownEvents = 30

// view returns the tables at a moment.
func (s *Server) view(a viewArgs) (any, error) {
	r, err := s.run(a.Run)
	if err != nil {
		return nil, err
	}
	a.Tick = min(max(a.Tick, 0), len(r.ticks)-1)
	t := r.ticks[a.Tick]
	now := r.session.Start().Add(time.Duration(t.at))
	view := viewAnswer{
		Tick: a.Tick, Ticks: len(r.ticks), Now: now.Format(time.RFC3339Nano), Offset: "+" + time.Duration(t.at).String(), Line: t.line,
		Tables: []table{}, Events: []string{},
	}
	objs := objectsAt(r.session.Cluster().Trace(), t.seq)
	kinds := slices.Clone(first)
	for _, obj := range objs {
		kind := api.KindOf(obj)
		if !slices.Contains(kinds, kind) && !slices.Contains(hidden, kind) && kind != api.Event {
			kinds = append(kinds, kind)
		}
	}
	slices.Sort(kinds[len(first):])
	for _, kind := range kinds {
		if shown := tableOf(kind, objs, now); len(shown.Rows) > 0 {
			if kind == api.Node {
				shown.addMachines(machinesAt(r.session.Cluster().Trace(), t))
			}
			view.Tables = append(view.Tables, shown)
		}
	}
	for _, obj := range objs {
		if e, ok := obj.(*corev1.Event); ok {
			about := strings.ToLower(e.InvolvedObject.Kind) + "/" + e.InvolvedObject.Name
			view.Events = append(view.Events, fmt.Sprintf("%s %s %s: %s", e.Type, e.Reason, about, e.Message))
		}
	}
	slices.Reverse(view.Events)
	view.Events = view.Events[:min(len(view.Events), shownEvents)]
	return view, nil
}

// objectsAt returns the objects that exist after an entry of the trace, in the order of their creation.
func objectsAt(t *trace.Trace, seq uint64) []api.Object {
	var order []api.Ref
	found := make(map[api.Ref]api.Object)
	for e := range t.Entries() {
		if e.Seq > seq {
			break
		}
		if e.Type != trace.Write || e.Err != nil {
			continue
		}
		if objects.IsNil(e.New) {
			delete(found, e.Object)
			continue
		}
		if _, ok := found[e.Object]; !ok {
			order = append(order, e.Object)
		}
		found[e.Object] = e.New
	}
	var objs []api.Object
	for _, ref := range order {
		if obj, ok := found[ref]; ok {
			objs = append(objs, obj)
			delete(found, ref) // it may be in the order twice
		}
	}
	return objs
}

// machinesAt says what is wrong with the machine of a node at a moment, by the name of the node. The Node object may not show it yet.
func machinesAt(tr *trace.Trace, t tick) map[string]string {
	found := make(map[string]string)
	for e := range tr.Entries() {
		if e.Seq > t.seq {
			break
		}
		actor, node, _ := strings.Cut(e.Actor, "/")
		switch {
		case actor != "machine" && actor != "kubelet":
		case e.Type == trace.Started:
			delete(found, node)
		case e.Type == trace.Crashed && actor == "machine":
			found[node] = "no power"
		case e.Type == trace.Crashed:
			found[node] = "kubelet down"
		}
	}
	for _, node := range t.cut {
		if found[node] == "" {
			found[node] = "cut off"
		}
	}
	return found
}

// addMachines adds a column to the table of Nodes, if something is wrong with a machine.
func (t *table) addMachines(wrong map[string]string) {
	cells := make([]string, len(t.Rows))
	for i, r := range t.Rows {
		cells[i] = wrong[strings.TrimPrefix(r.Object, "node/")]
	}
	if strings.Join(cells, "") == "" {
		return
	}
	t.Columns = append(t.Columns, "MACHINE")
	for i := range t.Rows {
		if cells[i] != "" {
			t.Rows[i].Tone = "bad"
		}
		t.Rows[i].Cells = append(t.Rows[i].Cells, cells[i])
	}
}

// tableOf returns the table of the objects of a kind, sorted by name.
func tableOf(kind api.Kind, objs []api.Object, now time.Time) table {
	t := table{Kind: string(kind)}
	columns := slices.DeleteFunc(slices.Clone(kubectl.Columns(kind)), func(c kubectl.Column) bool { return c.Wide })
	for _, c := range columns {
		t.Columns = append(t.Columns, strings.ToUpper(c.Name))
	}
	for _, obj := range objs {
		if api.KindOf(obj) != kind {
			continue
		}
		name := objname.Of(api.RefTo(obj))
		next := row{Object: name, Tone: toneOf(obj), Ends: obj.GetDeletionTimestamp() != nil}
		if next.Ends && next.Tone == "good" {
			next.Tone = "waiting"
		}
		for i, c := range columns {
			cell := c.Text(obj, now)
			if i == 0 && obj.GetNamespace() != "" && obj.GetNamespace() != "default" {
				cell = obj.GetNamespace() + "/" + cell
			}
			next.Cells = append(next.Cells, cell)
		}
		t.Rows = append(t.Rows, next)
	}
	slices.SortFunc(t.Rows, func(a, b row) int { return strings.Compare(a.Object, b.Object) })
	return t
}

// toneOf says how the state of an object is shown.
func toneOf(obj api.Object) string {
	switch obj := obj.(type) {
	case *corev1.PersistentVolumeClaim:
		switch obj.Status.Phase {
		case corev1.ClaimBound:
			return "good"
		case corev1.ClaimLost:
			return "bad"
		}
		return "waiting"
	case *corev1.PersistentVolume:
		switch obj.Status.Phase {
		case corev1.VolumeBound, corev1.VolumeAvailable:
			return "good"
		case corev1.VolumeFailed:
			return "bad"
		}
		return "waiting"
	case *corev1.Pod:
		switch obj.Status.Phase {
		case corev1.PodRunning, corev1.PodSucceeded:
			return "good"
		case corev1.PodFailed, corev1.PodUnknown:
			return "bad"
		}
		return "waiting"
	case *corev1.Node:
		for _, c := range obj.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
				return "good"
			}
		}
		return "bad"
	}
	return "none"
}

type objectArgs struct {
	Run    string `json:"run"`
	Tick   int    `json:"tick"`
	Object string `json:"object"`
}

// explain returns the explanation of an object at a moment, as the command prints it.
func (s *Server) explain(a objectArgs) (any, error) {
	r, err := s.run(a.Run)
	if err != nil {
		return nil, err
	}
	at, err := r.at(a.Tick)
	if err != nil {
		return nil, err
	}
	x, err := at.session.Cluster().Explain(a.Object)
	if err != nil {
		return nil, err
	}
	return x.String(), nil
}

// at returns a run whose cluster is as it was at a moment.
func (r *Run) at(i int) (*Run, error) {
	if i >= len(r.ticks)-1 {
		return r, nil
	}
	if r.probe != nil && r.probe.tick == i {
		return r.probe.run, nil
	}
	earlier, err := newRun(r.name, r.prefix(i), r.seed)
	if err != nil {
		return nil, err
	}
	if r.probe != nil {
		r.probe.run.close()
	}
	r.probe = &probe{tick: i, run: earlier}
	return earlier, nil
}

// object returns an object at a moment as YAML.
func (s *Server) object(a objectArgs) (any, error) {
	r, err := s.run(a.Run)
	if err != nil {
		return nil, err
	}
	a.Tick = min(max(a.Tick, 0), len(r.ticks)-1)
	for _, obj := range objectsAt(r.session.Cluster().Trace(), r.ticks[a.Tick].seq) {
		if objname.Of(api.RefTo(obj)) != a.Object {
			continue
		}
		doc, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
		if err != nil {
			return nil, err
		}
		if meta, ok := doc["metadata"].(map[string]any); ok {
			delete(meta, "managedFields")
		}
		gvk := apiVersion(obj)
		doc["apiVersion"], doc["kind"] = gvk[0], gvk[1]
		data, err := yaml.Marshal(doc)
		return string(data), err
	}
	return nil, fmt.Errorf("%s does not exist at that moment", a.Object)
}
