package store

import (
	"fmt"
	"time"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/gates"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/strategy"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// Config sets up a store. The zero value works.
type Config struct {
	// Now is the clock of the server. The default nil stands still at the Unix epoch.
	Now func() time.Time
	// History is the number of past changes per kind from which a watch can start (API-074). Zero means 1,000, negative none.
	History int
	// AsGiven disables defaults, admission and validation: objects are stored as given, including their status. It is for tables of
	// cases that no API server would accept. Versions, finalizers and watches work as usual. The default is false.
	AsGiven bool
	// StrictNamespaces: an object can be created only in a namespace that exists as an object. By default, false, a namespace that never was
	// an object exists, too (NS-010).
	StrictNamespaces bool
	// CountedNames: a generated name depends on how many names were generated from its base before, and not on the version of the store. So
	// clusters whose Events differ generate the same names. The default is false.
	CountedNames bool
	// Gates are the feature gates of the cluster.
	Gates gates.Set
	// Old is a store that is no longer used. The new one takes over its memory. Nil, the default, is none.
	Old *Store
}

// Store holds the objects of one cluster and applies the API server's rules to every write (docs/rules/api.md).
//
// Stored objects are immutable and shared: a caller must not modify an object that a method returned, nor an object after passing it to a
// method, nor anything reachable from either. A rejected write changes nothing. A store is not safe for concurrent use.
type Store struct {
	now     func() time.Time
	version uint64 // API-005: one counter for all kinds
	read    uint64 // counts the writes of kinds that admission may read; see table.mayRead
	objects int
	asGiven bool
	dry     bool              // see DryRun
	fields  FieldTracker      // nil for none
	names   map[string]uint64 // names generated from each base; nil unless Config.CountedNames
	gates   gates.Set
	// accounts: the service account of a new pod is looked up; see AdmitServiceAccounts.
	accounts bool
	// priorities: every new pod gets a priority; see CompletePriorities.
	priorities bool

	Volumes           Table[*corev1.PersistentVolume]
	Claims            Table[*corev1.PersistentVolumeClaim]
	Classes           Table[*storagev1.StorageClass]
	AttributesClasses Table[*storagev1.VolumeAttributesClass]
	Pods              Table[*corev1.Pod]
	Nodes             Table[*corev1.Node]
	Attachments       Table[*storagev1.VolumeAttachment]
	CSIDrivers        Table[*storagev1.CSIDriver]
	CSINodes          Table[*storagev1.CSINode]
	Capacities        Table[*storagev1.CSIStorageCapacity]
	Events            Table[*corev1.Event]

	// PodsByNode and PodsByClaim find pods by the name of their node, and by the keys of the claims that they use.
	PodsByNode, PodsByClaim Index[*corev1.Pod]

	others others
	// namespaces is nil until a namespace is stored.
	namespaces Table[*plain.Object]
	// quotas and limits are nil until a ResourceQuota or LimitRange is stored or watched.
	quotas, limits   Table[*plain.Object]
	strictNamespaces bool
	warned           warned
	reviewer         Reviewer  // nil without Reviewed
	converter        Converter // of custom objects; nil for none
	loaded           loadedOwners
	copies           copies
	allocation       any // the *memory that the store is in
}

// memory is a store with the tables that every store has, in one allocation.
type memory struct {
	store Store

	volumes           table[*corev1.PersistentVolume]
	claims            table[*corev1.PersistentVolumeClaim]
	classes           table[*storagev1.StorageClass]
	attributesClasses table[*storagev1.VolumeAttributesClass]
	pods              table[*corev1.Pod]
	nodes             table[*corev1.Node]
	attachments       table[*storagev1.VolumeAttachment]
	csiDrivers        table[*storagev1.CSIDriver]
	csiNodes          table[*storagev1.CSINode]
	capacities        table[*storagev1.CSIStorageCapacity]
	events            table[*corev1.Event]
}

// New returns an empty store.
func New(cfg Config) *Store {
	if cfg.Now == nil {
		cfg.Now = func() time.Time { return time.Unix(0, 0) }
	}
	if cfg.History == 0 {
		cfg.History = 1000
	}
	tables := memoryOf(cfg.Old)
	s := &tables.store
	*s = Store{now: cfg.Now, asGiven: cfg.AsGiven, strictNamespaces: cfg.StrictNamespaces, gates: cfg.Gates, others: newOthers(cfg.History),
		allocation: tables}
	if cfg.CountedNames {
		s.names = map[string]uint64{}
	}
	s.Volumes = tables.volumes.prepare(s, api.PersistentVolume, &strategy.PersistentVolume, volumeAdmission, cfg.History)
	s.Claims = tables.claims.prepare(s, api.PersistentVolumeClaim, strategy.PersistentVolumeClaimWith(cfg.Gates), claimAdmission, cfg.History)
	s.Classes = tables.classes.prepare(s, api.StorageClass, &strategy.StorageClass, admission[*storagev1.StorageClass]{}, cfg.History)
	s.AttributesClasses = tables.attributesClasses.prepare(s, api.VolumeAttributesClass, &strategy.VolumeAttributesClass, attributesClassAdmission, cfg.History)
	s.Pods = tables.pods.prepare(s, api.Pod, &strategy.Pod, podAdmission, cfg.History)
	s.Nodes = tables.nodes.prepare(s, api.Node, &strategy.Node, admission[*corev1.Node]{}, cfg.History)
	s.Attachments = tables.attachments.prepare(s, api.VolumeAttachment, &strategy.VolumeAttachment, admission[*storagev1.VolumeAttachment]{}, cfg.History)
	s.CSIDrivers = tables.csiDrivers.prepare(s, api.CSIDriver, &strategy.CSIDriver, admission[*storagev1.CSIDriver]{}, cfg.History)
	s.CSINodes = tables.csiNodes.prepare(s, api.CSINode, &strategy.CSINode, admission[*storagev1.CSINode]{}, cfg.History)
	s.Capacities = tables.capacities.prepare(s, api.CSIStorageCapacity, &strategy.CSIStorageCapacity, admission[*storagev1.CSIStorageCapacity]{}, cfg.History)
	s.Events = tables.events.prepare(s, api.Event, &strategy.Event, admission[*corev1.Event]{}, cfg.History)
	if cfg.StrictNamespaces {
		s.createNamespaces()
	}
	s.PodsByNode = s.Pods.NewIndexWith(nodeOf, sameNode)
	s.PodsByClaim = s.Pods.NewIndexWith(objects.AppendClaims, sameVolumes)
	return s
}

// memoryOf returns the memory of a store, with nothing in it, or new memory for nil.
func memoryOf(old *Store) *memory {
	if old == nil {
		return &memory{}
	}
	m := old.allocation.(*memory)
	m.store = Store{}
	for _, t := range [...]interface{ renew() }{
		&m.volumes, &m.claims, &m.classes, &m.attributesClasses, &m.pods, &m.nodes, &m.attachments, &m.csiDrivers, &m.csiNodes, &m.capacities,
		&m.events,
	} {
		t.renew()
	}
	return m
}

// Version returns the resourceVersion of the newest write, which is that of a List (API-005).
func (s *Store) Version() uint64 { return s.version }

// Gates returns the feature gates of the cluster, those of its components included.
func (s *Store) Gates() gates.Set { return s.gates }

// anyTable is a table of objects of any kind.
type anyTable interface {
	create(obj api.Object, opts CreateOptions) (api.Object, error)
	update(obj api.Object, sub api.Subresource, opts UpdateOptions) (api.Object, error)
	load(obj api.Object) (api.Object, error)
	patch(key string, patch []byte, sub api.Subresource) (api.Object, error)
	delete(key string, opts api.DeleteOptions) (api.Object, error)
	get(key string) (api.Object, error)
	lookup(key string) api.Object
	// list returns the objects from one key to before another; "" is the end.
	list(from, to string) []api.Object
	// accepts reports whether obj has the Go type of the objects in the table.
	accepts(obj api.Object) bool
	at(version uint64) ([]api.Object, error)
	watch(opts WatchOptions[api.Object], fn func(api.Change[api.Object])) (stop func(), err error)
	Len() int
	writes() uint64
	mayRead() uint64
}

// tableNamed returns the table of a kind, or nil if there is none yet.
func (s *Store) tableNamed(kind api.Kind) anyTable {
	switch kind {
	case api.PersistentVolume:
		return s.Volumes
	case api.PersistentVolumeClaim:
		return s.Claims
	case api.StorageClass:
		return s.Classes
	case api.VolumeAttributesClass:
		return s.AttributesClasses
	case api.Pod:
		return s.Pods
	case api.Node:
		return s.Nodes
	case api.VolumeAttachment:
		return s.Attachments
	case api.CSIDriver:
		return s.CSIDrivers
	case api.CSINode:
		return s.CSINodes
	case api.CSIStorageCapacity:
		return s.Capacities
	case api.Event:
		return s.Events
	}
	if t, ok := s.others.tables[kind]; ok {
		return t
	}
	return nil
}

// tableFor returns the table for an object, and the object in the Go type that the table has.
func (s *Store) tableFor(obj api.Object) (anyTable, api.Object, error) {
	if objects.IsNil(obj) {
		return nil, nil, fmt.Errorf("the object is nil: pass a pointer to a k8s.io/api type")
	}
	if t := s.tableNamed(api.KindOf(obj)); t != nil && t.accepts(obj) {
		return t, obj, nil
	}
	return s.convert(obj)
}

// tableOf returns the table of a kind, for calls that do not add objects.
func (s *Store) tableOf(kind api.Kind) (anyTable, error) {
	if t := s.tableNamed(kind); t != nil {
		return t, nil
	}
	return s.emptyTable(kind)
}

// Create stores a new object of any kind, as Table.Create does. Here and in the other methods for objects of any kind, obj may be
// unstructured; the result has the Go type that the store has for the kind: one of k8s.io/api if it has a typed table, else *plain.Object.
func (s *Store) Create(obj api.Object) (api.Object, error) {
	return s.CreateWith(obj, CreateOptions{})
}

// CreateWith is Create with options.
func (s *Store) CreateWith(obj api.Object, opts CreateOptions) (api.Object, error) {
	t, obj, err := s.tableFor(obj)
	if err != nil {
		return nil, err
	}
	return t.create(obj, opts)
}

// Try reports what CreateWith would answer, and stores nothing.
func (s *Store) Try(obj api.Object) (Tried, error) {
	t, obj, err := s.tableFor(obj)
	if err != nil {
		return Tried{}, err
	}
	if _, err := t.create(obj, CreateOptions{DryRun: true}); err != nil {
		return Tried{}, err
	}
	return Tried{accepted: true, read: t.mayRead()}, nil
}

// Prepare is Try for an object that was made for this call alone and has a name. It completes the object, so that CreateWith only has to
// store it while the result holds. After an error, and once the result does not hold, the object is of no use.
func (s *Store) Prepare(obj api.Object) (Tried, error) {
	t, obj, err := s.tableFor(obj)
	if err != nil {
		return Tried{}, err
	}
	if _, err := t.create(obj, CreateOptions{DryRun: true, Owned: true}); err != nil {
		return Tried{}, err
	}
	return Tried{accepted: true, read: t.mayRead(), key: api.KeyOf(obj)}, nil
}

// Holds reports whether the result of Try or Prepare for an object of that kind is still valid.
func (s *Store) Holds(kind api.Kind, tried Tried) bool {
	t := s.tableNamed(kind)
	return t != nil && tried.accepted && tried.read == t.mayRead()
}

// Update replaces an object of any kind, as Table.Update does.
func (s *Store) Update(obj api.Object) (api.Object, error) {
	return s.UpdateWith(obj, api.Main, UpdateOptions{})
}

// UpdateStatus replaces the status of an object of any kind, as Table.UpdateStatus does.
func (s *Store) UpdateStatus(obj api.Object) (api.Object, error) {
	return s.UpdateWith(obj, api.Status, UpdateOptions{})
}

// UpdateWith is Update or UpdateStatus with options.
func (s *Store) UpdateWith(obj api.Object, sub api.Subresource, opts UpdateOptions) (api.Object, error) {
	t, obj, err := s.tableFor(obj)
	if err != nil {
		return nil, err
	}
	return t.update(obj, sub, opts)
}

// Load stores an object of any kind unchanged, as Table.Load does.
func (s *Store) Load(obj api.Object) (api.Object, error) {
	t, obj, err := s.tableFor(obj)
	if err != nil {
		return nil, err
	}
	return t.load(obj)
}

// Patch applies a JSON merge patch to an object of any kind, as Table.Patch does.
func (s *Store) Patch(kind api.Kind, key string, patch []byte, sub api.Subresource) (api.Object, error) {
	t, err := s.tableOf(kind)
	if err != nil {
		return nil, err
	}
	return t.patch(key, patch, sub)
}

// Delete deletes an object of any kind, as Table.Delete does.
func (s *Store) Delete(kind api.Kind, key string, opts api.DeleteOptions) (api.Object, error) {
	t, err := s.tableOf(kind)
	if err != nil {
		return nil, err
	}
	return t.delete(key, opts)
}

// Get returns an object of any kind, as Table.Get does.
func (s *Store) Get(kind api.Kind, key string) (api.Object, error) {
	t, err := s.tableOf(kind)
	if err != nil {
		return nil, err
	}
	return t.get(key)
}

// Lookup returns an object of any kind, nil if it does not exist.
func (s *Store) Lookup(kind api.Kind, key string) api.Object {
	t, err := s.tableOf(kind)
	if err != nil {
		return nil
	}
	return t.lookup(key)
}

// List returns all objects of a kind in the order of their keys, or nil for an unknown kind.
func (s *Store) List(kind api.Kind) []api.Object { return s.ListRange(kind, "", "") }

// ListRange returns the objects of a kind whose keys are not before from and before to, in the order of their keys. "" as to is no end.
func (s *Store) ListRange(kind api.Kind, from, to string) []api.Object {
	t, err := s.tableOf(kind)
	if err != nil {
		return nil
	}
	return t.list(from, to)
}

// Writes returns the number of writes to the objects of a kind so far: while it is the same, so are they.
func (s *Store) Writes(kind api.Kind) uint64 {
	t, err := s.tableOf(kind)
	if err != nil {
		return 0
	}
	return t.writes()
}

// Len returns the number of objects of all kinds.
func (s *Store) Len() int { return s.objects }
