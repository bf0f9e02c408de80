package upstream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/config"
	"k8s.io/kubernetes/pkg/kubelet/volumemanager"
	"k8s.io/kubernetes/pkg/volume"
	"k8s.io/kubernetes/pkg/volume/csi/nodeinfomanager"
	"k8s.io/kubernetes/pkg/volume/util/hostutil"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/kubeletdefs"
	"github.com/volsim/volsim/internal/proof/differential/apiserver"
	"github.com/volsim/volsim/internal/proof/differential/harness"
	"github.com/volsim/volsim/trace"
)

// machine is the part of a node that outlives its kubelet: a directory, the mounts below it, and containers.
type machine struct {
	cluster *Cluster
	name    string
	root    string
	mounter *mounter
	boots   int

	mu         sync.Mutex
	containers map[types.UID]*containers // those of pods
	loops      map[string]bool           // files that a loop device holds
	kubelet    *kubelet                  // nil while none runs
}

// containers are those of one pod.
type containers struct {
	exit   corev1.PodPhase // how they ended, "" while they run
	groups []int64         // that volumes give them
}

// kubelet is one life of a kubelet: the real volume manager with the real CSI plugin, and around it our code, which works like package
// mount.
type kubelet struct {
	*machine
	actor    string
	client   kubernetes.Interface
	hostutil hostutil.HostUtils
	plugins  volume.VolumePluginMgr
	volumes  volumemanager.VolumeManager
	nodes    corelisters.NodeLister
	pods     *podManager
	statuses *podStatuses
	// began is when the loops began.
	began time.Time
	// registered is set when the API server has the Node.
	registered bool
	// csiNode maintains the CSINode.
	csiNode nodeinfomanager.Interface
	// ending has, by end time, a channel that is closed when the operation that began last and ends then has ended.
	ending map[time.Time]chan struct{}
	// begins contains the pods whose wait for volumes is about to begin.
	begins sync.Map
	// ctx ends when the kubelet stops.
	ctx  context.Context
	stop context.CancelFunc
}

// newMachine returns a machine.
func (c *Cluster) newMachine(name string) (*machine, error) {
	root, err := os.MkdirTemp("", "kubelet-")
	if err != nil {
		return nil, err
	}
	m := &machine{cluster: c, name: name, root: root, boots: 1, containers: map[types.UID]*containers{}, loops: map[string]bool{}}
	m.mounter = newMounter(m)
	roots.Store(root, m)
	return m, nil
}

func (m *machine) podsDir() string             { return filepath.Join(m.root, "pods") }
func (m *machine) podDir(pod types.UID) string { return filepath.Join(m.podsDir(), string(pod)) }
func (m *machine) bootID() string              { return fmt.Sprintf("%s-boot-%d", m.name, m.boots) }

// kubeletActors are the kubelets of scenarios.
var kubeletActors = []string{actors.Kubelet("n1"), actors.Kubelet("n2")}

// start starts a kubelet if none runs.
func (m *machine) start() error {
	if m.Running() {
		return nil
	}
	ctx, stop := context.WithCancel(m.cluster.Context)
	k := &kubelet{machine: m, actor: actors.Kubelet(m.name), hostutil: hostUtils{hostutil.NewHostUtil(), m},
		ending: map[time.Time]chan struct{}{}, ctx: ctx, stop: stop}
	client, err := apiserver.ClientThrough(mortal{k}, k.actor)
	if err != nil {
		return err
	}
	k.client = client
	m.mu.Lock()
	m.kubelet = k
	m.mu.Unlock()
	delay := m.cluster.phase(m.name)
	m.cluster.Running.Go(func() {
		if sleepUntil(ctx, delay) != nil {
			return
		}
		if err := k.run(ctx); err != nil {
			panic(err)
		}
	})
	return nil
}

