package apiserver

import (
	"bufio"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

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

// TestQuietWatch checks that a watch lasts longer without events than a client may take to accept one.
func TestQuietWatch(t *testing.T) {
	const patience = 50 * time.Millisecond
	for _, protocol := range []string{"HTTP/1.1", "HTTP/2.0"} {
		t.Run(protocol, func(t *testing.T) {
			st := &stream{lag: func() time.Duration { return 0 }, stop: func() {}, ready: make(chan struct{}, 1), closed: make(chan struct{})}
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				st.canceled, st.err = req.Context().Done(), req.Context().Err
				st.copyTo(w, patience)
			}))
			server.EnableHTTP2 = protocol == "HTTP/2.0"
			server.StartTLS()
			defer server.Close()
			resp, err := server.Client().Get(server.URL)
			require.NoError(t, err)
			defer resp.Body.Close()
			require.Equal(t, protocol, resp.Proto)
			lines := bufio.NewReader(resp.Body)
			for _, data := range []string{"1", "2"} {
				time.Sleep(4 * patience)
				st.mu.Lock()
				st.events = append(st.events, event{changeType: watch.Added, data: []byte(data)})
				st.mu.Unlock()
				st.wake()
				line, err := lines.ReadString('\n')
				require.NoError(t, err)
				require.Equal(t, `{"type":"ADDED","object":`+data+"}\n", line)
			}
			st.finish()
			_, err = lines.ReadByte()
			require.Equal(t, "EOF", err.Error())
		})
	}
}
