package mount

import (
	"fmt"
	"slices"
	"strings"
	"time"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/intree"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/storage"
)

// The first and the longest pause between two attempts to register a driver; each is twice the one before (MNT-362).
const (
	firstDriverPause = 500 * time.Millisecond
	lastDriverPause  = 2 * time.Minute
)

// A part of a registration that fails is tried again at once: entryTries is the number of attempts, firstEntryPause the time between the first
// two. Each further pause is five times as long as the one before (MNT-353, MNT-361, MNT-362, MNT-366).
const (
	entryTries      = 4
	firstEntryPause = 10 * time.Millisecond
)

// The kubelet tries so many times to make its CSINode. The pause after the first time is firstInitPause, each further one eight times as long.
// A server that cannot be reached is asked again after serverPause (MNT-366).
const (
	initTries      = 6
	firstInitPause = 30 * time.Millisecond
	serverPause    = time.Second
)

// driverRegistrar makes the CSINode object of the node, lists its CSI drivers there, and keeps their limits up to date. The attachers and the
// scheduler read it.
type driverRegistrar struct {
	k *kubelet
	// nodeUID is the uid of the Node object that owns the CSINode, "" until it is known.
	nodeUID types.UID
	// initialized says that the CSINode was made, or found; registered are the drivers that it lists.
	initialized bool
	registered  map[string]bool
	// limits are the watches of drivers that are asked at regular intervals how many volumes the node can have (MNT-359).
	limits map[string]*limitWatch
}

// start makes the CSINode and registers all drivers, as the kubelet does when their node plugins register.
func (dr *driverRegistrar) start(p *engine.Process) {
	csiNode := dr.resumedCSINode()
	if csiNode == nil {
		dr.initialize(p)
	}
	dr.initialized = true
	var pending []string
	for name, b := range dr.k.node.nodes.backends.All() {
		switch {
		case backends.IsInTree(b):
		case csiNode != nil && lists(csiNode, name):
			dr.done(name)
		default:
			pending = append(pending, name)
		}
	}
	// [SIM] MNT-362: by name, one after the other, after the CSINode.
	dr.register(p, pending...)
}

// resumedCSINode returns the CSINode of a kubelet that goes on from before a dump was loaded.
func (dr *driverRegistrar) resumedCSINode() *storagev1.CSINode {
	if !dr.k.resumed {
		return nil
	}
	csiNode, _ := dr.k.actor.Engine().Store().CSINodes.Lookup(dr.k.node.name)
	return csiNode
}

// repeat repeats a part of a registration a few times (MNT-361, MNT-362).
func (dr *driverRegistrar) repeat(p *engine.Process, part func() error) error {
	err := part()
	for try, pause := 1, firstEntryPause; err != nil && try < entryTries; try, pause = try+1, 5*pause {
		dr.k.rest(p, pause)
		err = part()
	}
	return err
}

// initialize makes the CSINode, without drivers (MNT-366).
func (dr *driverRegistrar) initialize(p *engine.Process) {
	for {
		if _, err := dr.getCSINode(p); err == nil || apierrors.IsNotFound(err) {
			break
		}
		dr.k.rest(p, serverPause)
	}
	for pause, try := firstInitPause, 1; dr.repeat(p, func() error { return dr.tryInitialize(p) }) != nil; pause, try = 8*pause, try+1 {
		if try == initTries {
			// [SIM] MNT-366: upstream the process ends here, and is started again.
			pause, try = firstInitPause, 0
			continue
		}
		dr.k.rest(p, pause)
	}
}

// tryInitialize reads the Node, and makes the CSINode if there is none.
func (dr *driverRegistrar) tryInitialize(p *engine.Process) error {
	node, err := dr.k.getNode(p)
	if err != nil {
		return err
	}
	dr.nodeUID = node.UID
	csiNode, err := dr.getCSINode(p)
	if apierrors.IsNotFound(err) {
		_, err = dr.createCSINode(p)
		return err
	}
	if err == nil {
		err = dr.own(p, csiNode)
	}
	if err != nil {
		return err
	}
	if updated := csiNode.DeepCopy(); dr.listMigrated(updated) {
		_, err = reach(dr.k, func() (*storagev1.CSINode, error) { return p.API().CSINodes.Update(p, updated) })
	}
	return err
}

