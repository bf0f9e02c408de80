// Package internals gives packages of this module what a cluster hides from its users: the engine that runs it, settings for comparisons
// and recordings, and more access to its nodes.
//
// Packages volsim, controller and mount cannot be imported here, because they import this package. They set the functions when they are
// initialized, and arguments are of type any. A cluster may also be a struct that embeds a *volsim.Cluster.
package internals

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/kubeletdefs"
	"github.com/volsim/volsim/internal/core/options"
	"github.com/volsim/volsim/internal/core/snapshot"
	"github.com/volsim/volsim/internal/core/store"
)

var (
	// Engine returns the engine of a *volsim.Cluster. Its time, store and actors are those of the cluster.
	Engine func(cluster any) *engine.Engine
	// Create and Update are the methods of a *volsim.Cluster, with options.
	Create func(cluster any, obj api.Object, opts store.CreateOptions) error
	Update func(cluster any, obj api.Object, opts store.UpdateOptions) error
	// Give is the method Create of a *volsim.Cluster for one object with a name, which the cluster takes over: the caller must not use it any
	// more, and does not get the result.
	Give func(cluster any, obj api.Object) error
	// Load is the method of a *volsim.Cluster for one object. It stores parts of obj itself: obj must not be changed afterwards.
	Load func(cluster any, obj api.Object) error
	// PatchNode is the method Patch of a *volsim.Cluster for a Node: change has the effect of the patch; see store.Table.PatchWith.
	PatchNode func(cluster any, name string, change func(node *corev1.Node) error) error
	// Evict asks a *volsim.Cluster to evict a pod, as a POST to its eviction subresource does: store.Store.Evict has the errors.
	Evict func(cluster any, pod *corev1.Pod, opts api.DeleteOptions) error
	// Controllers lists the controllers of a *volsim.Cluster, with those that start when the first object that they work on is stored.
	Controllers func(cluster any) []string
	// Snapshot returns the objects of a *volsim.Cluster as they are now, for package explain.
	Snapshot func(cluster any) snapshot.Snapshot
	// AddController adds a controller.Controller to an engine and starts it.
	AddController func(e *engine.Engine, controller any) error
	// Populates returns the kind of the data sources of a controller.Controller that is a volume populator; "" for any other.
	Populates func(controller any) api.Kind
	// Options returns the internal settings of a *volsim.Config, which are part of the configuration and copied with it.
	Options func(config any) *options.Options
	// Node returns what tools need of a *mount.Node beyond its methods.
	Node func(node any) kubeletdefs.Node
)
