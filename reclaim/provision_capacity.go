package reclaim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/storage"
)

// capacities is the capacity controller of an external-provisioner: it writes how much the driver can still create into a CSIStorageCapacity
// for each class and segment (XPROV-060 to XPROV-068). It begins when the CSIDriver asks for it. created, changedIn and changedAt may be
// called on nil, which is a driver that cannot report its capacity.
type capacities struct {
	provisioner *provisioner
	actor       *engine.Actor
	reporter    storage.CapacityReporter
	objects     engine.Informer[*storagev1.CSIStorageCapacity] // those of this provisioner

	topology *engine.Queue // with the key ""
	queue    *engine.Queue // by the number of the task
	tasks    map[string]capacityTask
	last     int       // number of the last task
	writes   time.Time // when the client may write without a burst (XPROV-067)

	on       bool // the CSIDriver asks for capacities
	ready    bool // the segments are known, and the existing objects were looked at
	segments []capacitySegment
	wanted   map[capacityItem]*storagev1.CSIStorageCapacity // nil: there is no object yet
}

// capacitySegment is a segment and its text, which identifies it.
type capacitySegment struct {
	text   string
	labels storage.Segment
}

// capacityTask is work in the queue: the sync of an item, or the deletion of an object.
type capacityTask struct {
	item   capacityItem
	remove string // key of the object, "" for none
}

// capacityItem is a class and a segment.
type capacityItem struct{ class, segment string }

func (i capacityItem) String() string { return strings.TrimSpace(i.class + " " + i.segment) }

const (
	capacityPeriod    = time.Minute            // between two polls (XPROV-065)
	capacityNamespace = metav1.NamespaceSystem // of the sidecar, and so of its objects
	driverNameLabel   = "csi.storage.k8s.io/drivername"
	managedByLabel    = "csi.storage.k8s.io/managed-by"
	capacityManager   = "external-provisioner"
)

// startCapacities adds the capacity controller, if the driver can say what it has.
func (c *provisioner) startCapacities(a *engine.Actor) {
	reporter, ok := c.driver.backend.(storage.CapacityReporter)
	if !ok || !backends.Can(c.driver.backend, storage.GetCapacity) {
		return
	}
	s := a.Engine().Store()
	k := &capacities{provisioner: c, actor: a, reporter: reporter, tasks: map[string]capacityTask{},
		wanted: map[capacityItem]*storagev1.CSIStorageCapacity{}}
	c.capacities = k
	// XPROV-066: objects of others are ignored.
	k.objects = engine.NewSelectiveInformer(a, s.Capacities, func(obj *storagev1.CSIStorageCapacity) bool {
		return obj.Namespace == capacityNamespace && obj.Labels[driverNameLabel] == c.name && obj.Labels[managedByLabel] == capacityManager
	})
	retries := func() *engine.Limiter { return engine.NewLimiter(c.cfg.RetryStart, c.cfg.RetryMax, 0, 0) }
	k.topology = a.NewQueue(engine.QueueConfig{Name: "csitopology", Limiter: retries(), Sync: k.syncTopology})
	k.queue = a.NewQueue(engine.QueueConfig{Name: "csistoragecapacity", Limiter: retries(), Sync: k.sync})
	engine.NewInformer(a, s.CSIDrivers).Handle(engine.Handler[*storagev1.CSIDriver]{
		Add:    k.driverChanged,
		Update: func(_, driver *storagev1.CSIDriver) { k.driverChanged(driver) },
	})
	k.objects.Handle(engine.Handler[*storagev1.CSIStorageCapacity]{
		Add: k.objectChanged, Update: func(_, obj *storagev1.CSIStorageCapacity) { k.objectChanged(obj) }, Delete: k.objectDeleted,
	})
	c.classes.Handle(engine.Handler[*storagev1.StorageClass]{
		Add: k.classChanged, Update: func(_, class *storagev1.StorageClass) { k.classChanged(class) }, Delete: k.classDeleted,
	})
	changed := func() {
		if k.on {
			k.topology.Add("")
		}
	}
	// XPROV-061: segments are found again when nodes come and go, and when labels or topology keys change.
	c.nodes.Handle(engine.Handler[*corev1.Node]{
		Add: func(*corev1.Node) { changed() }, Delete: func(*corev1.Node) { changed() },
		Update: func(old, node *corev1.Node) {
			if !maps.Equal(old.Labels, node.Labels) {
				changed()
			}
		},
	})
	c.csiNodes.Handle(engine.Handler[*storagev1.CSINode]{
		Add: func(*storagev1.CSINode) { changed() }, Delete: func(*storagev1.CSINode) { changed() },
		Update: func(old, node *storagev1.CSINode) {
			before, was := c.registeredKeys(old)
			if keys, is := c.registeredKeys(node); was != is || !slices.Equal(before, keys) {
				changed()
			}
		},
	})
}

