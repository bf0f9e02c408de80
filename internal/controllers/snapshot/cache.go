package snapshot

import (
	"encoding/json"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objkinds"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/snapshots"
	"github.com/volsim/volsim/internal/core/store"
)

// controllerWorkers is the number of workers of each queue.
const controllerWorkers = 10

// object is a pointer to one of the types of package snapshots.
type object[T any] interface {
	*T
	api.Object
}

// cache is an informer of one kind, and the controller's own copies of its objects.
type cache[T any, P object[T]] struct {
	table    store.Table[*plain.Object]
	informer engine.Informer[*plain.Object]
	decoded  map[string]decoded[P]
	// own are the objects as this controller synced or wrote them last.
	own map[string]P
}

// decoded is an object of the informer, and its Go type. The same version gives the same pointer.
type decoded[P any] struct {
	from *plain.Object
	obj  P
}

func newCache[T any, P object[T]](a *engine.Actor, kind api.Kind) *cache[T, P] {
	table, err := a.Engine().Store().Other(kind)
	if err != nil {
		panic("snapshot: " + err.Error()) // the kinds are in objkinds
	}
	c := &cache[T, P]{table: table, informer: engine.NewInformer(a, table), decoded: map[string]decoded[P]{}, own: map[string]P{}}
	a.Keeps(&c.own)
	return c
}

func (c *cache[T, P]) of(obj *plain.Object) P {
	key := api.KeyOf(obj)
	if d, ok := c.decoded[key]; ok && d.from == obj {
		return d.obj
	}
	typed := P(snapshots.Of[T](obj))
	c.decoded[key] = decoded[P]{obj, typed}
	return typed
}

// get returns an object as the informer has it, nil for none.
func (c *cache[T, P]) get(key string) P {
	obj, ok := c.informer.Get(key)
	if !ok {
		delete(c.decoded, key)
		return nil
	}
	return c.of(obj)
}

// list returns the objects of the informer, by key.
func (c *cache[T, P]) list() []P {
	var all []P
	for _, obj := range c.informer.List() {
		all = append(all, c.of(obj))
	}
	return all
}

// keep makes obj the controller's own copy. It returns false for a version older than that, or if the own copy has no version.
func (c *cache[T, P]) keep(obj P) bool {
	key := api.KeyOf(obj)
	if old, ok := c.own[key]; ok {
		// SNAP-001: an older version than the own copy is ignored.
		// SNAP-015: a copy without a version stays, because versions cannot be compared with it.
		if version(old) > version(obj) || old.GetResourceVersion() == "" {
			return false
		}
	}
	c.own[key] = obj
	return true
}

func version(obj api.Object) int64 {
	v, _ := strconv.ParseInt(obj.GetResourceVersion(), 10, 64)
	return v
}

func (c *cache[T, P]) typed(obj api.Object, err error) (P, error) {
	if err != nil {
		return nil, err
	}
	return P(snapshots.Of[T](obj.(*plain.Object))), nil
}

// read returns the newest version from the API server.
func (c *cache[T, P]) read(p *engine.Process, key string) (P, error) {
	return c.typed(p.API().Get(p, api.Ref{Kind: c.table.Kind(), Key: key}))
}

// update replaces an object, or its status.
func (c *cache[T, P]) update(p *engine.Process, obj P, sub api.Subresource) (P, error) {
	return c.typed(p.API().Update(p, snapshots.Plain(obj), sub, store.UpdateOptions{}))
}

// patch changes the version that the server has.
func (c *cache[T, P]) patch(p *engine.Process, key string, sub api.Subresource, change func(obj P)) (P, error) {
	verb := "patch"
	if sub != api.Main {
		verb += "-" + string(sub)
	}
	return c.typed(p.API().Write(p, verb, api.Ref{Kind: c.table.Kind(), Key: key}, func() (api.Object, error) {
		return c.table.PatchWith(key, func(obj *plain.Object) error {
			typed := P(snapshots.Of[T](obj))
			change(typed)
			edited := snapshots.Plain(typed)
			obj.SetContent(edited.Content())
			obj.Finalizers, obj.Annotations = edited.Finalizers, edited.Annotations
			return nil
		}, sub)
	}))
}

// notFound is the error of a lister.
func notFound(resource, name string) error {
	return apierrors.NewNotFound(schema.GroupResource{Group: objkinds.SnapshotGroup, Resource: resource}, name)
}

// same reports whether two values have the same JSON.
func same(a, b any) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}

// Settings are the flags of both components.
type Settings struct {
	// RetryStart and RetryMax bound the delay of a failed object, which doubles with each failure; zero is 1 s and 5 min.
	RetryStart, RetryMax time.Duration
	// ResyncPeriod is the time between two syncs of all objects; zero is 15 min.
	ResyncPeriod time.Duration
	// Timeout is how long a call to the driver may take; zero is 1 min, negative is no limit.
	Timeout time.Duration
}

func (s Settings) complete() Settings {
	for _, each := range []struct {
		value    *time.Duration
		standard time.Duration
	}{
		{&s.RetryStart, time.Second}, {&s.RetryMax, 5 * time.Minute}, {&s.ResyncPeriod, 15 * time.Minute}, {&s.Timeout, time.Minute},
	} {
		if *each.value == 0 {
			*each.value = each.standard
		}
	}
	return s
}
