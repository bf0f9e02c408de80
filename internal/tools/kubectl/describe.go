package kubectl

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objkinds"
	"github.com/volsim/volsim/internal/core/plain"
)

// Surroundings are the other objects that a description mentions.
type Surroundings struct {
	Events []*corev1.Event
	Pods   []*corev1.Pod
	// List returns all objects of another kind. With nil there are none.
	List func(kind api.Kind) []api.Object
	// HideEvents leaves out the Events about the object, as kubectl does where it describes several objects.
	HideEvents bool
}

// columns writes text whose columns end with tabs.
type columns interface {
	io.Writer
	Flush() error
}

// description is a description in progress. The width of its columns fits their contents.
type description struct {
	columns
	now    time.Time
	around Surroundings
}

// layout is how kubectl describes a kind.
type layout struct {
	describe func(d *description, obj api.Object) error
	// quiet: without Events.
	quiet bool
	// unplaced: without the namespace below the name.
	unplaced bool
}

// described returns the layout of a kind whose objects are read as a T.
func described[T api.Object](describe func(d *description, obj T)) layout {
	return layout{describe: func(d *description, obj api.Object) error {
		typed, err := plain.As[T](obj)
		if err != nil {
			return err
		}
		describe(d, typed)
		return nil
	}}
}

// withoutEvents returns the layout without Events.
func (l layout) withoutEvents() layout {
	l.quiet = true
	return l
}

// withoutNamespace returns the layout without the namespace below the name.
func (l layout) withoutNamespace() layout {
	l.unplaced = true
	return l
}

// describers are the layouts of kinds that have one of their own. Files that the playground does not need add others.
var describers = map[api.Kind]layout{
	api.PersistentVolumeClaim: described((*description).claim),
	api.PersistentVolume:      described((*description).volume),
	api.StorageClass:          described((*description).class),
	api.VolumeAttributesClass: described((*description).attributesClass),
	api.CSINode:               described((*description).csiNode),
	api.Pod:                   described((*description).pod),
	"ResourceQuota":           described((*description).quota).withoutEvents(),
}

// Describe writes an object with its Events, as `kubectl describe` does.
func Describe(w io.Writer, now time.Time, obj api.Object, around Surroundings) error {
	kind := api.KindOf(obj)
	l, known := describers[kind]
	if !known {
		if err := withoutLayout(kind); err != nil {
			return err
		}
		l.describe = (*description).other
	}
	d := &description{columns: tabwriter.NewWriter(w, 0, 8, 2, ' ', 0), now: now, around: around}
	d.field("Name", "%s", obj.GetName())
	// Kinds without a layout have the field also if it is empty.
	if !l.unplaced && (obj.GetNamespace() != "" || !known) {
		d.field("Namespace", "%s", obj.GetNamespace())
	}
	if err := l.describe(d, obj); err != nil {
		return err
	}
	if !l.quiet && !around.HideEvents {
		d.events(obj)
	}
	return d.Flush()
}

func (d *description) printf(format string, args ...any) { fmt.Fprintf(d, format, args...) }

func (d *description) field(name, format string, args ...any) {
	d.printf("%s:\t%s\n", name, fmt.Sprintf(format, args...))
}

// unlessEmpty writes a field that has a value.
func (d *description) unlessEmpty(name, value string) {
	if value != "" {
		d.field(name, "%s", value)
	}
}

// lines writes a field with one line for each value.
func (d *description) lines(name string, values []string) { d.linesUnder("", name, values) }

// linesUnder is lines with an indentation of all lines.
func (d *description) linesUnder(indent, name string, values []string) {
	if len(values) == 0 {
		values = []string{"<none>"}
	}
	label := name + ":"
	for _, v := range values {
		d.printf("%s%s\t%s\n", indent, label, v)
		label = ""
	}
}

// list writes the objects of a kind in a namespace, or all of a kind without namespaces, by name.
func (d *description) list(kind api.Kind, namespace string) []api.Object {
	if d.around.List == nil {
		return nil
	}
	objs := slices.DeleteFunc(slices.Clone(d.around.List(kind)), func(obj api.Object) bool { return obj.GetNamespace() != namespace })
	slices.SortFunc(objs, func(a, b api.Object) int { return strings.Compare(a.GetName(), b.GetName()) })
	return objs
}

