package dump

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
)

// coreEvent returns an Event of events.k8s.io as the core group shows it. Both show the same objects, so with both in a dump one is skipped.
func coreEvent(data []byte) ([]byte, error) {
	var event eventsv1.Event
	if err := json.Unmarshal(data, &event); err != nil {
		return data, err
	}
	core := corev1.Event{TypeMeta: event.TypeMeta, ObjectMeta: event.ObjectMeta, InvolvedObject: event.Regarding, Related: event.Related, Reason: event.Reason,
		Message: event.Note, Type: event.Type, Action: event.Action, EventTime: event.EventTime, Count: event.DeprecatedCount,
		FirstTimestamp: event.DeprecatedFirstTimestamp, LastTimestamp: event.DeprecatedLastTimestamp, Source: event.DeprecatedSource,
		ReportingController: event.ReportingController, ReportingInstance: event.ReportingInstance}
	core.APIVersion = "v1"
	if series := event.Series; series != nil {
		core.Series = &corev1.EventSeries{Count: series.Count, LastObservedTime: series.LastObservedTime}
	}
	return json.Marshal(core)
}
