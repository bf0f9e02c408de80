package schedule

import (
	"iter"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

// lookups are the functions through which a cycle reads objects: from informers, or from a snapshot (SCHED-031).
type lookups struct {
	claim   func(key string) (*corev1.PersistentVolumeClaim, bool)
	volume  func(name string) (*corev1.PersistentVolume, bool)
	class   func(name string) (*storagev1.StorageClass, bool)
	driver  func(name string) (*storagev1.CSIDriver, bool)
	csiNode func(name string) (*storagev1.CSINode, bool)
	// capacities returns those of a storage class, in all namespaces.
	capacities func(class string) []*storagev1.CSIStorageCapacity
	// attachments returns those to a node.
	attachments func(node string) []*storagev1.VolumeAttachment
	// assumedClaim and assumedVolume prefer the versions that the scheduler is about to write (SCHED-132).
	assumedClaim  func(key string) (*corev1.PersistentVolumeClaim, bool)
	assumedVolume func(name string) (*corev1.PersistentVolume, bool)
	// candidates returns the free volumes of a class and those of the class that name the claim of that key, in assumed versions.
	candidates func(class, claimKey string) []*corev1.PersistentVolume
	// inUse reports whether a pod on a node has a volume that names the claim of that key (SCHED-181).
	inUse func(claimKey string) bool
	// nodes returns all nodes, podsOn the pods on a node, and exclusivePods the pods with required anti-affinity on existing nodes, nil for none.
	nodes         func() []*corev1.Node
	podsOn        func(node string) []*corev1.Pod
	exclusivePods func() iter.Seq2[*corev1.Pod, *corev1.Node]
	// attractingPods returns the pods on existing nodes whose affinity may change scores, nil for none.
	attractingPods func() iter.Seq2[*corev1.Pod, *corev1.Node]
	// siblings returns the selector of the pods that a pod is spread with by default.
	siblings func(pod *corev1.Pod) labels.Selector
	// namespaceLabels returns the labels of a namespace, none if it is not an object. namespaces returns the names of those that a selector
	// selects.
	namespaceLabels func(name string) labels.Set
	namespaces      func(labels.Selector) []string

	scores, totals []int64 // see cycle.noScores and cycle.score
}

// indexes find objects for the scheduler. They outlive a crash of the scheduler.
type indexes struct {
	volumes     store.Index[*corev1.PersistentVolume]
	capacities  store.Index[*storagev1.CSIStorageCapacity]
	attachments store.Index[*storagev1.VolumeAttachment]
}

func newIndexes(s *store.Store) indexes {
	free := map[string]string{} // the index values of free volumes, by class
	return indexes{
		volumes: s.Volumes.NewIndexWith(func(pv *corev1.PersistentVolume, list []string) []string {
			if ref := pv.Spec.ClaimRef; ref != nil {
				return append(list, reservedPrefix+ref.Namespace+"/"+ref.Name)
			}
			class := objects.ClassOfVolume(pv)
			if free[class] == "" {
				free[class] = freeIn(class)
			}
			return append(list, free[class])
		}, func(a, b *corev1.PersistentVolume) bool {
			return a.Spec.ClaimRef == b.Spec.ClaimRef && objects.ClassOfVolume(a) == objects.ClassOfVolume(b)
		}),
		capacities:  s.Capacities.NewIndex(func(c *storagev1.CSIStorageCapacity, list []string) []string { return append(list, c.StorageClassName) }),
		attachments: s.Attachments.NewIndex(func(a *storagev1.VolumeAttachment, list []string) []string { return append(list, a.Spec.NodeName) }),
	}
}

const reservedPrefix = "for "

func freeIn(class string) string         { return "free " + class }
func reservedFor(claimKey string) string { return reservedPrefix + claimKey }

// informers are the scheduler's informers.
type informers struct {
	pods        engine.Informer[*corev1.Pod]
	nodes       engine.Informer[*corev1.Node]
	volumes     engine.Informer[*corev1.PersistentVolume]
	claims      engine.Informer[*corev1.PersistentVolumeClaim]
	classes     engine.Informer[*storagev1.StorageClass]
	drivers     engine.Informer[*storagev1.CSIDriver]
	csiNodes    engine.Informer[*storagev1.CSINode]
	capacities  engine.Informer[*storagev1.CSIStorageCapacity]
	attachments engine.Informer[*storagev1.VolumeAttachment]
}

func newInformers(a *engine.Actor) informers {
	s := a.Engine().Store()
	return informers{
		// SCHED-030: the scheduler does not see completed pods (API-076).
		pods:        engine.NewSelectiveInformer(a, s.Pods, isNotComplete),
		nodes:       engine.NewInformer(a, s.Nodes),
		volumes:     engine.NewInformer(a, s.Volumes),
		claims:      engine.NewInformer(a, s.Claims),
		classes:     engine.NewInformer(a, s.Classes),
		drivers:     engine.NewInformer(a, s.CSIDrivers),
		csiNodes:    engine.NewInformer(a, s.CSINodes),
		capacities:  engine.NewInformer(a, s.Capacities),
		attachments: engine.NewInformer(a, s.Attachments),
	}
}

func isNotComplete(pod *corev1.Pod) bool {
	return pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

// lookups returns functions that read the informers and the assume caches. SCHED-031: never the API server.
func (s *scheduler) lookups() *lookups {
	if s.look == nil {
		s.look = s.newLookups()
	}
	return s.look
}

func (s *scheduler) newLookups() *lookups {
	ix, node := s.ix, s.inf.nodes.Get
	return &lookups{
		claim:   s.inf.claims.Get,
		volume:  s.inf.volumes.Get,
		class:   s.inf.classes.Get,
		driver:  s.inf.drivers.Get,
		csiNode: s.inf.csiNodes.Get,
		capacities: func(class string) []*storagev1.CSIStorageCapacity {
			return s.inf.capacities.ByIndex(ix.capacities, class)
		},
		attachments: func(node string) []*storagev1.VolumeAttachment {
			return s.inf.attachments.ByIndex(ix.attachments, node)
		},
		assumedClaim:  s.claims.get,
		assumedVolume: s.volumes.get,
		candidates: func(class, claimKey string) []*corev1.PersistentVolume {
			pvs := s.inf.volumes.ByIndex(ix.volumes, freeIn(class))
			for _, pv := range s.inf.volumes.ByIndex(ix.volumes, reservedFor(claimKey)) {
				if objects.ClassOfVolume(pv) == class {
					pvs = append(pvs, pv)
				}
			}
			for i, pv := range pvs {
				if assumed, ok := s.volumes.get(pv.Name); ok {
					pvs[i] = assumed
				}
			}
			return pvs
		},
		inUse:          func(claimKey string) bool { return s.pods.usedOn(claimKey, s.isNode) },
		nodes:          s.inf.nodes.List,
		podsOn:         s.pods.on,
		exclusivePods:  func() iter.Seq2[*corev1.Pod, *corev1.Node] { return withNodes(s.pods.exclusive, node) },
		attractingPods: func() iter.Seq2[*corev1.Pod, *corev1.Node] { return withNodes(s.pods.attracting, node) },
		siblings:       s.siblings,
		namespaceLabels: func(name string) labels.Set {
			if s.namespaces == nil {
				return nil
			}
			namespace, _ := s.namespaces.Get(name)
			return labelsOf(namespace)
		},
		namespaces: func(selector labels.Selector) []string {
			if s.namespaces == nil {
				return nil
			}
			return selected(s.namespaces.List(), selector)
		},
	}
}

// withNodes returns pods with their nodes, in any order; nil for none. Pods whose node was deleted are missing.
func withNodes(pods map[string]*corev1.Pod, node func(name string) (*corev1.Node, bool)) iter.Seq2[*corev1.Pod, *corev1.Node] {
	if len(pods) == 0 {
		return nil
	}
	return func(yield func(*corev1.Pod, *corev1.Node) bool) {
		for _, pod := range pods {
			if node, ok := node(pod.Spec.NodeName); ok && !yield(pod, node) {
				return
			}
		}
	}
}

// labelsOf returns the labels of an object, which may be nil.
func labelsOf(obj *plain.Object) labels.Set {
	if obj == nil {
		return nil
	}
	return obj.Labels
}

// selected returns the names of the objects that a selector selects.
func selected(objs []*plain.Object, selector labels.Selector) []string {
	var names []string
	for _, obj := range objs {
		if selector.Matches(labels.Set(obj.Labels)) {
			names = append(names, obj.Name)
		}
	}
	return names
}

func (s *scheduler) isNode(name string) bool {
	_, ok := s.inf.nodes.Get(name)
	return ok
}

// notFound returns the error of a lister.
func notFound(group, resource, name string) error {
	return apierrors.NewNotFound(schema.GroupResource{Group: group, Resource: resource}, name)
}

func noClaim(name string) error  { return notFound("", "persistentvolumeclaim", name) }
func noVolume(name string) error { return notFound("", "persistentvolume", name) }
func noClass(name string) error  { return notFound(storagev1.GroupName, "storageclass", name) }
func noNode(name string) error   { return notFound("", "node", name) }
func noPod(name string) error    { return notFound("", "pod", name) }
