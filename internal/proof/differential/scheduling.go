package differential

import (
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/trace"
)

// Scheduling is a world in which pods want nodes, and what a user does there. Nobody but the scheduler is in it.
type Scheduling struct {
	// Objects are there from the beginning, as they are.
	Objects []api.Object
	// Steps follow, each as long after the one before as that waits.
	Steps []Step
}

// Scheduler is a scheduler in such a world.
type Scheduler interface {
	// Verdicts says what the plugins find about each pod that wants a node: once for all nodes, or node by node.
	Verdicts() ([]string, error)
	// Do takes a step. The error is that of the API server.
	Do(Step) error
	Advance(time.Duration) error
	// Log says what the scheduler has done since the last call: Events, and writes with all fields that they changed.
	Log() []string
}

// Schedule plays a world. It returns what the plugins found at first, and what the scheduler did, from step to step.
func Schedule(s Scheduler, world Scheduling) ([]string, error) {
	seen, err := s.Verdicts()
	if err != nil {
		return nil, err
	}
	if err := s.Advance(FirstStep); err != nil {
		return nil, err
	}
	for i, step := range world.Steps {
		seen = append(seen, s.Log()...)
		line := fmt.Sprintf("step %d", i)
		if err := s.Do(step); err != nil {
			line += ": " + reasonOf(err)
		}
		seen = append(seen, line)
		if err := s.Advance(step.Wait); err != nil {
			return nil, err
		}
	}
	return append(seen, s.Log()...), nil
}

// FirstStep is when the first step is taken. No step is taken a whole number of seconds after another one, so that nothing depends on what
// comes first of two things that are due at the same instant.
const FirstStep = 11 * time.Millisecond

// VerdictLine is what a plugin says: the name of its code as Kubernetes has it, and its reasons.
func VerdictLine(where, code, plugin, reasons string) string {
	return fmt.Sprintf("%s: %s by %s: %s", where, code, plugin, reasons)
}

// SchedulingLog describes what a scheduler did, in the order in which it did it. What it did in the background in the same millisecond, when
// several pods are bound or some are evicted, is sorted by the objects that it is about.
func SchedulingLog(entries iter.Seq[trace.Entry], scheduler string) []string {
	var lines []string
	var instant []trace.Entry
	at := ""
	end := func() {
		sortConcurrent(instant)
		for _, e := range instant {
			lines = append(lines, schedulingLines(at, e)...)
		}
		instant = nil
	}
	for e := range entries {
		if e.Actor != scheduler || e.Type == trace.Write && e.Object.Kind == api.Event {
			continue
		}
		if now := fmt.Sprintf("%10.3fs ", e.Time.Sub(Epoch).Seconds()); now != at {
			end()
			at = now
		}
		instant = append(instant, e)
	}
	end()
	return lines
}

// sortConcurrent sorts what happened at one instant as far as it has no order. What is about the same object keeps its order.
func sortConcurrent(instant []trace.Entry) {
	byObject := func(a, b trace.Entry) int { return strings.Compare(a.Object.String(), b.Object.String()) }
	evictions := func(a, b trace.Entry) int { return strings.Compare(fmt.Sprint(evicts(a)), fmt.Sprint(evicts(b))) }
	slices.SortStableFunc(instant, evictions)
	pods := map[api.Ref]bool{}
	for _, e := range instant {
		if e.Object.Kind == api.Pod && !evicts(e) {
			pods[e.Object] = true
		}
	}
	if len(pods) > 1 {
		slices.SortStableFunc(instant, byObject)
	}
}

// evicts reports whether an entry is about a pod that is to go for another.
func evicts(e trace.Entry) bool {
	pod, ok := e.Old.(*corev1.Pod)
	return ok && pod.Spec.NodeName != "" || e.Reason == "Preempted"
}

// schedulingLines are what an entry says.
func schedulingLines(at string, e trace.Entry) []string {
	at += e.Object.String() + " "
	switch {
	case e.Type == trace.Emitted:
		return []string{fmt.Sprintf("%s%s %s: %s", at, e.Verb, e.Reason, e.Text)}
	case e.Type != trace.Write:
		return nil
	case e.Err != nil:
		return []string{fmt.Sprintf("%s%s: %s", at, e.Verb, reasonOf(e.Err))}
	}
	lines := []string{at + e.Verb}
	for _, change := range trace.Changes(e.Old, e.New) {
		if strings.HasSuffix(change.Path, ".resourceVersion") {
			change.New = "(some)"
		}
		lines = append(lines, fmt.Sprintf("%s  %s: %s", at, change.Path, versions.ReplaceAllString(change.New, `"resourceVersion":"(some)"`)))
	}
	return lines
}

// versions finds the resourceVersion that a claimRef takes along: it counts all writes of a cluster, and is compared nowhere.
var versions = regexp.MustCompile(`"resourceVersion":"[0-9]+"`)

// String is the world as manifests, with the steps behind them.
func (s Scheduling) String() string {
	var text strings.Builder
	manifest := func(obj api.Object) {
		obj = obj.DeepCopyObject().(api.Object)
		obj.GetObjectKind().SetGroupVersionKind(store.GroupVersionKind(api.KindOf(obj)))
		data, err := yaml.Marshal(obj)
		if err != nil {
			data = []byte(err.Error())
		}
		fmt.Fprintf(&text, "---\n%s", data)
	}
	for _, obj := range s.Objects {
		manifest(obj)
	}
	for i, step := range s.Steps {
		fmt.Fprintf(&text, "--- # step %d: %s %s %s %s %+v, and then %v\n", i, step.Op, step.Ref, step.Sub, step.Patch, step.Rule, step.Wait)
		if step.Object != nil {
			manifest(step.Object)
		}
	}
	return text.String()
}
