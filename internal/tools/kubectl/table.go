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
	// KeepOrder prints Events in the given order, and not by time.
	KeepOrder bool
}

// Get writes what `kubectl get KINDS -A` prints: a table for each kind that has objects. If several kinds are requested, names include
// their kind. Ages are relative to now.
func Get(w io.Writer, now time.Time, kinds []api.Kind, objs []api.Object) error {
	return Print(w, now, kinds, objs, Options{Namespaces: true})
}

// Print is Get with options.
func Print(w io.Writer, now time.Time, kinds []api.Kind, objs []api.Object, opts Options) error {
	printed := false
	for _, kind := range kinds {
		var rows []api.Object
		for _, obj := range objs {
			if api.KindOf(obj) == kind {
				rows = append(rows, obj)
			}
		}
		if len(rows) == 0 {
			continue
		}
		if printed {
			if _, err := fmt.Fprintln(w); err != nil {
				return err
			}
		}
		if err := table(w, now, kind, rows, len(kinds) > 1, opts); err != nil {
			return err
		}
		printed = true
	}
	if printed {
		return nil
	}
	namespace := opts.Namespace
	if !anyNamespaced(kinds) {
		namespace = ""
	}
	_, err := io.WriteString(w, NothingFound(namespace))
	return err
}

// NothingFound is what kubectl prints if a namespace, or all of them for "", has no object that was asked for.
func NothingFound(namespace string) string {
	if namespace == "" {
		return "No resources found\n"
	}
	return "No resources found in " + namespace + " namespace.\n"
}

func anyNamespaced(kinds []api.Kind) bool {
	for _, kind := range kinds {
		if namespaced(kind, nil) {
			return true
		}
	}
	return false
}

func table(w io.Writer, now time.Time, kind api.Kind, objs []api.Object, prefixed bool, opts Options) error {
	t := tabwriter.NewWriter(w, 6, 4, 3, ' ', 0)
	withNamespace := opts.Namespaces && namespaced(kind, objs)
	columns := Columns(kind)
	if opts.Labels {
		columns = append(slices.Clone(columns), labelsColumn)
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
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	if !opts.NoHeaders {
		line("NAMESPACE", Column.header)
	}
	if kind == api.Event && !opts.KeepOrder {
		objs = slices.Clone(objs)
		slices.SortStableFunc(objs, func(a, b api.Object) int { return byTime(a.(*corev1.Event), b.(*corev1.Event)) })
	}
	for _, obj := range objs {
		line(obj.GetNamespace(), func(c Column) string {
			if c.Name == "Name" && prefixed {
				return resourceName(kind) + "/" + obj.GetName()
			}
			return oneLine(c.Text(obj, now))
		})
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
