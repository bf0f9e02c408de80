package differential

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/controllers/schedule"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/snapshot"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/trace"
)

// OurScheduler is the simulated scheduler.
type OurScheduler struct {
	engine *engine.Engine
	faults *fake.Faults
	seen   uint64 // of the trace
}

// NewOurScheduler starts our scheduler with these objects. It begins to work in the first Advance.
func NewOurScheduler(objects []api.Object) (*OurScheduler, error) {
	s := &OurScheduler{faults: fake.NewFaults()}
	var err error
	if s.engine, err = engine.New(engine.Config{Start: Epoch, Trace: &trace.Trace{}, Injector: s.faults, Latency: requestTime}); err != nil {
		return nil, err
	}
	for _, obj := range objects {
		if _, err := s.engine.Store().Load(obj.DeepCopyObject().(api.Object)); err != nil {
			return nil, err
		}
	}
	_, err = schedule.New(s.engine, schedule.Config{Parallelism: 1}) // as the real one in package upstream
	return s, err
}

// requestTime is the duration of a request. It is too short to show in a log, but other activities run meanwhile.
const requestTime = 2 * time.Microsecond

// Verdicts returns the plugins' results.
func (s *OurScheduler) Verdicts() ([]string, error) {
	all := snapshot.Of(s.engine.Store(), s.engine.Now())
	evaluator := schedule.NewEvaluator(&all)
	var lines []string
	for _, pod := range all.Pods {
		if pod.Spec.NodeName != "" || len(pod.Spec.SchedulingGates) > 0 {
			continue
		}
		key := api.KeyOf(pod)
		d := evaluator.Decide(pod)
		if d.Rule != "" {
			code := map[string]string{"SCHED-237": "Error", "SCHED-022": "NoNodes"}[d.Rule]
			lines = append(lines, VerdictLine(key, cmp.Or(code, codeOf(d.Unresolvable)), d.Plugin, d.Message))
			continue
		}
		for _, node := range d.Nodes {
			code := "Success"
			if node.Rule != "" {
				code = codeOf(node.Unresolvable)
			}
			lines = append(lines, VerdictLine(key+" on "+node.Node, code, node.Plugin, strings.Join(node.Reasons, ", ")))
		}
		scores, err := evaluator.Scores(pod)
		if err != nil {
			lines = append(lines, err.Error())
		}
		for _, node := range scores {
			byPlugin := map[string]int64{}
			for _, plugin := range node.Plugins {
				byPlugin[plugin.Plugin] = plugin.Score
			}
			lines = append(lines, ScoreLine(key, node.Node, byPlugin))
		}
	}
	return lines, nil
}

func codeOf(unresolvable bool) string {
	if unresolvable {
		return "UnschedulableAndUnresolvable"
	}
	return "Unschedulable"
}

// Do runs a step.
func (s *OurScheduler) Do(step Step) (err error) {
	server, user := s.engine.API(), s.engine.User()
	switch step.Op {
	case Create:
		_, err = server.Create(user, step.Object.DeepCopyObject().(api.Object), store.CreateOptions{})
	case Patch:
		_, err = server.Patch(user, step.Ref, []byte(step.Patch), step.Sub)
	case Delete:
		_, err = server.Delete(user, step.Ref, step.DeleteOptions())
	case Fault:
		err = step.Rule.Add(s.faults)
	case Advance:
	default:
		err = fmt.Errorf("a scheduling scenario has no step %q", step.Op)
	}
	return err
}

// Advance advances virtual time.
func (s *OurScheduler) Advance(d time.Duration) error {
	s.engine.Advance(d)
	return nil
}

// Log returns what the scheduler has done since the last call.
func (s *OurScheduler) Log() []string {
	lines := SchedulingLog(s.engine.Trace().Since(s.seen), actors.Scheduler)
	s.seen = s.engine.Trace().Seq()
	return slices.Clip(lines)
}

// Close ends the cluster.
func (s *OurScheduler) Close() { s.engine.Close() }
