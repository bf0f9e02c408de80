package kubectl

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
)

// About reports whether an Event is about the object.
func About(e *corev1.Event, ref api.Ref) bool {
	namespace, name := objects.SplitKey(ref.Key)
	// A kind of another group, such as StatefulSet.apps, has its group in the version of the reference.
	kind, group, hasGroup := strings.Cut(string(ref.Kind), ".")
	version, err := schema.ParseGroupVersion(e.InvolvedObject.APIVersion)
	return e.InvolvedObject.Kind == kind && (!hasGroup || err == nil && version.Group == group) &&
		e.InvolvedObject.Name == name && e.InvolvedObject.Namespace == namespace
}

// byTime compares the times at which Events were last seen, as kubectl events does.
func byTime(a, b *corev1.Event) int {
	seen := func(e *corev1.Event) time.Time {
		switch {
		case e.Series != nil:
			return e.Series.LastObservedTime.Time
		case !e.LastTimestamp.IsZero():
			return e.LastTimestamp.Time
		}
		return e.EventTime.Time
	}
	return seen(a).Compare(seen(b))
}

// firstObserved returns when an Event was first seen.
func firstObserved(e *corev1.Event) metav1.Time {
	if e.FirstTimestamp.IsZero() {
		return metav1.Time{Time: e.EventTime.Time}
	}
	return e.FirstTimestamp
}

// lastObserved returns when an Event was last seen, also one of a series.
func lastObserved(e *corev1.Event) metav1.Time {
	switch {
	case e.Series != nil:
		return metav1.Time{Time: e.Series.LastObservedTime.Time}
	case e.LastTimestamp.IsZero():
		return firstObserved(e)
	}
	return e.LastTimestamp
}

func eventSource(e *corev1.Event) string {
	component := cmp.Or(e.Source.Component, e.ReportingController)
	if host := cmp.Or(e.Source.Host, e.ReportingInstance); host != "" {
		component += ", " + host
	}
	return component
}

// PrintEvents writes Events as kubectl events does, with how often they occurred. namespace is the one that was asked for; "" is all of them.
func PrintEvents(w io.Writer, now time.Time, events []*corev1.Event, namespace string, noHeaders bool) error {
	t := tabwriter.NewWriter(w, 6, 4, 3, ' ', 0)
	line := func(namespaceCell string, cells ...string) {
		if namespace == "" {
			cells = slices.Insert(cells, 0, namespaceCell)
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	if !noHeaders {
		line("NAMESPACE", "LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE")
	}
	for _, e := range InTime(events) {
		line(e.Namespace, interval(now, e), e.Type, e.Reason, e.InvolvedObject.Kind+"/"+e.InvolvedObject.Name, strings.TrimSpace(e.Message))
	}
	return t.Flush()
}

// InTime returns Events in the order of kubectl events.
func InTime(events []*corev1.Event) []*corev1.Event {
	events = slices.SortedFunc(slices.Values(events), func(a, b *corev1.Event) int { return strings.Compare(api.KeyOf(a), api.KeyOf(b)) })
	slices.SortFunc(events, byTime)
	return events
}

// interval returns when an Event was last seen and, if that was more than once, how often and since when.
func interval(now time.Time, e *corev1.Event) string {
	first := since(now, e.FirstTimestamp)
	if !e.EventTime.IsZero() {
		first = since(now, metav1.Time{Time: e.EventTime.Time})
	}
	switch {
	case e.Series != nil:
		return fmt.Sprintf("%s (x%d over %s)", since(now, metav1.Time{Time: e.Series.LastObservedTime.Time}), e.Series.Count, first)
	case e.Count > 1:
		return fmt.Sprintf("%s (x%d over %s)", since(now, e.LastTimestamp), e.Count, first)
	}
	return first
}

// NoEvents returns the text of kubectl events if a namespace, or all of them for "", has none.
func NoEvents(namespace string) string {
	if namespace == "" {
		return "No events found.\n"
	}
	return "No events found in " + namespace + " namespace.\n"
}
