package bench

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/storage"
)

// BenchmarkLifecycleFloor measures what no implementation of the life of a pod on this store and engine can avoid: the writes, the Events
// and the storage calls of BenchmarkLifecycle, with the API server's checks, the delivery of the writes to as many informers as a cluster
// has, and a queue turn for each step. It decides nothing, and one actor does everything.
func BenchmarkLifecycleFloor(b *testing.B) {
	for _, pods := range []int{1_000, 10_000} {
		b.Run(fmt.Sprintf("pods=%d", pods), func(b *testing.B) {
			b.ReportAllocs()
			cpu := time.Duration(0)
			for b.Loop() {
				b.StopTimer()
				f := newLifecycleFloor(b, pods)
				b.StartTimer()
				began := cpuTime()
				f.run(b, pods)
				cpu += cpuTime() - began
			}
			total := float64(pods) * float64(b.N)
			b.ReportMetric(total/b.Elapsed().Seconds(), "pods/s")
			reportCPU(b, cpu, total, "pod")
		})
	}
}

// lifecycleFloor takes every pod through the steps of its life. All objects of a pod have one name, so that any change of them queues the
// pod.
type lifecycleFloor struct {
	engine *engine.Engine
	driver *fake.Memory
	events *engine.Recorder
	queue  *engine.Queue
	pods   map[string]*floorPod
	steps  []func(p *engine.Process, pod *floorPod) error
}

type floorPod struct {
	name, key, node string
	step            int
	deleted         bool
}

// The informers of a cluster with one CSI driver, by kind. The selective ones of kubelets are not counted.
var floorInformers = map[api.Kind]int{api.Pod: 8, api.PersistentVolumeClaim: 9, api.PersistentVolume: 8, api.Node: 6, api.VolumeAttachment: 4}

func newLifecycleFloor(b *testing.B, pods int) *lifecycleFloor {
	b.Helper()
	e, err := engine.New(engine.Config{})
	must(b, err)
	f := &lifecycleFloor{engine: e, driver: fake.CSI(diskDriver), pods: make(map[string]*floorPod, pods)}
	f.steps = f.life()
	for i := range pods / podsPerNode {
		_, err := e.Store().Nodes.Create(fake.Node(fmt.Sprintf("n%05d", i)))
		must(b, err)
	}
	_, err = e.NewActor("everything", f.start)
	must(b, err)
	for i := 1; i < floorInformers[api.PersistentVolumeClaim]; i++ {
		_, err := e.NewActor(fmt.Sprint("onlooker ", i), func(a *engine.Actor) {
			watch(a, i, e.Store().Pods)
			watch(a, i, e.Store().Claims)
			watch(a, i, e.Store().Volumes)
			watch(a, i, e.Store().Nodes)
			watch(a, i, e.Store().Attachments)
		})
		must(b, err)
	}
	must(b, e.Settle(time.Hour))
	return f
}

// watch gives the ith onlooker an informer, unless there are enough of that kind.
func watch[T api.Object](a *engine.Actor, i int, table store.Table[T]) {
	if i < floorInformers[table.Kind()] {
		engine.NewInformer(a, table)
	}
}

func (f *lifecycleFloor) start(a *engine.Actor) {
	s := f.engine.Store()
	f.events = a.NewRecorder("everything")
	f.queue = a.NewQueue(engine.QueueConfig{Name: "pods", Sync: f.sync})
	follow(f, a, s.Pods)
	follow(f, a, s.Claims)
	follow(f, a, s.Volumes)
	follow(f, a, s.Attachments)
	engine.NewInformer(a, s.Nodes)
}

// follow queues the pod of each changed object.
func follow[T api.Object](f *lifecycleFloor, a *engine.Actor, table store.Table[T]) {
	engine.NewInformer(a, table).Handle(engine.Handler[T]{
		Add:    func(obj T) { f.queue.Add(obj.GetName()) },
		Update: func(_, obj T) { f.queue.Add(obj.GetName()) },
		Delete: func(obj T) { f.queue.Add(obj.GetName()) },
	})
}