// pods returns the pods of a namespace, or all for "", in the order in which the API server lists them.
func (d *description) pods(namespace string) []*corev1.Pod {
	pods := slices.DeleteFunc(slices.Clone(d.around.Pods), func(p *corev1.Pod) bool { return namespace != "" && p.Namespace != namespace })
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return strings.Compare(api.KeyOf(a), api.KeyOf(b)) })
	return pods
}

// meta writes the fields that nearly every object has.
func (d *description) meta(obj api.Object) {
	d.lines("Labels", pairs(obj.GetLabels(), "="))
	d.annotations("Annotations", obj.GetAnnotations())
}

// annotations writes annotations: long ones and those of several lines below their key.
func (d *description) annotations(name string, annotations map[string]string) {
	const longest = 140
	shown := maps.Clone(annotations)
	delete(shown, corev1.LastAppliedConfigAnnotation) // which kubectl does not show
	var values []string
	for _, key := range slices.Sorted(maps.Keys(shown)) {
		value := strings.TrimSuffix(shown[key], "\n")
		if len(key)+len(value)+len(": ") <= longest && !strings.Contains(value, "\n") {
			values = append(values, key+": "+value)
			continue
		}
		values = append(values, key+":")
		for line := range strings.SplitSeq(value, "\n") {
			values = append(values, "  "+shortened(line, longest-2))
		}
	}
	d.lines(name, values)
}

func shortened(text string, longest int) string {
	if len(text) > longest {
		return text[:longest] + "..."
	}
	return text
}

func pairs(m map[string]string, between string) []string {
	var texts []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		texts = append(texts, key+between+m[key])
	}
	return texts
}

// inOneLine returns a map as KEY=VALUE,..., or <none>.
func inOneLine(m map[string]string) string { return orNone(strings.Join(pairs(m, "="), ",")) }

// timeOf writes a time in full.
func timeOf(t metav1.Time) string { return t.UTC().Format(time.RFC1123Z) }

// terminating returns the phase, or how long the object has been terminating.
func (d *description) terminating(obj api.Object, phase string) {
	if at := obj.GetDeletionTimestamp(); at != nil {
		d.field("Status", "Terminating (lasts %s)", duration.HumanDuration(d.now.Sub(at.Time)))
		return
	}
	d.field("Status", "%s", phase)
}

// events writes the Events about an object, in the order of their last occurrence.
func (d *description) events(obj api.Object) {
	var about []*corev1.Event
	for _, e := range d.around.Events {
		if concerns(e, obj) {
			about = append(about, e)
		}
	}
	if len(about) == 0 {
		d.field("Events", "<none>")
		return
	}
	slices.SortFunc(about, func(a, b *corev1.Event) int { return strings.Compare(api.KeyOf(a), api.KeyOf(b)) })
	slices.SortFunc(about, func(a, b *corev1.Event) int { return a.LastTimestamp.Time.Compare(b.LastTimestamp.Time) })
	_ = d.Flush() // the table has columns of its own; an error comes back with the next Flush
	d.printf("Events:\n  Type\tReason\tAge\tFrom\tMessage\n  ----\t------\t----\t----\t-------\n")
	for _, e := range about {
		from, message := e.Source.Component, strings.TrimSpace(e.Message)
		if from == "" {
			from = e.ReportingController
		}
		if e.InvolvedObject.FieldPath != "" {
			message = e.InvolvedObject.FieldPath + ": " + message
		}
		d.printf("  %s\t%s\t%s\t%s\t%s\n", e.Type, e.Reason, interval(d.now, e), from, message)
	}
}

// concerns reports whether kubectl shows an Event below an object: it is about that name, kind and uid.
func concerns(e *corev1.Event, obj api.Object) bool {
	kind, _ := objkinds.Split(string(api.KindOf(obj)))
	about := e.InvolvedObject
	return about.Name == obj.GetName() && about.Namespace == obj.GetNamespace() && (about.Kind == kind || kind == string(api.Pod)) &&
		(about.UID == obj.GetUID() || kind == string(api.Node) && string(about.UID) == obj.GetName())
}

// capitalized returns True or False.
func capitalized(b bool) string {
	if b {
		return "True"
	}
	return "False"
}

// optional returns True, False or <unset>.
func optional(b *bool) string {
	if b == nil {
		return "<unset>"
	}
	return capitalized(*b)
}
