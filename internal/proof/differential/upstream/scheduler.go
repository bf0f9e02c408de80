package upstream

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/retry"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/controller"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/internal/proof/differential"
	"github.com/volsim/volsim/internal/proof/differential/apiserver"
	"github.com/volsim/volsim/internal/proof/differential/harness"
	"github.com/volsim/volsim/trace"
)

// Scheduler is kube-scheduler with its default profile, except that among nodes with the same score the first by name wins (SCHED-026). It
// must be created, used and closed inside a bubble of testing/synctest, in one goroutine.
type Scheduler struct {
	server  *apiserver.Server
	faults  *fake.Faults
	real    *scheduler.Scheduler
	ctx     context.Context
	stop    context.CancelFunc
	running sync.WaitGroup
	wait    func()
	started atomic.Bool
	hints   queue.QueueingHintMap // nil before anybody asked

	mu      sync.Mutex
	entries []trace.Entry // since the last log
	random  *rand.Rand    // nil for none
}

var _ differential.Scheduler = (*Scheduler)(nil)

// NewScheduler starts a scheduler with these objects. It begins to work in the first Advance. wait waits until every goroutine of the
// bubble waits: synctest.Wait. With seed zero all requests take the same time, else random times.
func NewScheduler(objects []api.Object, seed uint64, wait func()) (*Scheduler, error) {
	s := &Scheduler{faults: fake.NewFaults(), wait: wait}
	if seed > 0 {
		s.random = rand.New(rand.NewPCG(seed, 0))
	}
	s.server = apiserver.New(apiserver.Config{Inject: s.faults.Inject, Wrote: s.record, Delay: s.briefly})
	var err error
	s.server.Do(func(db *store.Store) {
		for _, obj := range objects {
			if _, err = db.Load(obj.DeepCopyObject().(api.Object)); err != nil {
				return
			}
		}
	})
	if err != nil {
		return nil, err
	}
	s.ctx, s.stop = context.WithCancel(klog.NewContext(context.Background(), harness.Discard))
	if err := s.prepare(); err != nil {
		s.Close()
		return nil, err
	}
	wait()
	return s, nil
}

// prepare creates the scheduler, and starts informers of the existing kinds. All other kinds are empty.
func (s *Scheduler) prepare() error {
	client, err := s.server.Client(actors.Scheduler)
	if err != nil {
		return err
	}
	shared := sortedFactory{scheduler.NewInformerFactory(client, 0)}
	cfg, err := latest.Default()
	if err != nil {
		return err
	}
	profile := &cfg.Profiles[0]
	profile.Plugins.Score = config.PluginSet{Enabled: append(scoring(), config.Plugin{Name: firstByName, Weight: 1})}
	registry := frameworkruntime.Registry{firstByName: func(_ context.Context, _ runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
		return nameScore{handle}, nil
	}}
	s.real, err = scheduler.New(s.ctx, client, shared, nil, func(string) events.EventRecorderLogger { return eventRecorder{s} },
		scheduler.WithProfiles(cfg.Profiles...), scheduler.WithFrameworkOutOfTreeRegistry(registry), scheduler.WithParallelism(1))
	if err != nil {
		return fmt.Errorf("scheduler: %w", err)
	}
	core, storage := shared.Core().V1(), shared.Storage().V1()
	for _, informer := range []cache.SharedIndexInformer{
		core.Nodes().Informer(), core.PersistentVolumes().Informer(), core.PersistentVolumeClaims().Informer(), core.Pods().Informer(),
		storage.StorageClasses().Informer(), storage.CSIDrivers().Informer(), storage.CSINodes().Informer(),
		storage.CSIStorageCapacities().Informer(), storage.VolumeAttachments().Informer(),
		core.Namespaces().Informer(), shared.Policy().V1().PodDisruptionBudgets().Informer(), core.Services().Informer(),
		core.ReplicationControllers().Informer(), shared.Apps().V1().ReplicaSets().Informer(), shared.Apps().V1().StatefulSets().Informer(),
	} {
		s.running.Go(func() { informer.RunWithContext(s.ctx) })
	}
	return nil
}