// sync takes the next step in the life of a pod.
func (f *lifecycleFloor) sync(p *engine.Process, name string) error {
	pod := f.pods[name]
	if pod.step == len(f.steps) || pod.step == f.stepsUp() && !pod.deleted {
		return nil
	}
	step := f.steps[pod.step]
	pod.step++
	return step(p, pod)
}

// stepsUp is the number of steps until the pod runs.
func (f *lifecycleFloor) stepsUp() int { return 12 }

func (f *lifecycleFloor) run(b *testing.B, pods int) {
	b.Helper()
	server, user := f.engine.API(), f.engine.User()
	for i := range pods {
		name := claimName(i)
		f.pods[name] = &floorPod{name: name, key: "default/" + name, node: fmt.Sprintf("n%05d", i/podsPerNode)}
		_, err := server.Claims.Create(user, fake.Claim(name, "1Gi", fake.InClass("disk")))
		must(b, err)
		_, err = server.Pods.Create(user, fake.Pod(name, fake.Claims(name)))
		must(b, err)
	}
	must(b, f.engine.Settle(time.Hour))
	for i := range pods {
		pod := f.pods[claimName(i)]
		if pod.step != f.stepsUp() {
			b.Fatalf("pod %s has taken %d steps, want %d", pod.name, pod.step, f.stepsUp())
		}
		pod.deleted = true
		_, err := server.Pods.Delete(user, pod.key, api.DeleteOptions{})
		must(b, err)
		_, err = server.Claims.Delete(user, pod.key, api.DeleteOptions{})
		must(b, err)
	}
	must(b, f.engine.Settle(time.Hour))
	s := f.engine.Store()
	if left := s.Pods.Len() + s.Claims.Len() + s.Volumes.Len() + s.Attachments.Len(); left != 0 {
		b.Fatalf("%d objects are left", left)
	}
}