// driverChanged begins when the CSIDriver says that capacities are tracked (XPROV-060).
func (k *capacities) driverChanged(driver *storagev1.CSIDriver) {
	if k.on || driver.Name != k.provisioner.name || driver.Spec.StorageCapacity == nil || !*driver.Spec.StorageCapacity {
		return
	}
	k.on = true
	k.topology.Add("")
}

// begin looks at the existing objects, and syncs all items now and every minute (XPROV-065).
func (k *capacities) begin() {
	k.ready = true
	all := func(capacityItem) bool { return true }
	k.refresh(all)
	// XPROV-066: existing objects are used again, or deleted if no item needs them.
	for _, obj := range k.objects.List() {
		k.objectChanged(obj)
	}
	var poll *engine.Ticker
	poll = k.actor.NewTicker(engine.TickerConfig{Name: "poll", Period: capacityPeriod, Pass: func(*engine.Process) {
		k.refresh(all)
		poll.ArmBackground()
	}})
	poll.ArmBackground()
}

// enqueue adds a task. XPROV-062: a task is not merged with one for the same item, and has retries of its own.
func (k *capacities) enqueue(task capacityTask) {
	k.last++
	key := strconv.Itoa(k.last)
	k.tasks[key] = task
	k.queue.Add(key)
}

// registeredKeys returns the topology keys with which the driver is registered on a node; false if it is not.
func (c *provisioner) registeredKeys(node *storagev1.CSINode) ([]string, bool) {
	for _, driver := range node.Spec.Drivers {
		if driver.Name == c.name {
			return driver.TopologyKeys, true
		}
	}
	return nil, false
}

// syncTopology finds the segments of the nodes on which the driver is registered (XPROV-061).
func (k *capacities) syncTopology(*engine.Process, string) error {
	var found []capacitySegment
	for _, csiNode := range k.provisioner.csiNodes.List() {
		keys, registered := k.provisioner.registeredKeys(csiNode)
		node, exists := k.provisioner.nodes.Get(csiNode.Name)
		if !registered || !exists {
			continue
		}
		// XPROV-061: a node that lacks a label is left out until it has it.
		labels := segmentOf(node, keys)
		if labels == nil {
			continue
		}
		segment := capacitySegment{segmentText(labels), labels}
		if !slices.ContainsFunc(found, func(s capacitySegment) bool { return s.text == segment.text }) {
			found = append(found, segment)
		}
	}
	was := k.segments
	k.segments = found
	for _, class := range k.provisioner.classes.List() {
		if !k.tracks(class) {
			continue
		}
		for _, s := range found {
			if !slices.ContainsFunc(was, func(o capacitySegment) bool { return o.text == s.text }) {
				k.add(capacityItem{class.Name, s.text})
			}
		}
		for _, s := range was {
			if !slices.ContainsFunc(found, func(o capacitySegment) bool { return o.text == s.text }) {
				k.remove(capacityItem{class.Name, s.text})
			}
		}
	}
	if !k.ready {
		k.begin()
	}
	return nil
}

