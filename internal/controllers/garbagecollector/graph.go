package garbagecollector

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
)

// identity identifies an object: apiVersion, kind, namespace, name and uid, from the object itself or from an owner reference.
type identity struct {
	apiVersion, kind, namespace, name string
	uid                               types.UID
}

// identityOf returns the identity of an observed object.
func identityOf(apiVersion, kind string, obj api.Object) identity {
	return identity{apiVersion, kind, obj.GetNamespace(), obj.GetName(), obj.GetUID()}
}

// referred returns the identity of an owner as a dependent in that namespace describes it.
func referred(ref *metav1.OwnerReference, namespace string) identity {
	return identity{ref.APIVersion, ref.Kind, namespace, ref.Name, ref.UID}
}

// matches reports whether a reference has the same coordinates, the namespace aside.
func (id identity) matches(ref *metav1.OwnerReference) bool {
	return id.apiVersion == ref.APIVersion && id.kind == ref.Kind && id.name == ref.Name && id.uid == ref.UID
}

// before orders identities: by kind, apiVersion, namespace, name and uid.
func (id identity) before(other identity) bool {
	for _, pair := range [...][2]string{{id.kind, other.kind}, {id.apiVersion, other.apiVersion}, {id.namespace, other.namespace},
		{id.name, other.name}, {string(id.uid), string(other.uid)}} {
		if pair[0] != pair[1] {
			return pair[0] < pair[1]
		}
	}
	return false
}

// key names the object in queues: Kind/namespace/name and the uid.
func (id identity) key() string {
	return id.kind + "/" + api.Key(id.namespace, id.name) + " " + string(id.uid)
}

// node is an object in the graph.
type node struct {
	identity
	owners     []metav1.OwnerReference
	dependents map[types.UID]*node
	// virtual: dependents refer to the object, and the informers have not delivered it.
	virtual bool
	// counted is the kind of the observed object, by which it is counted.
	counted countedKind
	// beingDeleted and deletingDependents say that the object has a deletionTimestamp, and then the finalizer foregroundDeletion.
	beingDeleted, deletingDependents bool
}

// countedKind is the kind of an object, as far as nodes are counted by it.
type countedKind uint8

const (
	kindOther countedKind = iota
	kindPod
	kindClaim
	kindVolume
	kindAttachment
	countedKinds // their number
)

func countedKindOf(obj api.Object) countedKind {
	switch obj.(type) {
	case *corev1.Pod:
		return kindPod
	case *corev1.PersistentVolumeClaim:
		return kindClaim
	case *corev1.PersistentVolume:
		return kindVolume
	case *storagev1.VolumeAttachment:
		return kindAttachment
	}
	return kindOther
}

// numbers count the nodes. Of the kinds that change most often, few objects have an owner or dependents, and often none has: then a change
// needs no search by uid.
type numbers struct {
	virtual  int
	observed [countedKinds]int // by kind
}

// mayHave reports whether the graph may have a node of the object. A virtual node may be that of an object of any kind.
func (n *numbers) mayHave(obj api.Object) bool {
	return n.virtual > 0 || n.observed[countedKindOf(obj)] > 0
}

// sorted lists the dependents by identity.
func (n *node) sorted() []*node {
	list := make([]*node, 0, len(n.dependents))
	for _, dependent := range n.dependents {
		list = append(list, dependent)
	}
	slices.SortFunc(list, func(a, b *node) int {
		if c := strings.Compare(a.kind, b.kind); c != 0 {
			return c
		}
		return strings.Compare(a.key(), b.key())
	})
	return list
}

// blocking lists the dependents that block the deletion of the object in the foreground (GC-020).
func (n *node) blocking() []*node {
	var list []*node
	for _, dependent := range n.sorted() {
		for i := range dependent.owners {
			if ref := &dependent.owners[i]; ref.UID == n.uid && blocks(ref) {
				list = append(list, dependent)
				break
			}
		}
	}
	return list
}

func blocks(ref *metav1.OwnerReference) bool {
	return ref.BlockOwnerDeletion != nil && *ref.BlockOwnerDeletion
}

// partition splits the dependents of an object by whether one of their references, and whether none, has its identity. A dependent with
// several references can be in both lists.
func partition(dependents []*node, id identity) (matching, other []*node) {
	for _, dependent := range dependents {
		match, mismatch := false, false
		if id.namespace != "" && id.namespace != dependent.namespace {
			mismatch = true
		} else {
			for i := range dependent.owners {
				if ref := &dependent.owners[i]; ref.UID == id.uid {
					match, mismatch = match || id.matches(ref), mismatch || !id.matches(ref)
				}
			}
		}
		if match {
			matching = append(matching, dependent)
		}
		if mismatch {
			other = append(other, dependent)
		}
	}
	return matching, other
}

// alternative returns another identity under which dependents refer to an object that does not exist under absent: the next in order, else
// the first. It reports false if there is none.
func alternative(dependents []*node, absent identity) (identity, bool) {
	var first, next identity
	for _, dependent := range dependents {
		for i := range dependent.owners {
			ref := &dependent.owners[i]
			if ref.UID != absent.uid || absent.matches(ref) && (absent.namespace == "" || absent.namespace == dependent.namespace) {
				continue
			}
			id := referred(ref, dependent.namespace)
			if absent.namespace == "" && id.apiVersion == absent.apiVersion && id.kind == absent.kind {
				id.namespace = ""
			}
			if id == absent {
				continue
			}
			if first.uid == "" || id.before(first) {
				first = id
			}
			if absent.before(id) && (next.uid == "" || id.before(next)) {
				next = id
			}
		}
	}
	if next.uid != "" {
		return next, true
	}
	return first, first.uid != ""
}

// changedOwners compares two lists of owners by uid. freed are the owners that a reference no longer blocks: it was removed, or
// blockOwnerDeletion was. Of several new references with one uid, the first takes the place of the old one, and the others are added (GC-013).
func changedOwners(old, owners []metav1.OwnerReference) (added, removed []metav1.OwnerReference, freed []types.UID) {
	was := map[types.UID]*metav1.OwnerReference{}
	for i := range old {
		was[old[i].UID] = &old[i]
	}
	for i := range owners {
		before, ok := was[owners[i].UID]
		if !ok {
			added = append(added, owners[i])
			continue
		}
		delete(was, owners[i].UID)
		if blocks(before) && !blocks(&owners[i]) {
			freed = append(freed, before.UID)
		}
	}
	for i := range old {
		if was[old[i].UID] != &old[i] {
			continue
		}
		removed = append(removed, old[i])
		if blocks(&old[i]) {
			freed = append(freed, old[i].UID)
		}
	}
	return added, removed, freed
}