// life returns the steps of a pod's life. Each has one write of an object of the pod, which leads to the next step, and what belongs to
// it: Events, storage calls, writes of the Node.
func (f *lifecycleFloor) life() []func(p *engine.Process, pod *floorPod) error {
	server := f.engine.API()
	claim := func(sub api.Subresource, edit func(*corev1.PersistentVolumeClaim, *floorPod)) func(*engine.Process, *floorPod) error {
		return func(p *engine.Process, pod *floorPod) error {
			_, err := server.Claims.PatchWith(p, pod.key, func(c *corev1.PersistentVolumeClaim) error { edit(c, pod); return nil }, sub)
			return err
		}
	}
	volume := func(sub api.Subresource, edit func(*corev1.PersistentVolume)) func(*engine.Process, *floorPod) error {
		return func(p *engine.Process, pod *floorPod) error {
			_, err := server.Volumes.PatchWith(p, pod.name, func(pv *corev1.PersistentVolume) error { edit(pv); return nil }, sub)
			return err
		}
	}
	attachment := func(sub api.Subresource, edit func(*storagev1.VolumeAttachment)) func(*engine.Process, *floorPod) error {
		return func(p *engine.Process, pod *floorPod) error {
			_, err := server.Attachments.PatchWith(p, pod.name, func(va *storagev1.VolumeAttachment) error { edit(va); return nil }, sub)
			return err
		}
	}
	status := func(edit func(*corev1.PodStatus)) func(*engine.Process, *floorPod) error {
		return func(p *engine.Process, pod *floorPod) error {
			_, err := server.Pods.PatchWith(p, pod.key, func(pod *corev1.Pod) error { edit(&pod.Status); return nil }, api.Status)
			return err
		}
	}
	return []func(*engine.Process, *floorPod) error{
		status(func(s *corev1.PodStatus) { s.Conditions = conditions(corev1.ConditionFalse, corev1.PodScheduled) }),
		claim(api.Main, func(c *corev1.PersistentVolumeClaim, _ *floorPod) {
			c.Annotations = map[string]string{"volume.kubernetes.io/storage-provisioner": diskDriver}
		}),
		f.provision,
		volume(api.Status, func(pv *corev1.PersistentVolume) { pv.Status.Phase = corev1.VolumeBound }),
		claim(api.Main, func(c *corev1.PersistentVolumeClaim, pod *floorPod) {
			c.Spec.VolumeName = pod.name
			c.Annotations = objects.MergeStrings(c.Annotations, boundAnnotations)
		}),
		claim(api.Status, func(c *corev1.PersistentVolumeClaim, _ *floorPod) {
			c.Status.Phase, c.Status.Capacity, c.Status.AccessModes = corev1.ClaimBound, c.Spec.Resources.Requests, c.Spec.AccessModes
		}),
		func(p *engine.Process, pod *floorPod) error {
			bound, err := server.Bind(p, pod.key, &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: pod.node}})
			if err == nil {
				f.event(p, bound, "Scheduled")
			}
			return err
		},
		status(func(s *corev1.PodStatus) {
			s.Conditions = conditions(corev1.ConditionFalse, corev1.PodScheduled, corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady)
		}),
		func(p *engine.Process, pod *floorPod) error {
			va := &storagev1.VolumeAttachment{Spec: storagev1.VolumeAttachmentSpec{Attacher: diskDriver, NodeName: pod.node,
				Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &pod.name}}}
			va.Name, va.Finalizers = pod.name, []string{"example.com/attacher"}
			_, err := server.Attachments.Create(p, va)
			return err
		},
		volume(api.Main, func(pv *corev1.PersistentVolume) {
			pv.Finalizers, _ = objects.WithFinalizer(pv.Finalizers, "example.com/attacher")
		}),
		f.attach,
		f.mount,
		// The pod and the claim are deleted.
		f.unmount,
		func(p *engine.Process, pod *floorPod) error {
			_, err := server.Pods.Delete(p, pod.key, api.DeleteOptions{GracePeriodSeconds: new(int64(0))})
			return err
		},
		claim(api.Main, func(c *corev1.PersistentVolumeClaim, _ *floorPod) { c.Finalizers = nil }),
		volume(api.Status, func(pv *corev1.PersistentVolume) { pv.Status.Phase = corev1.VolumeReleased }),
		f.detach,
		attachment(api.Main, func(va *storagev1.VolumeAttachment) { va.Finalizers = nil }),
		f.release,
		volume(api.Main, func(pv *corev1.PersistentVolume) { pv.Finalizers = pv.Finalizers[1:] }),
		volume(api.Main, func(pv *corev1.PersistentVolume) { pv.Finalizers = nil }),
	}
}

func conditions(status corev1.ConditionStatus, kinds ...corev1.PodConditionType) []corev1.PodCondition {
	list := make([]corev1.PodCondition, len(kinds))
	for i, kind := range kinds {
		list[i] = corev1.PodCondition{Type: kind, Status: status}
	}
	return list
}

func (f *lifecycleFloor) event(p *engine.Process, about api.Object, reason string) {
	f.events.Event(p, about, corev1.EventTypeNormal, reason, "of %s", about.GetName())
}

// call makes a call to the driver.
func (f *lifecycleFloor) call(p *engine.Process, op storage.Op, pod *floorPod, fn func() error) error {
	return p.Backend(api.Call{Target: diskDriver, Verb: string(op), Key: pod.name, Node: pod.node}, 0, fn)
}

func (f *lifecycleFloor) request(pod *floorPod) storage.NodeRequest {
	return storage.NodeRequest{ID: pod.name, Node: pod.node, StagingPath: "/staging/" + pod.name, TargetPath: "/target/" + pod.name,
		Pod: storage.PodRef{Namespace: "default", Name: pod.name}}
}

// setNode patches the status of the pod's node.
func (f *lifecycleFloor) setNode(p *engine.Process, pod *floorPod, edit func(*corev1.NodeStatus)) error {
	_, err := f.engine.API().Nodes.PatchWith(p, pod.node, func(node *corev1.Node) error { edit(&node.Status); return nil }, api.Status)
	return err
}

