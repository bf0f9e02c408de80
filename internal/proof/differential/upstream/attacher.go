package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/proof/differential"
	"github.com/volsim/volsim/internal/proof/differential/harness"
	"github.com/volsim/volsim/storage"
)

// attacher is a simple external attacher: it does what a driver's attacher does with a VolumeAttachment, as far as the attach/detach
// controller sees it.
type attacher struct {
	cluster     *Cluster
	client      kubernetes.Interface
	attachments storagelisters.VolumeAttachmentLister
	volumes     cache.Store
	queue       workqueue.TypedInterface[string]
	limiter     workqueue.TypedRateLimiter[string]

	mu     sync.Mutex
	timers map[string]*time.Timer // the pending retry of a VolumeAttachment
}

// attacherWorkers is the largest number of VolumeAttachments.
const attacherWorkers = 100

func (c *Cluster) startAttacher(ctx context.Context) error {
	client, err := c.Server.Client(actors.Attacher(differential.Driver))
	if err != nil {
		return err
	}
	shared := informers.NewSharedInformerFactory(client, 0)
	informer := shared.Storage().V1().VolumeAttachments()
	a := &attacher{
		cluster: c, client: client, attachments: informer.Lister(), volumes: shared.Core().V1().PersistentVolumes().Informer().GetStore(),
		queue:   workqueue.NewTyped[string](),
		limiter: workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Second, 5*time.Minute),
		timers:  map[string]*time.Timer{},
	}
	if _, err := informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { a.look(obj.(*storagev1.VolumeAttachment)) },
		UpdateFunc: func(before, obj any) {
			old, va := before.(*storagev1.VolumeAttachment), obj.(*storagev1.VolumeAttachment)
			if old.Status.Attached != va.Status.Attached || old.DeletionTimestamp == nil && va.DeletionTimestamp != nil {
				a.look(va)
			}
		},
	}); err != nil {
		return err
	}
	shared.StartWithContext(klog.NewContext(ctx, harness.Discard))
	c.Running.Go(func() { <-ctx.Done(); a.queue.ShutDown(); shared.Shutdown() })
	for range attacherWorkers {
		c.Running.Go(func() { a.work(ctx) })
	}
	return nil
}

// look queues a VolumeAttachment of the driver, and cancels its pending retry.
func (a *attacher) look(va *storagev1.VolumeAttachment) {
	if va.Spec.Attacher != differential.Driver {
		return
	}
	a.mu.Lock()
	if timer := a.timers[va.Name]; timer != nil {
		timer.Stop()
		delete(a.timers, va.Name)
	}
	a.mu.Unlock()
	a.queue.Add(va.Name)
}

func (a *attacher) work(ctx context.Context) {
	for {
		name, over := a.queue.Get()
		if over {
			return
		}
		va, err := a.attachments.Get(name)
		if err == nil {
			if va.DeletionTimestamp == nil {
				err = a.attach(ctx, va)
			} else {
				err = a.detach(ctx, va)
			}
			if err != nil {
				a.again(name, a.limiter.When(name))
			} else {
				a.limiter.Forget(name)
			}
		}
		a.queue.Done(name)
	}
}

func (a *attacher) again(name string, after time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.timers[name] = time.AfterFunc(after, func() {
		a.mu.Lock()
		delete(a.timers, name)
		a.mu.Unlock()
		a.queue.Add(name)
	})
}

// finalizer is that of the driver's attacher.
var finalizer = objects.AttacherFinalizer(differential.Driver)

func (a *attacher) attach(ctx context.Context, va *storagev1.VolumeAttachment) error {
	if va.Status.Attached {
		return nil
	}
	if !slices.Contains(va.Finalizers, finalizer) {
		newer, err := a.patch(ctx, va.Name, "metadata", map[string]any{"finalizers": append(slices.Clone(va.Finalizers), finalizer)})
		if err != nil {
			return a.failed(ctx, va, "attachError", fmt.Errorf("could not save VolumeAttachment: %w", err))
		}
		va = newer
	}
	if err := a.call(storage.Attach, va); err != nil {
		return a.failed(ctx, va, "attachError", err)
	}
	status := map[string]any{"attached": true}
	if va.Status.AttachError != nil {
		status["attachError"] = nil
	}
	_, err := a.patch(ctx, va.Name, "status", status)
	return err
}

func (a *attacher) detach(ctx context.Context, va *storagev1.VolumeAttachment) error {
	if !slices.Contains(va.Finalizers, finalizer) {
		return nil
	}
	if err := a.call(storage.Detach, va); err != nil {
		return a.failed(ctx, va, "detachError", err)
	}
	rest := slices.DeleteFunc(slices.Clone(va.Finalizers), func(name string) bool { return name == finalizer })
	_, err := a.patch(ctx, va.Name, "metadata", map[string]any{"finalizers": rest})
	if err == nil || apierrors.IsNotFound(err) {
		_, err = a.patch(ctx, va.Name, "status", map[string]any{"attached": false, "detachError": nil, "attachmentMetadata": nil})
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return a.failed(ctx, va, "detachError", fmt.Errorf("could not mark as detached: %w", err))
	}
	return nil
}

// failed writes an error into the status, and returns it.
func (a *attacher) failed(ctx context.Context, va *storagev1.VolumeAttachment, field string, failure error) error {
	e := storagev1.VolumeError{Time: metav1.Now(), Message: failure.Error()}
	if code, _, ok := backends.Status(failure); ok && field == "attachError" {
		e.ErrorCode = new(int32(backends.CodeNumber(code)))
	}
	// If the write fails, the error is not recorded.
	_, err := a.patch(ctx, va.Name, "status", map[string]any{field: e})
	return errors.Join(failure, err)
}

// patch changes status or metadata of a VolumeAttachment.
func (a *attacher) patch(ctx context.Context, name, part string, fields map[string]any) (*storagev1.VolumeAttachment, error) {
	data, err := json.Marshal(map[string]any{part: fields})
	if err != nil {
		return nil, err
	}
	var sub []string
	if part == string(api.Status) {
		sub = []string{part}
	}
	return a.client.StorageV1().VolumeAttachments().Patch(ctx, name, types.MergePatchType, data, metav1.PatchOptions{}, sub...)
}

// call calls the driver.
func (a *attacher) call(op storage.Op, va *storagev1.VolumeAttachment) error {
	handle := ""
	if name := va.Spec.Source.PersistentVolumeName; name != nil {
		handle = *name
		if obj, ok, err := a.volumes.GetByKey(*name); err == nil && ok {
			handle = backends.Handle(obj.(*corev1.PersistentVolume))
		}
	}
	return a.cluster.CallAt(actors.Attacher(differential.Driver), differential.Driver, op, handle, va.Spec.NodeName)
}
