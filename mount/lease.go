package mount

import (
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/leases"
)

// startLease begins to renew the lease of the node (NODE-020). A kubelet that is cut off begins when it reaches the API server.
func (k *kubelet) startLease() {
	book := k.opts.Leases
	if _, exists := k.actor.Engine().Store().Nodes.Lookup(k.node.name); book != nil && !exists {
		// NODE-026: the Node, which owns the Lease, is not registered yet.
		k.actor.Background(leases.RenewPeriod, "lease", func(*engine.Process) { k.startLease() })
		return
	}
	k.renews = true
	if book != nil && !k.node.partitioned {
		book.Start(k.node.name, k.actor.Engine().Now())
	}
}

// stopLease ends renewals: the kubelet stops, or is cut off (NODE-022).
func (k *kubelet) stopLease() {
	if book := k.opts.Leases; book != nil && k.renews {
		book.Stop(k.node.name, k.actor.Engine().Now())
	}
}

// resumeLease goes on with renewals, which have failed meanwhile (NODE-021).
func (k *kubelet) resumeLease() {
	if book := k.opts.Leases; book != nil && k.renews {
		book.Resume(k.node.name, k.actor.Engine().Now())
	}
}
