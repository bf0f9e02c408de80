package apiserver

import (
	"time"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/leases"
)

// Leaser is a Backend whose kubelets renew the Leases of their nodes without writing them (NODE-023).
type Leaser interface {
	// Renewed returns when the kubelet of a node renewed its Lease last. It reports false if it never did.
	Renewed(node string) (time.Time, bool)
}

// renewal returns when kubelets renewed their Leases.
func (s *Server) renewal() leases.Renewal {
	if leaser, ok := s.cfg.Backend.(Leaser); ok {
		return leaser.Renewed
	}
	return func(string) (time.Time, bool) { return time.Time{}, false }
}

// getObject returns the object of a request.
func (s *Server) getObject(r *request) (api.Object, error) {
	obj, err := s.live(r)
	if err == nil || r.resource.Kind != leases.ObjectKind || r.namespace != leases.Namespace {
		return obj, err
	}
	if node, missing := s.store.Nodes.Get(r.name); missing == nil {
		// NODE-025: a stored Lease takes the place of the kubelet's.
		if lease := s.renewal().Of(node); lease != nil {
			return lease, nil
		}
	}
	return obj, err
}

// withLeases adds the Leases of nodes to a list of stored Leases.
func (s *Server) withLeases(stored []api.Object) []api.Object {
	return s.renewal().With(stored, s.store.Nodes.List())
}
