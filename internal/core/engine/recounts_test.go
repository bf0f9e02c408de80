package engine

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// One Event that is counted again and again takes no more memory with each count.
func TestRecountsAreStored(t *testing.T) {
	e, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	var r *Recorder
	if _, err := e.NewActor("a", func(a *Actor) { r = a.NewRecorder("a") }); err != nil {
		t.Fatal(err)
	}
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	most := 0
	for range 2*recountsKept + 100 {
		r.Event(e.User(), n, corev1.EventTypeNormal, "Reason", "text")
		e.Advance(300 * time.Second)
		kept := 0
		for _, list := range e.emitted {
			kept += len(list)
		}
		most = max(most, kept)
	}
	if most > recountsKept+1 {
		t.Errorf("%d emissions are kept, want at most %d", most, recountsKept+1)
	}
	if list := e.store.Events.List(); len(list) != 1 || list[0].Count != 2*recountsKept+100 {
		t.Errorf("the Events are %v, want one with count %d", list, 2*recountsKept+100)
	}
}