// register registers drivers. It repeats that for those that fail.
func (dr *driverRegistrar) register(p *engine.Process, pending ...string) {
	for pause := firstDriverPause; ; pause = min(2*pause, lastDriverPause) {
		var failed []string
		for _, name := range pending {
			if dr.k.node.unregistered[name] {
				continue
			}
			if err := dr.tryRegister(p, name); err != nil {
				failed = append(failed, name)
			}
		}
		if pending = failed; len(pending) == 0 {
			return
		}
		dr.k.rest(p, pause)
	}
}

// tryRegister asks a driver about the node, and writes the answer into the Node and the CSINode (MNT-362).
func (dr *driverRegistrar) tryRegister(p *engine.Process, name string) error {
	b, _ := dr.k.node.nodes.backends.Driver(name)
	delete(dr.k.plugins.Failed, name)
	info, described, err := backends.NodeInfo(b, dr.k.node.name)
	if err == nil {
		err = dr.repeat(p, func() error { return dr.describe(p, name, info) })
	}
	if err == nil {
		entry := dr.csiDriver(name, b, info)
		err = dr.repeat(p, func() error { return dr.writeEntry(p, entry) })
	}
	if err != nil {
		// MNT-362: after an error the driver is not registered, until the next attempt.
		dr.k.plugins.Failed[name] = described
		p.Decide("MNT-362", dr.k.nodeRef(), "driver %s is not registered: %v", name, err)
		return err
	}
	dr.done(name)
	return nil
}

// done notes that a driver is registered.
func (dr *driverRegistrar) done(name string) {
	dr.registered[name] = true
	dr.watchLimit(name)
}

func (dr *driverRegistrar) getCSINode(p *engine.Process) (*storagev1.CSINode, error) {
	return reach(dr.k, func() (*storagev1.CSINode, error) { return p.API().CSINodes.Get(p, dr.k.node.name) })
}

// writeEntry writes what a driver says about the node to the CSINode (MNT-361). The driver's other fields there stay as they are.
func (dr *driverRegistrar) writeEntry(p *engine.Process, entry storagev1.CSINodeDriver) error {
	node, err := dr.getCSINode(p)
	if apierrors.IsNotFound(err) {
		// MNT-361: a missing CSINode is created again, first without drivers.
		node, err = dr.createCSINode(p)
	}
	if err == nil {
		err = dr.own(p, node)
	}
	if err != nil {
		return err
	}
	updated := node.DeepCopy()
	changed := dr.listMigrated(updated)
	at := slices.IndexFunc(updated.Spec.Drivers, func(d storagev1.CSINodeDriver) bool { return d.Name == entry.Name })
	if at >= 0 {
		old := updated.Spec.Drivers[at]
		// MNT-361: an unchanged limit is not written.
		if !dr.describes(entry.Name) {
			entry.NodeID, entry.TopologyKeys = old.NodeID, old.TopologyKeys
		}
		if equality.Semantic.DeepEqual(old, entry) && !changed {
			return nil
		}
		updated.Spec.Drivers = slices.Delete(updated.Spec.Drivers, at, at+1)
	}
	// MNT-353, MNT-361: the changed entry moves to the end.
	updated.Spec.Drivers = append(updated.Spec.Drivers, entry)
	_, err = reach(dr.k, func() (*storagev1.CSINode, error) { return p.API().CSINodes.Update(p, updated) })
	return err
}

