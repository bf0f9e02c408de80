package controllerruntime

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/kube"
	"github.com/volsim/volsim/volsimtest"
)

// Wrapped is a client of which some kinds live in a cluster.
type Wrapped struct {
	client.WithWatch
	// Cluster has the objects of the simulated kinds. It is closed at the end of the test.
	Cluster *volsimtest.Cluster
}

// Wrap returns a client that sends the simulated kinds (PersistentVolume, PersistentVolumeClaim, StorageClass, VolumeAttributesClass, Pod,
// Node, VolumeAttachment, CSIDriver, CSINode, CSIStorageCapacity, Event) to a new cluster, and all others to inner.
//
// After each write of a simulated kind the controllers of the cluster do their work, so a claim is bound when Create returns. Let time pass
// with Cluster.Advance.
//
// Objects of simulated kinds that inner has are moved to the cluster as they are. Wrap logs those that an API server would refuse.
//
// It takes at most one configuration. Without one, controllers that delete what belongs to absent objects do not run (garbage collection of
// objects and pods, node lifecycle, taint eviction), because owners may live in inner; and nodes have no kubelet, so they keep the status
// that the test writes.
func Wrap(t testing.TB, inner client.WithWatch, cfg ...volsim.Config) *Wrapped {
	t.Helper()
	if len(cfg) == 0 {
		cfg = []volsim.Config{{
			ManualNodes: true,
			Without:     []string{actors.GarbageCollector, actors.PodGC, actors.NodeLifecycle, actors.TaintEviction},
		}}
	}
	c := volsimtest.New(t, cfg...)
	simulated, err := NewClient(c.Cluster, client.Options{Scheme: inner.Scheme()})
	if err != nil {
		t.Fatalf("controllerruntime.Wrap: %v", err)
	}
	w := &wrapper{cluster: c, inner: inner, simulated: simulated}
	w.move(t)
	return &Wrapped{interceptor.NewClient(inner, w.funcs()), c}
}

// wrapper chooses between two clients.
type wrapper struct {
	cluster          *volsimtest.Cluster
	inner, simulated client.WithWatch
}

// isSimulated reports whether objects and lists of a kind live in the cluster.
func isSimulated(gvk schema.GroupVersionKind) bool {
	list := gvk
	list.Kind += "List"
	known := scheme.Scheme.Recognizes(list) && store.Simulated(api.Kind(gvk.Kind))
	return known && (gvk.Group == "" || gvk.Group == "storage.k8s.io") && gvk.Version == "v1"
}

