// Package kubectl prints objects in the formats of the kubectl command.
package kubectl

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objkinds"
	"github.com/volsim/volsim/internal/core/store"
)

// Options select what a table shows.
type Options struct {
	// Namespaces adds the column NAMESPACE, as -A does.
	Namespaces bool
	// Namespace is the requested namespace. It is printed if nothing was found.
	Namespace string
	// Wide adds the columns of -o wide.
	Wide bool
	// NoHeaders omits the headers.
	NoHeaders bool
	// Labels adds the column LABELS, as --show-labels does.
	Labels bool
	// LabelColumns adds a column for each of these labels, as -L does.
	LabelColumns []string
	// Kinds puts the kind before each name, as --show-kind does. It is done in any case if there are several kinds.
	Kinds bool
	// Quiet prints nothing if nothing was found.
	Quiet bool
	// Columns returns the columns of a kind; nil is the function Columns.
	Columns func(kind api.Kind) []Column
	// Write writes the cells of a table; nil aligns its columns.
	Write func(w io.Writer, lines [][]string) error
}

// Get writes what `kubectl get KINDS -A` prints: a table for each kind that has objects. If several kinds are requested, names include
// their kind. Ages are relative to now.
func Get(w io.Writer, now time.Time, kinds []api.Kind, objs []api.Object) error {
	return Print(w, now, kinds, objs, Options{Namespaces: true})
}

// Print is Get with options.
func Print(w io.Writer, now time.Time, kinds []api.Kind, objs []api.Object, opts Options) error {
	var sorted []api.Object
	for _, kind := range kinds {
		for _, obj := range objs {
			if api.KindOf(obj) == kind {
				sorted = append(sorted, obj)
			}
		}
	}
	opts.Kinds = opts.Kinds || len(kinds) > 1
	if len(sorted) > 0 || opts.Quiet {
		return PrintInOrder(w, now, sorted, opts)
	}
	namespace := opts.Namespace
	if slices.ContainsFunc(kinds, func(kind api.Kind) bool { return !namespaced(kind, nil) }) {
		namespace = ""
	}
	_, err := io.WriteString(w, NothingFound(namespace))
	return err
}

// PrintInOrder writes a table for each run of objects of one kind.
func PrintInOrder(w io.Writer, now time.Time, objs []api.Object, opts Options) error {
	if opts.Columns == nil {
		opts.Columns = Columns
	}
	withNamespace := false
	for printed := false; len(objs) > 0; printed = true {
		kind := api.KindOf(objs[0])
		end := slices.IndexFunc(objs, func(obj api.Object) bool { return api.KindOf(obj) != kind })
		if end < 0 {
			end = len(objs)
		}
		if printed && !opts.NoHeaders {
			if _, err := fmt.Fprintln(w); err != nil {
				return err
			}
		}
		// kubectl keeps the column once a table has had it.
		withNamespace = withNamespace || opts.Namespaces && namespaced(kind, objs)
		opts.Namespaces = opts.Namespaces || withNamespace
		if err := table(w, now, kind, objs[:end], withNamespace, opts); err != nil {
			return err
		}
		objs = objs[end:]
	}
	return nil
}

// NothingFound returns the text of kubectl if a namespace, or all of them for "", has no object that was asked for.
func NothingFound(namespace string) string {
	if namespace == "" {
		return "No resources found\n"
	}
	return "No resources found in " + namespace + " namespace.\n"
}

func table(w io.Writer, now time.Time, kind api.Kind, objs []api.Object, withNamespace bool, opts Options) error {
	var lines [][]string
	columns := slices.Clone(opts.Columns(kind))
	for _, label := range opts.LabelColumns {
		columns = append(columns, labelColumn(label))
	}
	if opts.Labels {
		columns = append(columns, labelsColumn)
	}
	line := func(first string, cell func(Column) string) {
		var cells []string
		if withNamespace {
			cells = append(cells, first)
		}
		for _, c := range columns {
			if !c.Wide || opts.Wide {
				cells = append(cells, cell(c))
			}
		}
		lines = append(lines, cells)
	}
	if !opts.NoHeaders {
		line("NAMESPACE", Column.header)
	}
	for _, obj := range objs {
		line(obj.GetNamespace(), func(c Column) string {
			text := oneLine(c.Text(obj, now))
			if c.Name == "Name" && opts.Kinds {
				return resourceName(kind) + "/" + text
			}
			return text
		})
	}
	if opts.Write != nil {
		return opts.Write(w, lines)
	}
	t := tabwriter.NewWriter(w, 6, 4, 3, ' ', 0)
	for _, cells := range lines {
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	return t.Flush()
}

// labelsColumn is the column of --show-labels.
var labelsColumn = Column{Name: "Labels", Type: "string", Cell: func(obj api.Object, _ time.Time) any {
	if len(obj.GetLabels()) == 0 {
		return "<none>"
	}
	return labels.Set(obj.GetLabels()).String()
}}

// labelColumn is a column of -L. Its title is the label without its prefix.
func labelColumn(label string) Column {
	return Column{Name: label[strings.LastIndex(label, "/")+1:], Type: "string", Cell: func(obj api.Object, _ time.Time) any {
		return obj.GetLabels()[label]
	}}
}

// oneLine returns the first line of a cell, as kubectl shows it.
func oneLine(cell string) string {
	first, _, more := strings.Cut(cell, "\n")
	if more {
		return first + "..."
	}
	return strings.ReplaceAll(first, "\t", " ")
}

// resourceName returns the part of a name before the slash, for tables of several kinds.
func resourceName(kind api.Kind) string {
	first, _ := objkinds.Split(string(kind))
	name := strings.ToLower(first)
	if _, group := objkinds.Split(string(kind)); group != "" {
		return name + "." + group
	}
	if group := store.GroupVersionKind(kind).Group; group != "" {
		name += "." + group
	}
	return name
}

// Age returns how long an object has existed, as kubectl abbreviates it.
func Age(now time.Time, obj api.Object) string { return since(now, obj.GetCreationTimestamp()) }

func since(now time.Time, at metav1.Time) string {
	if at.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(now.Sub(at.Time))
}

// AccessModes abbreviates access modes, in their fixed order and without duplicates: RWO,ROX,RWX,RWOP.
func AccessModes(modes []corev1.PersistentVolumeAccessMode) string {
	var short []string
	for _, known := range []struct {
		mode corev1.PersistentVolumeAccessMode
		name string
	}{
		{corev1.ReadWriteOnce, "RWO"}, {corev1.ReadOnlyMany, "ROX"}, {corev1.ReadWriteMany, "RWX"}, {corev1.ReadWriteOncePod, "RWOP"},
	} {
		for _, mode := range modes {
			if mode == known.mode {
				short = append(short, known.name)
				break
			}
		}
	}
	return strings.Join(short, ",")
}
