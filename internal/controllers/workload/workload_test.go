package workload_test

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/internal/controllers/workload"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/proof/rig"
)

func template(image string) *corev1.PodTemplateSpec {
	return &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}, Finalizers: []string{"example.com/x"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: image}}},
	}
}

func owner() *appsv1.StatefulSet {
	return &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "db", UID: "u", Annotations: map[string]string{"k": "v"}}}
}

func TestFromTemplate(t *testing.T) {
	ref := workload.ControllerRef(owner(), "apps/v1", "StatefulSet")
	pod := workload.FromTemplate(template("i"), owner(), ref)
	got := fmt.Sprint(pod.Namespace, pod.GenerateName, pod.Labels, pod.Finalizers, pod.Spec.Containers[0].Image, pod.OwnerReferences[0].UID)
	if want := "defaultdb-map[a:b] [example.com/x]iu"; got != want {
		t.Errorf("WORK-003: FromTemplate() = %s, want %s", got, want)
	}
}

func TestConsistency(t *testing.T) {
	reached := uint64(4)
	c := workload.NewConsistency(map[string]workload.Reached{"pods": func(version uint64) bool { return version <= reached }})
	c.Wrote("k", "pods", &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "5"}})
	if c.Ready("k", "pods") == nil || c.Ready("other", "pods") != nil {
		t.Errorf("WORK-005: the key is ready before the informer has its pod, or another key is not")
	}
	reached = 5
	if err := c.Ready("k", "pods"); err != nil {
		t.Errorf("WORK-005: %v", err)
	}
}

func TestBackoff(t *testing.T) {
	if got := fmt.Sprint(workload.Backoff(1), workload.Backoff(2), workload.Backoff(3)); got != "10ms 50ms 250ms" {
		t.Errorf("WORK-007: Backoff() = %s", got)
	}
}

func TestSlowStart(t *testing.T) {
	for _, tt := range []struct{ n, fail, calls, successes int }{{7, -1, 7, 7}, {7, 0, 1, 0}, {7, 1, 3, 2}, {0, -1, 0, 0}} {
		r := rig.New(t, engine.Config{})
		calls, successes := 0, -1
		var failures []error
		_, err := r.NewActor("a", func(a *engine.Actor) {
			a.Go("batch", func(p *engine.Process) {
				successes, failures = workload.SlowStart(p, "call", tt.n, 0, func(_ *engine.Process, i int) error {
					calls++
					if i == tt.fail {
						return fmt.Errorf("broken")
					}
					return nil
				})
			})
		})
		r.OK(err)
		r.Advance(time.Second)
		if (len(failures) > 0) != (tt.fail >= 0) {
			t.Errorf("WORK-006: SlowStart(%d), call %d fails: errors %v", tt.n, tt.fail, failures)
		}
		if calls != tt.calls || successes != tt.successes {
			t.Errorf("WORK-006: SlowStart(%d), call %d fails: %d calls, %d successes, want %d and %d", tt.n, tt.fail, calls, successes, tt.calls, tt.successes)
		}
	}
}

func TestRevisions(t *testing.T) {
	ref := workload.ControllerRef(owner(), "apps/v1", "StatefulSet")
	revision := func(image string, number int64, collisions int32) *appsv1.ControllerRevision {
		r, err := workload.NewRevision(owner(), ref, template(image), number, &collisions)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	a, b := revision("i:1", 2, 0), revision("i:1", 1, 1)
	if a.Name == b.Name || !workload.SameRevision(a, b) || a.Labels["a"] != "b" || a.Annotations["k"] != "v" {
		t.Errorf("WORK-011, WORK-013: names %s and %s, labels %v, annotations %v", a.Name, b.Name, a.Labels, a.Annotations)
	}
	list := []*appsv1.ControllerRevision{a, b}
	if workload.SortRevisions(list); list[0] != b {
		t.Errorf("WORK-010: the first revision has number %d", list[0].Revision)
	}
	loose := a.DeepCopy()
	loose.Data.Raw = append([]byte(" "), loose.Data.Raw...)
	if workload.SameRevision(loose, a) || !workload.Restates(loose, a) || workload.Restates(loose, revision("i:2", 1, 0)) {
		t.Errorf("WORK-012: a revision that differs in blanks is another one")
	}
}

// TestExpectations has what a controller waits for.
func TestExpectations(t *testing.T) {
	now := time.Unix(0, 0)
	for _, tt := range []struct {
		rule, name string
		do         func(e *workload.Expectations)
		after      time.Duration
		met        bool
	}{
		{"WORK-008", "nothing is expected", func(*workload.Expectations) {}, 0, true},
		{"WORK-008", "one of two creations is missing", func(e *workload.Expectations) { e.Creations("k", 2, now); e.Created("k") }, 0, false},
		{"WORK-008", "all creations are delivered", func(e *workload.Expectations) { e.Creations("k", 1, now); e.Created("k") }, 0, true},
		{"WORK-008", "a pod counts once", func(e *workload.Expectations) {
			e.Deletions("k", []string{"a", "b"}, now)
			e.Deleted("k", "a")
			e.Deleted("k", "a")
		}, 0, false},
		{"WORK-008", "another pod does not count", func(e *workload.Expectations) { e.Deletions("k", []string{"a"}, now); e.Deleted("k", "b") }, 0, false},
		{"WORK-008", "after five minutes", func(e *workload.Expectations) { e.Creations("k", 1, now) }, 5*time.Minute + 1, true},
		{"WORK-008", "before five minutes", func(e *workload.Expectations) { e.Creations("k", 1, now) }, 5 * time.Minute, false},
	} {
		e := workload.NewExpectations()
		tt.do(e)
		if met := e.Met("k", now.Add(tt.after)); met != tt.met {
			t.Errorf("%s: %s: met = %v, want %v", tt.rule, tt.name, met, tt.met)
		}
	}
}