// Verdicts returns the plugins' results.
func (s *Scheduler) Verdicts() ([]string, error) {
	profile := s.real.Profiles[corev1.DefaultSchedulerName]
	snapshot, ok := profile.SnapshotSharedLister().(*internalcache.Snapshot)
	if !ok {
		return nil, fmt.Errorf("the snapshot is a %T", profile.SnapshotSharedLister())
	}
	if err := s.real.Cache.UpdateSnapshot(harness.Discard, snapshot); err != nil {
		return nil, err
	}
	nodes, err := snapshot.NodeInfos().List()
	if err != nil {
		return nil, err
	}
	nodes = slices.SortedFunc(slices.Values(nodes), func(a, b fwk.NodeInfo) int { return strings.Compare(a.Node().Name, b.Node().Name) })
	var pods []*corev1.Pod
	s.server.Do(func(db *store.Store) { pods = db.Pods.List() })
	var lines []string
	for _, pod := range pods {
		if pod.Spec.NodeName == "" && len(pod.Spec.SchedulingGates) == 0 {
			lines = append(lines, s.verdict(profile, pod, nodes)...)
		}
	}
	return lines, nil
}

// verdict returns the plugins' results for a pod.
func (s *Scheduler) verdict(profile framework.Framework, pod *corev1.Pod, nodes []fwk.NodeInfo) []string {
	key := api.KeyOf(pod)
	if len(nodes) == 0 {
		return []string{differential.VerdictLine(key, "NoNodes", "", scheduler.ErrNoNodesAvailable.Error())}
	}
	state := framework.NewCycleState()
	if _, status, _ := profile.RunPreFilterPlugins(s.ctx, state, pod); !status.IsSuccess() {
		return []string{statusLine(key, status)}
	}
	var lines []string
	var fit []fwk.NodeInfo
	for _, node := range nodes {
		status := profile.RunFilterPlugins(s.ctx, state, pod, node)
		if status.Code() == fwk.Error {
			return []string{statusLine(key, status)}
		}
		lines = append(lines, statusLine(key+" on "+node.Node().Name, status))
		if status.IsSuccess() {
			fit = append(fit, node)
		}
	}
	return append(lines, s.scores(profile, state, pod, fit)...)
}

// scores returns the scores of the plugins for the nodes that a pod fits on.
func (s *Scheduler) scores(profile framework.Framework, state fwk.CycleState, pod *corev1.Pod, nodes []fwk.NodeInfo) []string {
	if len(nodes) < 2 {
		return nil
	}
	if status := profile.RunPreScorePlugins(s.ctx, state, pod, nodes); !status.IsSuccess() {
		return []string{status.Message()}
	}
	all, status := profile.RunScorePlugins(s.ctx, state, pod, nodes)
	if !status.IsSuccess() {
		return []string{status.Message()}
	}
	var lines []string
	for _, node := range all {
		scores := map[string]int64{}
		for _, plugin := range node.Scores {
			for _, known := range scoring() {
				if known.Name == plugin.Name {
					scores[plugin.Name] = plugin.Score / int64(known.Weight)
				}
			}
		}
		// Plugins that have nothing to say about the pod have no score, or 0.
		lines = append(lines, differential.ScoreLine(api.KeyOf(pod), node.Name, scores))
	}
	return lines
}

// scoring returns the plugins that score by default, with their weights. The weights are multiplied by a number that leaves room for a
// plugin that decides ties.
func scoring() []config.Plugin {
	const room = 1000
	return []config.Plugin{
		{Name: names.TaintToleration, Weight: 3 * room}, {Name: names.NodeAffinity, Weight: 2 * room}, {Name: names.NodeResourcesFit, Weight: room},
		{Name: names.PodTopologySpread, Weight: 2 * room}, {Name: names.InterPodAffinity, Weight: 2 * room},
		{Name: names.NodeResourcesBalancedAllocation, Weight: room}, {Name: names.ImageLocality, Weight: room},
	}
}

