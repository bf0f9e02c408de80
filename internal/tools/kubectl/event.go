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

func lastSeen(e *corev1.Event) metav1.Time {
	if e.LastTimestamp.IsZero() {
		return metav1.Time{Time: e.EventTime.Time}
	}
	return e.LastTimestamp
}

// byTime compares the times at which Events were last seen.
func byTime(a, b *corev1.Event) int { return lastSeen(a).Compare(lastSeen(b).Time) }

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
func PrintEvents(w io.Writer, now time.Time, events []*corev1.Event, namespace string) error {
	if len(events) == 0 {
		text := "No events found."
		if namespace != "" {
			text = "No events found in " + namespace + " namespace."
		}
		_, err := fmt.Fprintln(w, text)
		return err
	}
	t := tabwriter.NewWriter(w, 6, 4, 3, ' ', 0)
	line := func(e *corev1.Event, cells ...string) {
		if namespace == "" {
			first := "NAMESPACE"
			if e != nil {
				first = e.Namespace
			}
			cells = slices.Insert(cells, 0, first)
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	line(nil, "LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE")
	for _, e := range slices.SortedStableFunc(slices.Values(events), byTime) {
		line(e, interval(now, e), e.Type, e.Reason, e.InvolvedObject.Kind+"/"+e.InvolvedObject.Name, oneLine(strings.TrimSpace(e.Message)))
	}
	return t.Flush()
}

// interval returns when an Event was last seen and, if that was more than once, how often and since when.
func interval(now time.Time, e *corev1.Event) string {
	first := since(now, firstObserved(e))
	switch {
	case e.Series != nil:
		return fmt.Sprintf("%s (x%d over %s)", since(now, lastObserved(e)), e.Series.Count, first)
	case e.Count > 1:
		return fmt.Sprintf("%s (x%d over %s)", since(now, e.LastTimestamp), e.Count, first)
	}
	return first
}