func (f *lifecycleFloor) provision(p *engine.Process, pod *floorPod) error {
	claim, err := f.engine.Store().Claims.Get(pod.key)
	if err != nil {
		return err
	}
	f.event(p, claim, "ExternalProvisioning")
	f.event(p, claim, "Provisioning")
	var created storage.Volume
	err = f.call(p, storage.Create, pod, func() (err error) {
		created, err = f.driver.Create(storage.CreateRequest{Name: pod.name, Size: 1 << 30})
		return err
	})
	if err != nil {
		return err
	}
	pv := fake.Volume(pod.name, "1Gi", fake.InClass("disk"), fake.CSISource(diskDriver, created.ID))
	pv.Finalizers = []string{"example.com/provisioner"}
	pv.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimDelete
	pv.Spec.ClaimRef = &corev1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: "default", Name: pod.name, UID: claim.UID}
	if _, err = f.engine.API().Volumes.Create(p, pv); err == nil {
		f.event(p, claim, "ProvisioningSucceeded")
	}
	return err
}

func (f *lifecycleFloor) attach(p *engine.Process, pod *floorPod) error {
	err := f.call(p, storage.Attach, pod, func() error {
		_, err := f.driver.Attach(f.request(pod))
		return err
	})
	if err != nil {
		return err
	}
	va, err := f.engine.API().Attachments.PatchWith(p, pod.name, func(va *storagev1.VolumeAttachment) error {
		va.Status.Attached = true
		return nil
	}, api.Status)
	if err != nil {
		return err
	}
	f.event(p, va, "SuccessfulAttachVolume")
	return f.setNode(p, pod, func(s *corev1.NodeStatus) {
		s.VolumesAttached = append(s.VolumesAttached[:len(s.VolumesAttached):len(s.VolumesAttached)],
			corev1.AttachedVolume{Name: corev1.UniqueVolumeName(pod.name)})
	})
}

func (f *lifecycleFloor) mount(p *engine.Process, pod *floorPod) error {
	if err := f.call(p, storage.Stage, pod, func() error { return f.driver.Stage(f.request(pod)) }); err != nil {
		return err
	}
	if err := f.call(p, storage.Publish, pod, func() error { return f.driver.Publish(f.request(pod)) }); err != nil {
		return err
	}
	_, err := f.engine.API().Pods.PatchWith(p, pod.key, func(pod *corev1.Pod) error {
		pod.Status.Phase = corev1.PodRunning
		pod.Status.Conditions = conditions(corev1.ConditionTrue, corev1.PodScheduled, corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady)
		return nil
	}, api.Status)
	return err
}

func (f *lifecycleFloor) unmount(p *engine.Process, pod *floorPod) error {
	if err := f.call(p, storage.Unpublish, pod, func() error { return f.driver.Unpublish(f.request(pod)) }); err != nil {
		return err
	}
	if err := f.call(p, storage.Unstage, pod, func() error { return f.driver.Unstage(f.request(pod)) }); err != nil {
		return err
	}
	_, err := f.engine.API().Pods.PatchWith(p, pod.key, func(pod *corev1.Pod) error {
		pod.Status.Conditions = conditions(corev1.ConditionFalse, corev1.PodScheduled, corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady)
		return nil
	}, api.Status)
	return err
}

func (f *lifecycleFloor) detach(p *engine.Process, pod *floorPod) error {
	if err := f.call(p, storage.Detach, pod, func() error { return f.driver.Detach(f.request(pod)) }); err != nil {
		return err
	}
	err := f.setNode(p, pod, func(s *corev1.NodeStatus) { s.VolumesAttached = s.VolumesAttached[:len(s.VolumesAttached)-1] })
	if err != nil {
		return err
	}
	_, err = f.engine.API().Attachments.Delete(p, pod.name, api.DeleteOptions{})
	return err
}

func (f *lifecycleFloor) release(p *engine.Process, pod *floorPod) error {
	if err := f.call(p, storage.Delete, pod, func() error { return f.driver.Delete(storage.DeleteRequest{ID: pod.name}) }); err != nil {
		return err
	}
	_, err := f.engine.API().Volumes.Delete(p, pod.name, api.DeleteOptions{})
	return err
}
