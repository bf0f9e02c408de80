package mount

import "testing"

// TestPodTransitions lists for each state what each event leads to; an event that is missing here must panic.
func TestPodTransitions(t *testing.T) {
	type transition struct {
		rule string
		from podState
		on   podEvent
		want podState
	}
	table := []transition{
		{"MNT-009", podSyncing, syncFailed, podRetrying},
		{"MNT-009", podRetrying, syncDue, podSyncing},
		{"MNT-009", podSyncing, syncSucceeded, podSynced},
		{"MNT-009", podSynced, syncDue, podSyncing},
		{"MNT-356", podSyncing, endRequested, podStopping},
		{"MNT-356", podRetrying, endRequested, podStopping},
		{"MNT-356", podSynced, endRequested, podStopping},
		{"MNT-403", podSyncing, refused, podRejected},
		{"MNT-404", podRejected, endRequested, podStopping},
		{"MNT-387", podStopping, containersStopped, podUnmounting},
		{"MNT-387", podUnmounting, volumesUnmounted, podFinished},
	}
	type input struct {
		from podState
		on   podEvent
	}
	known := map[input]transition{}
	for _, tc := range table {
		known[input{tc.from, tc.on}] = tc
	}
	after := func(s podState, e podEvent) (next podState, ok bool) {
		defer func() {
			if recover() != nil {
				ok = false
			}
		}()
		return s.after(e), true
	}
	for s := podSyncing; s <= podFinished; s++ {
		for e := syncFailed; e <= volumesUnmounted; e++ {
			tc, possible := known[input{s, e}]
			got, ok := after(s, e)
			if ok != possible || ok && got != tc.want {
				t.Errorf("%s: state %d after event %d = %d, %v, want %d, %v", tc.rule, s, e, got, ok, tc.want, possible)
			}
		}
	}
}

func TestPodStates(t *testing.T) {
	for _, tc := range []struct {
		rule                   string
		state                  podState
		ending, containersGone bool
	}{
		{"MNT-060", podSyncing, false, false},
		{"MNT-060", podRetrying, false, false},
		{"MNT-060", podSynced, false, false},
		{"MNT-404", podRejected, false, true},
		{"MNT-062", podStopping, true, false},
		{"MNT-387", podUnmounting, true, true},
		{"MNT-387", podFinished, true, true},
	} {
		if tc.state.ending() != tc.ending || tc.state.containersGone() != tc.containersGone {
			t.Errorf("%s: state %d: ending %v, containers gone %v, want %v and %v",
				tc.rule, tc.state, tc.state.ending(), tc.state.containersGone(), tc.ending, tc.containersGone)
		}
	}
}
