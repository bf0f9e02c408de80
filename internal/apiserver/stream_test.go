package apiserver

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// TestMerged checks that the net effect of the changes equals what a new list would show.
func TestMerged(t *testing.T) {
	of := func(changeType watch.EventType, uid types.UID, data string, number int) event {
		return event{changeType: changeType, data: []byte(data), object: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: uid}}, number: number}
	}
	tests := []struct {
		name   string
		events []event
		want   []string
	}{
		{"made and changed", []event{of(watch.Added, "a", "1", 1), of(watch.Modified, "a", "2", 2)}, []string{"ADDED 2"}},
		{"changed twice", []event{of(watch.Modified, "a", "1", 1), of(watch.Modified, "a", "2", 2)}, []string{"MODIFIED 2"}},
		{"changed and gone", []event{of(watch.Modified, "a", "1", 1), of(watch.Deleted, "a", "2", 2)}, []string{"DELETED 2"}},
		{"made and gone", []event{of(watch.Added, "a", "1", 1), of(watch.Deleted, "a", "2", 2)}, nil},
		{"gone, and another of that name", []event{of(watch.Deleted, "a", "1", 1), of(watch.Added, "b", "2", 2)},
			[]string{"DELETED 1", "ADDED 2"}},
		{"two", []event{of(watch.Added, "a", "1", 1), of(watch.Added, "b", "2", 2), of(watch.Modified, "a", "3", 3)},
			[]string{"ADDED 3", "ADDED 2"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, e := range merged(test.events) {
				got = append(got, string(e.changeType)+" "+string(e.data))
			}
			require.Equal(t, test.want, got)
		})
	}
}