// move moves the objects of simulated kinds from inner to the cluster.
func (w *wrapper) move(t testing.TB) {
	t.Helper()
	for _, kind := range store.Kinds() {
		gvk := schema.GroupVersionKind{Version: "v1", Kind: string(kind)}
		if !scheme.Scheme.Recognizes(gvk) {
			gvk.Group = "storage.k8s.io"
		}
		if !w.inner.Scheme().Recognizes(gvk) {
			continue
		}
		obj, err := scheme.Scheme.New(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		if err != nil {
			t.Fatalf("controllerruntime.Wrap: %v", err)
		}
		if err := w.inner.List(context.Background(), obj.(client.ObjectList)); err != nil {
			t.Fatalf("controllerruntime.Wrap: list %s: %v", kind, err)
		}
		err = meta.EachListItem(obj, func(item runtime.Object) error {
			obj := item.(client.Object)
			sent := obj.DeepCopyObject().(client.Object)
			sent.SetResourceVersion("")
			if _, err := internals.Engine(w.cluster.Cluster).Store().Try(sent); err != nil {
				t.Logf("controllerruntime.Wrap: an API server would refuse %s: %v", api.RefTo(obj), err)
			}
			w.cluster.Load(obj)
			return nil
		})
		if err != nil {
			t.Fatalf("controllerruntime.Wrap: %v", err)
		}
	}
	w.settle()
}

// settle lets the controllers do their work. What never ends goes on as time passes.
func (w *wrapper) settle() {
	kube.Do(w.cluster.Cluster, func() { _ = w.cluster.Cluster.Settle() })
}

// wrote is called after a write to client.
func (w *wrapper) wrote(to client.WithWatch, err error) error {
	if to == w.simulated && err == nil {
		w.settle()
	}
	return err
}

// of returns the client for an object or a list.
func (w *wrapper) of(obj runtime.Object) client.WithWatch {
	gvk, err := apiutil.GVKForObject(obj, w.inner.Scheme())
	if err != nil {
		return w.inner // it has an error for that
	}
	if kind, ok := strings.CutSuffix(gvk.Kind, "List"); ok {
		gvk.Kind = kind
	}
	if isSimulated(gvk) {
		return w.simulated
	}
	return w.inner
}

// ofApply returns the client for an apply configuration.
func (w *wrapper) ofApply(obj runtime.ApplyConfiguration) client.WithWatch {
	var given metav1.TypeMeta
	data, err := json.Marshal(obj)
	if err == nil {
		err = json.Unmarshal(data, &given)
	}
	if err == nil && isSimulated(given.GroupVersionKind()) {
		return w.simulated
	}
	return w.inner
}

// funcs returns the methods of the client. Each calls that of one of the two.
func (w *wrapper) funcs() interceptor.Funcs {
	type (
		ctx    = context.Context
		object = client.Object
	)
	return interceptor.Funcs{
		Get: func(ctx ctx, _ client.WithWatch, key client.ObjectKey, obj object, opts ...client.GetOption) error {
			return w.of(obj).Get(ctx, key, obj, opts...)
		},
		List: func(ctx ctx, _ client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			return w.of(list).List(ctx, list, opts...)
		},
		Watch: func(ctx ctx, _ client.WithWatch, list client.ObjectList, opts ...client.ListOption) (watch.Interface, error) {
			return w.of(list).Watch(ctx, list, opts...)
		},
		Create: func(ctx ctx, _ client.WithWatch, obj object, opts ...client.CreateOption) error {
			to := w.of(obj)
			return w.wrote(to, to.Create(ctx, obj, opts...))
		},
		Update: func(ctx ctx, _ client.WithWatch, obj object, opts ...client.UpdateOption) error {
			to := w.of(obj)
			return w.wrote(to, to.Update(ctx, obj, opts...))
		},
		Patch: func(ctx ctx, _ client.WithWatch, obj object, patch client.Patch, opts ...client.PatchOption) error {
			to := w.of(obj)
			return w.wrote(to, to.Patch(ctx, obj, patch, opts...))
		},
		Apply: func(ctx ctx, _ client.WithWatch, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			to := w.ofApply(obj)
			return w.wrote(to, to.Apply(ctx, obj, opts...))
		},
		Delete: func(ctx ctx, _ client.WithWatch, obj object, opts ...client.DeleteOption) error {
			to := w.of(obj)
			return w.wrote(to, to.Delete(ctx, obj, opts...))
		},
		DeleteAllOf: func(ctx ctx, _ client.WithWatch, obj object, opts ...client.DeleteAllOfOption) error {
			to := w.of(obj)
			return w.wrote(to, to.DeleteAllOf(ctx, obj, opts...))
		},
		SubResourceGet: func(ctx ctx, _ client.Client, sub string, obj, into object, opts ...client.SubResourceGetOption) error {
			return w.of(obj).SubResource(sub).Get(ctx, obj, into, opts...)
		},
		SubResourceCreate: func(ctx ctx, _ client.Client, sub string, obj, body object, opts ...client.SubResourceCreateOption) error {
			to := w.of(obj)
			return w.wrote(to, to.SubResource(sub).Create(ctx, obj, body, opts...))
		},
		SubResourceUpdate: func(ctx ctx, _ client.Client, sub string, obj object, opts ...client.SubResourceUpdateOption) error {
			to := w.of(obj)
			return w.wrote(to, to.SubResource(sub).Update(ctx, obj, opts...))
		},
		SubResourcePatch: func(ctx ctx, _ client.Client, sub string, obj object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			to := w.of(obj)
			return w.wrote(to, to.SubResource(sub).Patch(ctx, obj, patch, opts...))
		},
		SubResourceApply: func(ctx ctx, _ client.Client, sub string, obj runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
			to := w.ofApply(obj)
			return w.wrote(to, to.SubResource(sub).Apply(ctx, obj, opts...))
		},
	}
}
