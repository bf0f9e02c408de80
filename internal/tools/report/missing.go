package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objname"
	"github.com/volsim/volsim/internal/tools/dump"
)

// missingPods returns a line for each workload, or for each of those that only lists, that has fewer pods than it wants and whose controller reported that it cannot create one, with
// the newest report. Such pods are in no list of objects.
func missingPods(d *dump.Dump, only []api.Ref) []string {
	failed := map[apitypes.UID]*corev1.Event{}
	pods := map[apitypes.UID]int64{}
	for _, obj := range d.Objects {
		switch obj := obj.(type) {
		case *corev1.Event:
			old, uid := failed[obj.InvolvedObject.UID], obj.InvolvedObject.UID
			if obj.Reason == "FailedCreate" && uid != "" && (old == nil || lastSeen(old).Before(lastSeen(obj))) {
				failed[uid] = obj
			}
		case *corev1.Pod:
			if owner := metav1.GetControllerOfNoCopy(obj); owner != nil {
				pods[owner.UID]++
			}
		}
	}
	var lines []string
	for _, obj := range d.Objects {
		event := failed[obj.GetUID()]
		if event == nil || obj.GetUID() == "" || only != nil && !slices.Contains(only, api.RefTo(obj)) {
			continue
		}
		want, has := wantedPods(obj), pods[obj.GetUID()]
		if has >= want {
			continue
		}
		lines = append(lines, fmt.Sprintf("%s has %d of %d pods; its controller cannot create more (last at %s): %s", objname.Of(api.RefTo(obj)), has,
			want, lastSeen(event).UTC().Format(time.RFC3339), strings.TrimSpace(event.Message)))
	}
	slices.Sort(lines)
	return lines
}

// wantedPods returns the number of pods that a workload wants; 0 for other objects.
func wantedPods(obj api.Object) int64 {
	doc, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return 0
	}
	for _, path := range [][]string{{"spec", "replicas"}, {"status", "desiredNumberScheduled"}, {"spec", "parallelism"}} {
		if n, ok, err := unstructured.NestedInt64(doc, path...); ok && err == nil {
			return n
		}
	}
	return 0
}

// lastSeen returns when an Event happened last.
func lastSeen(event *corev1.Event) time.Time {
	switch {
	case event.Series != nil && !event.Series.LastObservedTime.IsZero():
		return event.Series.LastObservedTime.Time
	case !event.LastTimestamp.IsZero():
		return event.LastTimestamp.Time
	}
	return event.EventTime.Time
}
