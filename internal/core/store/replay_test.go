package store_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/store"
)

// TestReplay: whatever is written, a watcher who replays the changes has what the store has (API-070, API-071, API-072), one who
// begins later has it too (API-074), and versions only grow (API-005).
func TestReplay(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		now := noon
		s := store.New(store.Config{Now: func() time.Time { return now }})
		version, mirror, log := uint64(0), map[string]*corev1.Pod{}, []string{}
		_, err := s.Pods.Watch(store.WatchOptions[*corev1.Pod]{}, func(c api.Change[*corev1.Pod]) {
			if c.Version <= version || c.Object.ResourceVersion != fmt.Sprint(c.Version) {
				r.Fatalf("API-071: version %d, %s after %d", c.Version, c.Object.ResourceVersion, version)
			}
			if c.Old != mirror[c.Key] {
				r.Fatalf("API-071: %s %s: the state before is not the one that was seen last", c.Type, c.Key)
			}
			version = c.Version
			log = append(log, fmt.Sprint(c.Type, c.Key, c.Version))
			if c.Type == api.Deleted {
				delete(mirror, c.Key)
			} else {
				mirror[c.Key] = c.Object
			}
		})
		if err != nil {
			r.Fatal(err)
		}
		names := rapid.SampledFrom([]string{"a", "b", "c"})
		for range rapid.IntRange(1, 40).Draw(r, "writes") {
			now = now.Add(time.Duration(rapid.IntRange(0, 20_000).Draw(r, "ms")) * time.Millisecond)
			write(r, s, names.Draw(r, "name"))
			if int(s.Version()) != len(log) {
				r.Fatalf("API-005: version %d after %d changes", s.Version(), len(log))
			}
		}
		if len(mirror) != s.Pods.Len() {
			r.Fatalf("%d pods replayed, %d stored", len(mirror), s.Pods.Len())
		}
		for _, p := range s.Pods.List() {
			if mirror[api.KeyOf(p)] != p {
				r.Fatalf("%s is not what was replayed", p.Name)
			}
		}
		if len(log) == 0 {
			return
		}
		from := rapid.IntRange(1, len(log)).Draw(r, "from")
		var late []string
		if _, err := s.Pods.Watch(store.WatchOptions[*corev1.Pod]{From: uint64(from)}, func(c api.Change[*corev1.Pod]) {
			late = append(late, fmt.Sprint(c.Type, c.Key, c.Version))
		}); err != nil {
			r.Fatal(err)
		}
		if got, want := fmt.Sprint(late), fmt.Sprint(log[from:]); got != want {
			r.Fatalf("API-074 from %d: %s, want %s", from, got, want)
		}
	})
}

// write makes one call about a pod, which may well be refused.
func write(r *rapid.T, s *store.Store, name string) {
	key := "default/" + name
	grace := rapid.SampledFrom([]*int64{nil, new(int64(0)), new(int64(5)), new(int64(-1)), new(int64(60))})
	p, _ := s.Pods.Lookup(key)
	if p == nil || rapid.IntRange(0, 9).Draw(r, "anew") == 0 {
		p = rapid.SampledFrom([]*corev1.Pod{pod(name), running(name), held(running(name))}).Draw(r, "pod")
	}
	switch rapid.IntRange(0, 6).Draw(r, "verb") {
	case 0, 1:
		_, _ = s.Pods.Create(with(p, func(p *corev1.Pod) { p.ResourceVersion = "" }))
	case 2:
		_, _ = s.Pods.Update(with(p, func(p *corev1.Pod) {
			p.Labels = map[string]string{"a": rapid.StringMatching("[ab]").Draw(r, "label")}
			p.Finalizers = rapid.SampledFrom([][]string{nil, {hold}}).Draw(r, "finalizers")
		}))
	case 3:
		_, _ = s.Pods.UpdateStatus(with(p, func(p *corev1.Pod) {
			p.Status.Phase = rapid.SampledFrom([]corev1.PodPhase{corev1.PodRunning, corev1.PodFailed}).Draw(r, "phase")
		}))
	case 4, 5:
		_, _ = s.Pods.Delete(key, api.DeleteOptions{GracePeriodSeconds: grace.Draw(r, "grace")})
	case 6:
		_, _ = s.Pods.Load(with(p, func(p *corev1.Pod) {
			if rapid.Bool().Draw(r, "marked") {
				p.DeletionTimestamp = new(metav1.NewTime(noon))
				p.DeletionGracePeriodSeconds = grace.Draw(r, "grace")
			}
		}))
	}
}