func sleepUntil(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// arrival is how long a starting kubelet takes to receive its pods.
const arrival = 5 * time.Millisecond

// run runs the kubelet.
func (k *kubelet) run(ctx context.Context) error {
	quiet := klog.NewContext(ctx, harness.Discard)
	k.began = time.Now()
	host := &volumeHost{kubelet: k, drivers: informers.NewSharedInformerFactory(k.client, 0)}
	own := informers.NewSharedInformerFactoryWithOptions(k.client, 0, informers.WithTweakListOptions(func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector("metadata.name", k.name).String()
	}))
	k.nodes = own.Core().V1().Nodes().Lister()
	pods := informers.NewSharedInformerFactoryWithOptions(k.client, 0, informers.WithTweakListOptions(func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector("spec.nodeName", k.name).String()
	})).Core().V1().Pods().Informer()
	k.pods = newPodManager(k)
	if _, err := pods.AddEventHandler(k.pods); err != nil {
		return err
	}
	if err := host.initialize(&k.plugins, append(ownPlugins(k.machine), newCSIPlugin(k))...); err != nil {
		return err
	}
	k.volumes = volumemanager.NewVolumeManager(true, types.NodeName(k.name), k.pods, k.pods, k.client, &k.plugins, k.mounter, k.hostutil,
		k.podsDir(), recorder{k}, newBlockHandler(k.machine))
	limits, err := newLimitUpdater(k, host.drivers.Storage().V1().CSIDrivers().Informer())
	if err != nil {
		return err
	}
	k.watchLoops(k.volumes)
	k.csiNode = k.newCSINode()
	status := newNodeStatus(k)
	// MNT-365: whoever made the Node stands for the kubelet.
	if slices.ContainsFunc(k.cluster.Objects(api.Node), func(node api.Object) bool { return node.GetName() == k.name }) {
		k.registered = status.tryRegister(quiet)
	}
	if err := k.startStatuses(); err != nil {
		return err
	}
	own.StartWithContext(quiet)
	k.cluster.Running.Go(func() {
		// The first pods arrive when the loops run, like later ones. No loop that waits for permits has made a pass by then.
		if k.cluster.Sequencer != nil || !k.cluster.cfg.Sorted || sleepUntil(ctx, arrival) == nil {
			pods.RunWithContext(quiet)
		}
	})
	k.cluster.Running.Go(func() { k.publishDriver(ctx, limits) })
	k.cluster.Running.Go(func() { status.run(quiet) })
	k.cluster.Running.Go(func() { k.keepHouse(ctx, pods.HasSynced) })
	k.volumes.Run(quiet, config.NewSourcesReady(func(sets.Set[string]) bool { return pods.HasSynced() }))
	own.Shutdown()
	host.drivers.Shutdown()
	return nil
}

// dead reports whether the kubelet was stopped.
func (k *kubelet) dead() bool { return k.ctx.Err() != nil }

// live blocks if the kubelet is dead, because an ended process does nothing more. It blocks until the cluster ends, and then returns an
// error.
func (k *kubelet) live() error {
	if !k.dead() {
		return nil
	}
	<-k.cluster.Context.Done()
	return errDead
}

var errDead = errors.New("the kubelet is dead")

// mortal sends the requests of a kubelet while it lives.
type mortal struct{ kubelet *kubelet }

// RoundTrip implements http.RoundTripper.
func (m mortal) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := m.kubelet.live(); err != nil {
		return nil, err
	}
	began := time.Now()
	// What has not taken effect when the kubelet ends never does.
	ctx, cancel := context.WithCancel(req.Context())
	unbind := context.AfterFunc(m.kubelet.ctx, cancel)
	resp, err := m.kubelet.cluster.Server.RoundTrip(req.WithContext(ctx))
	if err != nil || !req.URL.Query().Has("watch") {
		unbind()
		cancel()
	}
	// MNT-014: the passes of this instant come before an operation goes on.
	if time.Now().After(began) && inOperation() {
		m.kubelet.pass(harness.Ends)
	}
	if dead := m.kubelet.live(); dead != nil {
		return nil, dead
	}
	return resp, err
}

// inOperation reports whether the caller is an operation on a volume.
func inOperation() bool {
	const depth = 100
	callers := make([]uintptr, depth)
	frames := goruntime.CallersFrames(callers[:goruntime.Callers(1, callers)])
	for frame, more := frames.Next(); more; frame, more = frames.Next() {
		if strings.Contains(frame.Function, "/nestedpendingoperations.") {
			return true
		}
	}
	return false
}

// recorder records the Events of a kubelet.
type recorder struct{ kubelet *kubelet }

var _ record.EventRecorder = recorder{}

// WithLogger implements record.EventRecorderLogger.
func (r recorder) WithLogger(klog.Logger) record.EventRecorderLogger { return r }

// Event emits an Event. Paths are rewritten to the usual root directory.
func (r recorder) Event(obj runtime.Object, eventType, reason, message string) {
	k := r.kubelet
	if k.dead() {
		return
	}
	ref, named := api.Ref{}, false
	if node, ok := obj.(*corev1.ObjectReference); ok {
		ref, named = api.Ref{Kind: api.Kind(node.Kind), Key: node.Name}, true
	}
	if !named {
		ref = api.RefTo(obj.(api.Object))
	}
	k.cluster.Record(trace.Entry{
		Time: time.Now(), Actor: k.actor, Type: trace.Emitted, Object: ref,
		Verb: eventType, Reason: reason, Text: strings.ReplaceAll(message, k.root, kubeletdefs.Root),
	})
}

// Eventf is Event with a format.
func (r recorder) Eventf(obj runtime.Object, eventType, reason, format string, args ...any) {
	r.Event(obj, eventType, reason, fmt.Sprintf(format, args...))
}

// AnnotatedEventf is Eventf; annotations are ignored.
func (r recorder) AnnotatedEventf(obj runtime.Object, _ map[string]string, eventType, reason, format string, args ...any) {
	r.Eventf(obj, eventType, reason, format, args...)
}