// tracks reports whether capacities of a class are needed (XPROV-062).
func (k *capacities) tracks(class *storagev1.StorageClass) bool {
	return class.Provisioner == k.provisioner.name &&
		(class.VolumeBindingMode == nil || *class.VolumeBindingMode != storagev1.VolumeBindingImmediate)
}

func (k *capacities) classChanged(class *storagev1.StorageClass) {
	// XPROV-062: each change of a class syncs its items.
	if k.tracks(class) {
		for _, s := range k.segments {
			k.add(capacityItem{class.Name, s.text})
		}
	}
}

func (k *capacities) classDeleted(class *storagev1.StorageClass) {
	for _, s := range k.segments {
		k.remove(capacityItem{class.Name, s.text})
	}
}

// add syncs an item that is needed.
func (k *capacities) add(item capacityItem) {
	if _, known := k.wanted[item]; !known {
		k.wanted[item] = nil
	}
	k.enqueue(capacityTask{item: item})
}

// remove deletes the object of an item that is not needed any more (XPROV-066).
func (k *capacities) remove(item capacityItem) {
	obj := k.wanted[item]
	delete(k.wanted, item)
	if obj != nil {
		k.enqueue(capacityTask{remove: api.KeyOf(obj)})
	}
}

// items returns the items that are needed, in a fixed order (SIM: upstream has none).
func (k *capacities) items() []capacityItem {
	return slices.SortedFunc(maps.Keys(k.wanted), func(a, b capacityItem) int {
		return cmp.Or(strings.Compare(a.class, b.class), strings.Compare(a.segment, b.segment))
	})
}

// refresh syncs the items that match selects.
func (k *capacities) refresh(match func(capacityItem) bool) {
	for _, item := range k.items() {
		if match(item) {
			k.enqueue(capacityTask{item: item})
		}
	}
}

// created syncs the items of the segments of a new volume; of its class, if it has none (XPROV-065).
func (k *capacities) created(pv *corev1.PersistentVolume, class *storagev1.StorageClass) {
	if pv.Spec.NodeAffinity != nil {
		k.changedAt(pv)
		return
	}
	k.changedIn(class)
}

// changedIn syncs the items of a class.
func (k *capacities) changedIn(class *storagev1.StorageClass) {
	if k != nil {
		k.refresh(func(item capacityItem) bool { return item.class == class.Name })
	}
}

// changedAt syncs the items of the segments that reach a volume (XPROV-065). A term of another form than those of the provisioner counts
// for nothing.
func (k *capacities) changedAt(pv *corev1.PersistentVolume) {
	if k == nil || pv.Spec.NodeAffinity == nil || pv.Spec.NodeAffinity.Required == nil {
		return
	}
	for _, term := range pv.Spec.NodeAffinity.Required.NodeSelectorTerms {
		segment, ok := segmentOfTerm(term)
		if ok {
			k.refresh(func(item capacityItem) bool { return item.segment == segmentText(segment) })
		}
	}
}

func segmentOfTerm(term corev1.NodeSelectorTerm) (storage.Segment, bool) {
	segment := storage.Segment{}
	for _, e := range term.MatchExpressions {
		if e.Operator != corev1.NodeSelectorOpIn || len(e.Values) != 1 {
			return nil, false
		}
		segment[e.Key] = e.Values[0]
	}
	return segment, len(term.MatchFields) == 0
}

// objectChanged remembers the object of an item, and deletes one that no item needs (XPROV-066).
func (k *capacities) objectChanged(obj *storagev1.CSIStorageCapacity) {
	if !k.ready {
		return
	}
	for _, item := range k.items() {
		known := k.wanted[item]
		if known != nil && known.UID == obj.UID || known == nil && k.isOf(item, obj) {
			k.wanted[item] = obj
			return
		}
	}
	k.enqueue(capacityTask{remove: api.KeyOf(obj)})
}

