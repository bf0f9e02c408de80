package rundiff

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objname"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/trace"
)

// Part is a part of a run that is compared.
type Part string

// Parts of a run. Calls and Trace need the traces of both runs.
const (
	Objects Part = "objects"
	Events  Part = "events"
	Calls   Part = "calls"
	Trace   Part = "trace"
)

// Parts returns all parts.
func Parts() []Part { return []Part{Objects, Events, Calls, Trace} }

// Difference is the result of Compare. Names are those of A.
type Difference struct {
	A Side `json:"a"`
	B Side `json:"b"`
	// Same reports whether nothing differs. A different order at the same time is no difference.
	Same bool `json:"same"`
	// Objects lists the objects that differ at the end, by kind and name.
	Objects []Object `json:"objects,omitempty"`
	// Events and Calls list those that occurred a different number of times.
	Events []Count `json:"events,omitempty"`
	Calls  []Count `json:"calls,omitempty"`
	// Divergence is where the traces diverge; nil if they do not.
	Divergence *Divergence `json:"divergence,omitempty"`
	// Reordered is the first entry before that whose order differs; nil if there is none.
	Reordered *Entry `json:"reordered,omitempty"`
}

// Side describes one of the two runs.
type Side struct {
	Name     string   `json:"name"`
	Failures []string `json:"failures,omitempty"`
}

// Object is an object that differs.
type Object struct {
	// Name is its name in A, such as pvc/default/data; NameInB its name in B if that differs.
	Name    string `json:"name"`
	NameInB string `json:"nameInB,omitempty"`
	// OnlyIn is "a" or "b" for an object that only one side has.
	OnlyIn string `json:"onlyIn,omitempty"`
	// Fields lists the fields that differ, by path.
	Fields []Field `json:"fields,omitempty"`
}

// Count is an Event or call that occurred a different number of times.
type Count struct {
	What string `json:"what"`
	A    int    `json:"a"`
	B    int    `json:"b"`
}

// Compare compares the given parts of two runs; without parts, all. The error names an object that could not be encoded.
func Compare(a, b Run, parts ...Part) (*Difference, error) {
	if len(parts) == 0 {
		parts = Parts()
	}
	d := &Difference{A: Side{a.Name, a.Failures}, B: Side{b.Name, b.Failures}}
	n := align(a, b)
	if slices.Contains(parts, Objects) {
		var err error
		if d.Objects, err = compareObjects(a.Objects, b.Objects, n); err != nil {
			return nil, err
		}
	}
	if slices.Contains(parts, Events) {
		d.Events = compareCounts(countEvents(a.Objects, nil), countEvents(b.Objects, n))
	}
	if a.Trace != nil && b.Trace != nil {
		if slices.Contains(parts, Calls) {
			d.Calls = compareCounts(countCalls(a.Trace, nil), countCalls(b.Trace, n))
		}
		if slices.Contains(parts, Trace) {
			d.Divergence, d.Reordered = findDivergence(a, b, n)
		}
	}
	d.Same = len(d.Objects)+len(d.Events)+len(d.Calls) == 0 && d.Divergence == nil && slices.Equal(a.Failures, b.Failures)
	return d, nil
}

// compareObjects matches the objects by name and returns those that differ.
func compareObjects(a, b []api.Object, n *names) ([]Object, error) {
	inA, err := documents(a, nil)
	if err != nil {
		return nil, err
	}
	inB, err := documents(b, n)
	if err != nil {
		return nil, err
	}
	all := maps.Clone(inA)
	maps.Copy(all, inB)
	var differ []Object
	for _, ref := range slices.SortedFunc(maps.Keys(all), byKind) {
		object := Object{Name: objname.Of(ref)}
		x, hasA := inA[ref]
		y, hasB := inB[ref]
		if hasB && y.name != object.Name {
			object.NameInB = y.name
		}
		switch {
		case !hasB:
			object.OnlyIn = "a"
		case !hasA:
			object.OnlyIn = "b"
		default:
			if object.Fields = fields(x.fields, y.fields); len(object.Fields) == 0 {
				continue
			}
		}
		differ = append(differ, object)
	}
	return differ, nil
}

// found is an object with its original name.
type found struct {
	name   string
	fields map[string]any
}

func documents(objs []api.Object, n *names) (map[api.Ref]found, error) {
	docs := map[api.Ref]found{}
	for _, obj := range objs {
		if _, ok := obj.(*corev1.Event); ok {
			continue
		}
		doc, err := document(obj, n)
		if err != nil {
			return nil, err
		}
		ref := api.RefTo(obj)
		name := objname.Of(ref)
		if n != nil {
			aligned := api.Ref{Kind: ref.Kind, Key: n.translate(ref.Key)}
			if _, taken := docs[aligned]; !taken {
				ref = aligned
			}
		}
		docs[ref] = found{name, doc}
	}
	return docs, nil
}

func byKind(a, b api.Ref) int {
	kinds := store.Kinds()
	return cmp.Or(cmp.Compare(slices.Index(kinds, a.Kind), slices.Index(kinds, b.Kind)), cmp.Compare(a.Key, b.Key))
}

// countEvents returns how often each Event occurred.
func countEvents(objs []api.Object, n *names) map[string]int {
	counts := map[string]int{}
	for _, obj := range objs {
		e, ok := obj.(*corev1.Event)
		if !ok {
			continue
		}
		about := api.Ref{Kind: api.Kind(e.InvolvedObject.Kind), Key: api.Key(e.InvolvedObject.Namespace, e.InvolvedObject.Name)}
		times := int(e.Count)
		if e.Series != nil {
			times = max(times, int(e.Series.Count))
		}
		counts[translated(n, fmt.Sprintf("%s %s %s: %s", e.Type, e.Reason, objname.Of(about), e.Message))] += max(times, 1)
	}
	return counts
}

// countCalls returns how often each storage call ended, by result.
func countCalls(log *trace.Trace, n *names) map[string]int {
	counts := map[string]int{}
	for e := range log.Entries() {
		if e.Type == trace.Storage && e.Verb != "begin" {
			counts[translated(n, e.String())]++
		}
	}
	return counts
}

func translated(n *names, text string) string {
	if n != nil {
		text = n.translate(text)
	}
	return strings.TrimSpace(strings.ReplaceAll(text, "\n", `\n`))
}

func compareCounts(a, b map[string]int) []Count {
	all := maps.Clone(a)
	maps.Copy(all, b)
	var counts []Count
	for _, what := range slices.Sorted(maps.Keys(all)) {
		if a[what] != b[what] {
			counts = append(counts, Count{what, a[what], b[what]})
		}
	}
	return counts
}
