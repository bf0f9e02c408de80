package differential

import (
	"fmt"
	"iter"
	"maps"
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

// Scheduling is a scenario of waiting pods and user steps, in which only the scheduler runs.
type Scheduling struct {
	// Objects exist from the beginning, stored literally.
	Objects []api.Object
	// Steps follow, each after the wait of the one before.
	Steps []Step
}

// Scheduler is one side of a scheduling scenario.
type Scheduler interface {
	// Verdicts returns the plugins' results for each waiting pod: once for all nodes, or node by node.
	Verdicts() ([]string, error)
	// Do runs a step. The error is the API server's.
	Do(Step) error
	Advance(time.Duration) error
	// Log returns what the scheduler has done since the last call: Events, and writes with all changed fields.
	Log() []string
}

// Schedule runs a scenario. It returns the plugins' first results, and what the scheduler did in each step.
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

// FirstStep is the time of the first step. Steps are never whole seconds apart, so the order at one instant does not matter.
const FirstStep = 11 * time.Millisecond

// VerdictLine is a plugin's result: the name of its code in Kubernetes, and its reasons.
func VerdictLine(where, code, plugin, reasons string) string {
	return fmt.Sprintf("%s: %s by %s: %s", where, code, plugin, reasons)
}

// ScoreLine has the scores of the plugins for a node, by name.
func ScoreLine(pod, node string, scores map[string]int64) string {
	line := pod + " on " + node + ": scores"
	for _, plugin := range slices.Sorted(maps.Keys(scores)) {
		if scores[plugin] != 0 {
			line += fmt.Sprintf(" %s=%d", plugin, scores[plugin])
		}
	}
	return line
}

// SchedulingLog describes what a scheduler did, in order. Background work of one millisecond, such as several bindings or evictions, is
// sorted by object.
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

// sortConcurrent sorts concurrent entries of one instant by object. Entries about one object keep their order.
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

// evicts reports whether an entry is about a preempted pod.
func evicts(e trace.Entry) bool {
	pod, ok := e.Old.(*corev1.Pod)
	return ok && pod.Spec.NodeName != "" || e.Reason == "Preempted"
}

// schedulingLines describes an entry.
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

// versions matches the resourceVersion in a claimRef: it counts all writes of a cluster, and is not compared.
var versions = regexp.MustCompile(`"resourceVersion":"[0-9]+"`)

// String returns the scenario as manifests followed by the steps.
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