// objectDeleted creates an object again that is still needed (XPROV-066).
func (k *capacities) objectDeleted(obj *storagev1.CSIStorageCapacity) {
	for _, item := range k.items() {
		if known := k.wanted[item]; known != nil && known.UID == obj.UID {
			k.wanted[item] = nil
			k.enqueue(capacityTask{item: item})
		}
	}
}

// isOf reports whether an object is that of an item. XPROV-068: one for all nodes never is, because its selector is read back without
// matchLabels.
func (k *capacities) isOf(item capacityItem, obj *storagev1.CSIStorageCapacity) bool {
	return obj.StorageClassName == item.class && item.segment != "" && obj.NodeTopology != nil &&
		len(obj.NodeTopology.MatchExpressions) == 0 && segmentText(obj.NodeTopology.MatchLabels) == item.segment
}

func (k *capacities) sync(p *engine.Process, key string) error {
	task, err := k.tasks[key], error(nil)
	if task.remove != "" {
		err = k.deleteObject(p, task.remove)
	} else {
		err = k.syncItem(p, task.item)
	}
	if err == nil {
		delete(k.tasks, key)
	}
	return err
}

func (k *capacities) deleteObject(p *engine.Process, key string) error {
	k.throttle(p)
	if _, err := p.API().Capacities.Delete(p, key, api.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return nil
}

// syncItem asks the driver, and creates or updates the object of an item (XPROV-063, XPROV-064).
func (k *capacities) syncItem(p *engine.Process, item capacityItem) error {
	obj, wanted := k.wanted[item]
	class, exists := k.provisioner.classes.Get(item.class)
	at := slices.IndexFunc(k.segments, func(s capacitySegment) bool { return s.text == item.segment })
	if !wanted || !exists || at < 0 {
		return nil
	}
	labels := k.segments[at].labels
	// XPROV-063: the driver gets all parameters of the class, and no volume capabilities.
	var answer storage.Capacity
	err := k.provisioner.driver.call(p, storage.GetCapacity, item.String(), func() (err error) {
		answer, err = k.reporter.Capacity(backends.OwnCapacity(storage.CapacityRequest{Parameters: class.Parameters, Segment: labels}))
		return err
	})
	if err != nil {
		// XPROV-063: an error is retried, without an Event.
		return fmt.Errorf("CSI GetCapacity for %s: %w", item.String(), err)
	}
	size, largest := resource.NewQuantity(answer.Available, resource.BinarySI), (*resource.Quantity)(nil)
	if answer.Largest > 0 {
		largest = resource.NewQuantity(answer.Largest, resource.BinarySI)
	}
	switch {
	case obj == nil:
		k.throttle(p)
		_, err = p.API().Capacities.Create(p, &storagev1.CSIStorageCapacity{
			ObjectMeta: metav1.ObjectMeta{Namespace: capacityNamespace, GenerateName: "csisc-",
				Labels: map[string]string{driverNameLabel: k.provisioner.name, managedByLabel: capacityManager}},
			StorageClassName: item.class, NodeTopology: &metav1.LabelSelector{MatchLabels: labels}, Capacity: size, MaximumVolumeSize: largest,
		})
	case obj.Capacity != nil && obj.Capacity.Value() == size.Value() && sameSize(obj.MaximumVolumeSize, largest):
		// XPROV-064: nothing has changed.
	default:
		k.throttle(p)
		changed := *obj
		changed.Capacity, changed.MaximumVolumeSize = size, largest
		_, err = p.API().Capacities.Update(p, &changed)
	}
	return err
}

func sameSize(a, b *resource.Quantity) bool {
	return a == nil && b == nil || a != nil && b != nil && a.Value() == b.Value()
}

// throttle waits until the client may write: once per second after a burst of five (XPROV-067).
func (k *capacities) throttle(p *engine.Process) {
	const burst, interval = 5, time.Second
	now := p.Now()
	if earliest := now.Add(-burst * interval); k.writes.Before(earliest) {
		k.writes = earliest
	}
	k.writes = k.writes.Add(interval)
	if wait := k.writes.Sub(now); wait > 0 {
		p.Sleep(wait)
	}
}
