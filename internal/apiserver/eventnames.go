package apiserver

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
)

// renameEvent gives an Event of a recorder a name that is free. Recorders name an Event after its object and the time in nanoseconds, and in virtual time
// two Events about one object have the same time. An Event that is sent again keeps its name.
func (s *Server) renameEvent(r *request, obj api.Object) {
	event, ok := obj.(*corev1.Event)
	if !ok {
		return
	}
	const shortest = 12 // digits of a time
	dot := strings.LastIndex(event.Name, ".")
	number, err := strconv.ParseUint(event.Name[dot+1:], 16, 64)
	if dot < 0 || err != nil || len(event.Name)-dot-1 < shortest {
		return
	}
	for name := event.Name; ; name = fmt.Sprintf("%s.%x", event.Name[:dot], number) {
		known, err := s.store.Get(r.resource.Kind, api.Key(r.namespace, name))
		if other, ok := known.(*corev1.Event); err != nil || ok && sameEvent(event, other) {
			event.Name = name
			return
		}
		number++
	}
}

// sameEvent reports whether two Events of one time say the same.
func sameEvent(a, b *corev1.Event) bool {
	return a.Type == b.Type && a.Reason == b.Reason && a.Action == b.Action && a.Message == b.Message && a.ReportingController == b.ReportingController &&
		a.Source == b.Source
}
