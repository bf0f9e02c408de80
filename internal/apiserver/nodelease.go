package apiserver

import (
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

// Leaser is a Backend whose kubelets renew the Leases of their nodes without writing them (NODE-023).
type Leaser interface {
	// Renewed returns when the kubelet of a node renewed its Lease last. It reports false if it never did.
	Renewed(node string) (time.Time, bool)
}

const (
	leaseKind      = api.Kind("Lease.coordination.k8s.io")
	leaseNamespace = corev1.NamespaceNodeLease
	leaseSeconds   = 40
)

// nodeLease returns the Lease of a node, or nil if there is none (NODE-025). It is shown to clients, and not stored.
func (s *Server) nodeLease(node *corev1.Node) api.Object {
	leaser, ok := s.cfg.Backend.(Leaser)
	if !ok {
		return nil
	}
	renewed, ok := leaser.Renewed(node.Name)
	if !ok {
		return nil
	}
	key := api.Key(leaseNamespace, node.Name)
	lease, err := plain.From(&coordinationv1.Lease{
		TypeMeta: metav1.TypeMeta{APIVersion: coordinationv1.SchemeGroupVersion.String(), Kind: "Lease"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: leaseNamespace, Name: node.Name, UID: store.NewUID(leaseKind, key), CreationTimestamp: node.CreationTimestamp,
			ResourceVersion: node.ResourceVersion,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}},
		},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: new(node.Name), LeaseDurationSeconds: new(int32(leaseSeconds)), RenewTime: new(metav1.NewMicroTime(renewed.UTC())),
		},
	})
	if err != nil {
		return nil // its fields can be converted
	}
	return lease
}

// getObject returns the object of a request.
func (s *Server) getObject(r *request) (api.Object, error) {
	obj, err := s.store.Get(r.resource.kind, r.key())
	if err == nil || r.resource.kind != leaseKind || r.namespace != leaseNamespace {
		return obj, err
	}
	if node, missing := s.store.Nodes.Get(r.name); missing == nil {
		// NODE-025: a stored Lease takes the place of the kubelet's.
		if lease := s.nodeLease(node); lease != nil {
			return lease, nil
		}
	}
	return obj, err
}

// withLeases adds the Leases of nodes to a list of stored Leases (NODE-025). Both are in the order of their keys.
func (s *Server) withLeases(stored []api.Object) []api.Object {
	all := slices.Clone(stored)
	for _, node := range s.store.Nodes.List() {
		lease := s.nodeLease(node)
		if lease == nil {
			continue
		}
		at, found := slices.BinarySearchFunc(all, api.KeyOf(lease), func(obj api.Object, key string) int { return strings.Compare(api.KeyOf(obj), key) })
		if !found {
			all = slices.Insert(all, at, lease)
		}
	}
	return all
}
