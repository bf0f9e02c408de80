package controllerruntime

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
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
// Lists with client.MatchingFields use the indexes of inner (WithIndex), also for simulated kinds. Other fields are for the API server, which
// knows few. Objects of inner have UIDs, so they can own objects of the cluster.
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
	known := scheme.Scheme.Recognizes(list) && store.HasTypedTable(api.Kind(gvk.Kind))
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

// wrote is called after a write to a client, with the object that the client has filled in, or nil.
func (w *wrapper) wrote(to client.WithWatch, obj client.Object, err error) error {
	switch {
	case err != nil:
	case to == w.simulated:
		w.settle()
	case obj != nil:
		w.identify(obj)
	}
	return err
}

// identify gives an object of inner a UID, always the same, as an API server does and the fake client does not: without one it cannot own objects
// of the cluster.
func (w *wrapper) identify(obj client.Object) {
	if obj.GetUID() == "" && w.of(obj) == w.inner {
		h := sha256.Sum256([]byte(w.kindOf(obj).GroupKind().String() + "/" + obj.GetNamespace() + "/" + obj.GetName()))
		obj.SetUID(types.UID(fmt.Sprintf("%x-%x-%x-%x-%x", h[:4], h[4:6], h[6:8], h[8:10], h[10:16])))
	}
}

// create creates an object in inner. It has a new UID unless the caller has given it one.
func (w *wrapper) create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	if obj.GetUID() != "" {
		return w.inner.Create(ctx, obj, opts...)
	}
	obj.SetUID(uuid.NewUUID())
	err := w.inner.Create(ctx, obj, opts...)
	if err != nil {
		obj.SetUID("")
	}
	return err
}

// of returns the client for an object or a list.
func (w *wrapper) of(obj runtime.Object) client.WithWatch {
	if isSimulated(w.kindOf(obj)) {
		return w.simulated
	}
	return w.inner
}

// kindOf returns the kind of an object or of the items of a list. It is empty for an unknown one: inner has an error for that.
func (w *wrapper) kindOf(obj runtime.Object) schema.GroupVersionKind {
	gvk, err := apiutil.GVKForObject(obj, w.inner.Scheme())
	if err != nil {
		return schema.GroupVersionKind{}
	}
	gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	return gvk
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
			err := w.of(obj).Get(ctx, key, obj, opts...)
			if err == nil {
				w.identify(obj)
			}
			return err
		},
		List: func(ctx ctx, _ client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if gvk := w.kindOf(list); isSimulated(gvk) {
				return w.list(ctx, list, gvk, opts...)
			}
			if err := w.inner.List(ctx, list, opts...); err != nil {
				return err
			}
			return meta.EachListItem(list, func(item runtime.Object) error {
				w.identify(item.(object))
				return nil
			})
		},
		Watch: func(ctx ctx, _ client.WithWatch, list client.ObjectList, opts ...client.ListOption) (watch.Interface, error) {
			return w.of(list).Watch(ctx, list, opts...)
		},
		Create: func(ctx ctx, _ client.WithWatch, obj object, opts ...client.CreateOption) error {
			if to := w.of(obj); to == w.simulated {
				return w.wrote(to, obj, to.Create(ctx, obj, opts...))
			}
			return w.create(ctx, obj, opts...)
		},
		Update: func(ctx ctx, _ client.WithWatch, obj object, opts ...client.UpdateOption) error {
			to := w.of(obj)
			return w.wrote(to, obj, to.Update(ctx, obj, opts...))
		},
		Patch: func(ctx ctx, _ client.WithWatch, obj object, patch client.Patch, opts ...client.PatchOption) error {
			to := w.of(obj)
			return w.wrote(to, obj, to.Patch(ctx, obj, patch, opts...))
		},
		Apply: func(ctx ctx, _ client.WithWatch, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			to := w.ofApply(obj)
			return w.wrote(to, nil, to.Apply(ctx, obj, opts...))
		},
		Delete: func(ctx ctx, _ client.WithWatch, obj object, opts ...client.DeleteOption) error {
			to := w.of(obj)
			return w.wrote(to, nil, to.Delete(ctx, obj, opts...))
		},
		DeleteAllOf: func(ctx ctx, _ client.WithWatch, obj object, opts ...client.DeleteAllOfOption) error {
			to := w.of(obj)
			return w.wrote(to, nil, to.DeleteAllOf(ctx, obj, opts...))
		},
		SubResourceGet: func(ctx ctx, _ client.Client, sub string, obj, into object, opts ...client.SubResourceGetOption) error {
			return w.of(obj).SubResource(sub).Get(ctx, obj, into, opts...)
		},
		SubResourceCreate: func(ctx ctx, _ client.Client, sub string, obj, body object, opts ...client.SubResourceCreateOption) error {
			to := w.of(obj)
			return w.wrote(to, nil, to.SubResource(sub).Create(ctx, obj, body, opts...))
		},
		SubResourceUpdate: func(ctx ctx, _ client.Client, sub string, obj object, opts ...client.SubResourceUpdateOption) error {
			to := w.of(obj)
			return w.wrote(to, obj, to.SubResource(sub).Update(ctx, obj, opts...))
		},
		SubResourcePatch: func(ctx ctx, _ client.Client, sub string, obj object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			to := w.of(obj)
			return w.wrote(to, obj, to.SubResource(sub).Patch(ctx, obj, patch, opts...))
		},
		SubResourceApply: func(ctx ctx, _ client.Client, sub string, obj runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
			to := w.ofApply(obj)
			return w.wrote(to, nil, to.SubResource(sub).Apply(ctx, obj, opts...))
		},
	}
}
