package leases

import (
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

// ObjectKind is the kind of Leases, and Namespace that of the Leases of nodes.
const (
	ObjectKind = api.Kind("Lease.coordination.k8s.io")
	Namespace  = corev1.NamespaceNodeLease
)

const leaseSeconds = 40

// BookOf returns the Book of a cluster, or nil if it has no kubelets.
func BookOf(e *engine.Engine) *Book {
	book, _ := e.Attached(Key{}, func() any { return (*Book)(nil) }).(*Book)
	return book
}

// Renewal returns when the kubelet of a node renewed its Lease last, and false if it never did.
type Renewal func(node string) (time.Time, bool)

// At returns the renewals up to a time. A nil Book has none.
func (b *Book) At(now time.Time) Renewal {
	return func(node string) (time.Time, bool) {
		if b == nil {
			return time.Time{}, false
		}
		return b.Renewed(node, now)
	}
}

// Of returns the Lease of a node, or nil if there is none (NODE-025). It is shown to clients, and not stored.
func (renewed Renewal) Of(node *corev1.Node) *plain.Object {
	at, ok := renewed(node.Name)
	if !ok {
		return nil
	}
	lease, err := plain.From(&coordinationv1.Lease{
		TypeMeta: metav1.TypeMeta{APIVersion: coordinationv1.SchemeGroupVersion.String(), Kind: "Lease"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: Namespace, Name: node.Name, UID: store.NewUID(ObjectKind, api.Key(Namespace, node.Name)), CreationTimestamp: node.CreationTimestamp,
			ResourceVersion: node.ResourceVersion,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}},
		},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: new(node.Name), LeaseDurationSeconds: new(int32(leaseSeconds)), RenewTime: new(metav1.NewMicroTime(at.UTC())),
		},
	})
	if err != nil {
		return nil // its fields can be converted
	}
	return lease
}

// With adds the Leases of nodes to a list of stored Leases, in the order of their keys. NODE-025: a stored Lease takes the place of the kubelet's.
func (renewed Renewal) With(stored []api.Object, nodes []*corev1.Node) []api.Object {
	all := slices.Clone(stored)
	for _, node := range nodes {
		lease := renewed.Of(node)
		if lease == nil {
			continue
		}
		at, found := slices.BinarySearchFunc(all, api.KeyOf(lease), func(obj api.Object, key string) int { return strings.Compare(api.KeyOf(obj), key) })
		if !found {
			all = slices.Insert(all, at, api.Object(lease))
		}
	}
	return all
}