// own deletes a CSINode that another Node of the same name owns, and returns an error then: the next try creates it again.
func (dr *driverRegistrar) own(p *engine.Process, csiNode *storagev1.CSINode) error {
	owner := slices.IndexFunc(csiNode.OwnerReferences, func(o metav1.OwnerReference) bool { return o.Kind == string(api.Node) })
	// [SIM] MNT-366: one that no Node owns is the node's own, because users load such CSINodes. The uid is not known after a dump was loaded.
	if owner < 0 || dr.nodeUID == "" || csiNode.OwnerReferences[owner].UID == dr.nodeUID {
		return nil
	}
	if err := dr.deleteCSINode(p); err != nil {
		return err
	}
	return fmt.Errorf("CSINode %q was owned by different node (oldNodeID=%q, newNodeID=%q), deleted it", csiNode.Name,
		csiNode.OwnerReferences[owner].UID, dr.nodeUID)
}

func (dr *driverRegistrar) deleteCSINode(p *engine.Process) error {
	_, err := reach(dr.k, func() (*storagev1.CSINode, error) {
		return p.API().CSINodes.Delete(p, dr.k.node.name, api.DeleteOptions{})
	})
	return err
}

// createCSINode creates the CSINode, without drivers. It reads the uid of the Node if it is not known.
func (dr *driverRegistrar) createCSINode(p *engine.Process) (*storagev1.CSINode, error) {
	if dr.nodeUID == "" {
		node, err := dr.k.getNode(p)
		if err != nil {
			return nil, err
		}
		dr.nodeUID = node.UID
	}
	csiNode := &storagev1.CSINode{
		ObjectMeta: metav1.ObjectMeta{
			Name:            dr.k.node.name,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: string(api.Node), Name: dr.k.node.name, UID: dr.nodeUID}},
		},
		Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{}},
	}
	dr.listMigrated(csiNode)
	return reach(dr.k, func() (*storagev1.CSINode, error) { return p.API().CSINodes.Create(p, csiNode) })
}

// listMigrated writes into the CSINode which in-tree plugins CSI drivers replaced. It reports whether that is a change.
func (dr *driverRegistrar) listMigrated(node *storagev1.CSINode) bool {
	// [SIM] MIG-008: on nodes with such a driver only; elsewhere the list would change nothing.
	if !dr.migrates() {
		return false
	}
	list := strings.Join(intree.Names(), ",")
	if node.Annotations[objects.AnnMigratedPlugins] == list {
		return false
	}
	node.Annotations = objects.MergeStrings(node.Annotations, map[string]string{objects.AnnMigratedPlugins: list})
	return true
}

// migrates reports whether a driver of the node has replaced an in-tree plugin.
func (dr *driverRegistrar) migrates() bool {
	for name := range dr.k.node.nodes.backends.All() {
		if _, ok := intree.Plugin(name); ok && !dr.k.node.unregistered[name] {
			return true
		}
	}
	return false
}

// csiDriver returns the entry for one driver.
func (dr *driverRegistrar) csiDriver(name string, b storage.Backend, info storage.NodeInfo) storagev1.CSINodeDriver {
	keys := backends.TopologyKeys(b)
	if dr.describes(name) {
		// MNT-362: the topology keys are those of the node.
		keys = objects.SortedKeys(info.Topology)
	}
	return storagev1.CSINodeDriver{Name: name, NodeID: info.ID, TopologyKeys: keys, Allocatable: dr.allocatable(b)}
}

// allocatable returns how many volumes of the driver the node can have; nil is no limit.
func (dr *driverRegistrar) allocatable(b storage.Backend) *storagev1.VolumeNodeResources {
	limit, limited := backends.AttachLimit(b, dr.k.node.name)
	if !limited {
		return nil
	}
	return &storagev1.VolumeNodeResources{Count: &limit}
}

// lists reports whether the CSINode has the driver.
func lists(node *storagev1.CSINode, driver string) bool {
	return slices.ContainsFunc(node.Spec.Drivers, func(d storagev1.CSINodeDriver) bool { return d.Name == driver })
}