func statusLine(where string, status *fwk.Status) string {
	switch status.Code() {
	case fwk.Success:
		return differential.VerdictLine(where, status.Code().String(), "", "")
	case fwk.Error:
		return differential.VerdictLine(where, status.Code().String(), "", status.AsError().Error())
	}
	return differential.VerdictLine(where, status.Code().String(), status.Plugin(), status.Message())
}

// Do runs a step.
func (s *Scheduler) Do(step differential.Step) (err error) {
	s.server.Do(func(db *store.Store) {
		switch step.Op {
		case differential.Create:
			_, err = db.Create(step.Object.DeepCopyObject().(api.Object))
		case differential.Patch:
			_, err = db.Patch(step.Ref.Kind, step.Ref.Key, []byte(step.Patch), step.Sub)
		case differential.Delete:
			_, err = db.Delete(step.Ref.Kind, step.Ref.Key, step.DeleteOptions())
		case differential.Fault:
			err = step.Rule.Add(s.faults)
		}
	})
	return err
}

// Advance advances time.
func (s *Scheduler) Advance(d time.Duration) error {
	if s.started.CompareAndSwap(false, true) {
		s.running.Go(func() { s.real.Run(s.ctx) })
	}
	time.Sleep(d)
	s.wait()
	return nil
}

// Log returns what the scheduler has done since the last call.
func (s *Scheduler) Log() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := differential.SchedulingLog(slices.Values(s.entries), actors.Scheduler)
	s.entries = nil
	return lines
}

// Close ends the scheduler and waits until all goroutines have ended.
func (s *Scheduler) Close() {
	s.stop()
	s.running.Wait()
	// The metrics goroutine checks once a second whether it should stop.
	time.Sleep(2 * time.Second)
}

// briefly makes requests so short that no log shows it, and delivers their watch events before their answers. The informers' first
// requests take no time.
func (s *Scheduler) briefly(string) time.Duration {
	if !s.started.Load() {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.random == nil {
		return time.Microsecond
	}
	return time.Microsecond + time.Duration(s.random.IntN(10_000))
}

func (s *Scheduler) record(e trace.Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entries = append(s.entries, e)
}

// eventRecorder records Events as they are emitted.
type eventRecorder struct{ scheduler *Scheduler }

func (r eventRecorder) WithLogger(klog.Logger) events.EventRecorderLogger { return r }

func (r eventRecorder) Eventf(regarding, _ runtime.Object, kind, reason, _, note string, args ...any) {
	obj, ok := regarding.(api.Object)
	if !ok {
		return
	}
	r.scheduler.record(trace.Entry{
		Time: time.Now(), Actor: actors.Scheduler, Type: trace.Emitted,
		Object: api.RefTo(obj), Verb: kind, Reason: reason, Text: fmt.Sprintf(note, args...),
	})
}

// firstByName is the name of a plugin that prefers the first node by name.
const firstByName = "FirstByName"

type nameScore struct{ handle fwk.Handle }

func (nameScore) Name() string { return firstByName }

func (p nameScore) Score(_ context.Context, _ fwk.CycleState, _ *corev1.Pod, node fwk.NodeInfo) (int64, *fwk.Status) {
	nodes, err := p.handle.SnapshotSharedLister().NodeInfos().List()
	if err != nil {
		return 0, fwk.AsStatus(err)
	}
	score := fwk.MaxNodeScore
	for _, other := range nodes {
		if cmp.Less(other.Node().Name, node.Node().Name) {
			score--
		}
	}
	return score, nil
}

func (nameScore) ScoreExtensions() fwk.ScoreExtensions { return nil }

// Unjittered removes the random part of the backoff of client-go, and of controllers that change nodes.
func Unjittered() {
	retry.DefaultBackoff.Jitter = 0
	controller.UpdateTaintBackoff.Jitter, controller.UpdateLabelBackoff.Jitter = 0, 0
}

// SignalsOutside makes the Go runtime start its signal goroutine now: a scheduler asks for signals, and inside a bubble that goroutine
// would never end.
func SignalsOutside() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR2)
	signal.Stop(signals)
}
