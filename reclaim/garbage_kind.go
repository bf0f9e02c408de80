package reclaim

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/store"
)

// collectable is implemented by the collector of one kind of object.
type collectable interface {
	kind() api.Kind
	namespaced() bool
	// start makes an informer of the actor, at each start of the actor.
	start(a *engine.Actor)
	handle(changed func(api.Kind, api.Object), deleted func(api.Object))
	known(key string) (api.Object, bool)
	dependents(owner api.Object) []api.Object
	get(p *engine.Process, key string) (api.Object, error)
	delete(p *engine.Process, key string, opts api.DeleteOptions) error
	setOwners(p *engine.Process, obj api.Object, owners []metav1.OwnerReference) error
}

// kindCollector is the collectable for objects of type T.
type kindCollector[T api.Object] struct {
	table   *store.Table[T]
	client  engine.Client[T]
	byOwner *store.Index[T]
	objects *engine.Informer[T]
}

func newKindCollector[T api.Object](table *store.Table[T], client engine.Client[T]) *kindCollector[T] {
	return &kindCollector[T]{table: table, client: client, byOwner: table.NewIndexWith(ownerUIDs[T], ownerless[T])}
}

// ownerless reports whether neither version of an object has an owner, as most have none.
func ownerless[T api.Object](a, b T) bool {
	return len(a.GetOwnerReferences()) == 0 && len(b.GetOwnerReferences()) == 0
}

func ownerUIDs[T api.Object](obj T) []string {
	var uids []string
	for _, ref := range obj.GetOwnerReferences() {
		uids = append(uids, string(ref.UID))
	}
	return uids
}

func (k *kindCollector[T]) kind() api.Kind { return k.table.Kind() }

func (k *kindCollector[T]) namespaced() bool {
	switch k.table.Kind() {
	case api.PersistentVolumeClaim, api.Pod, api.CSIStorageCapacity:
		return true
	}
	return false
}

func (k *kindCollector[T]) start(a *engine.Actor) { k.objects = engine.NewInformer(a, k.table) }

func (k *kindCollector[T]) handle(changed func(api.Kind, api.Object), deleted func(api.Object)) {
	kind := k.kind()
	k.objects.Handle(engine.Handler[T]{
		Add:    func(obj T) { changed(kind, obj) },
		Update: func(_, obj T) { changed(kind, obj) },
		Delete: func(obj T) { deleted(obj) },
	})
}

func (k *kindCollector[T]) known(key string) (api.Object, bool) {
	obj, ok := k.objects.Get(key)
	return obj, ok
}

func (k *kindCollector[T]) dependents(owner api.Object) []api.Object {
	var objs []api.Object
	for _, obj := range k.objects.ByIndex(k.byOwner, string(owner.GetUID())) {
		objs = append(objs, obj)
	}
	return objs
}

func (k *kindCollector[T]) get(p *engine.Process, key string) (api.Object, error) {
	return k.client.Get(p, key)
}

func (k *kindCollector[T]) delete(p *engine.Process, key string, opts api.DeleteOptions) error {
	_, err := k.client.Delete(p, key, opts)
	return err
}

// setOwners replaces the list of owner references. It conflicts if the object has changed since it was read.
func (k *kindCollector[T]) setOwners(p *engine.Process, obj api.Object, owners []metav1.OwnerReference) error {
	_, err := k.client.PatchWith(p, api.KeyOf(obj), func(newest T) error {
		newest.SetUID(obj.GetUID())
		newest.SetResourceVersion(obj.GetResourceVersion())
		newest.SetOwnerReferences(owners)
		return nil
	}, api.Main)
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
