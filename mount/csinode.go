package mount

import (
	"errors"
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

// The first and the longest pause between two attempts to write a CSINode; each is twice the one before.
const (
	firstCSINodePause = 500 * time.Millisecond
	lastCSINodePause  = 2 * time.Minute
)

// driverRegistrar lists the CSI drivers of the node in its CSINode object and keeps their limits up to date.
type driverRegistrar struct {
	k *kubelet
	// nodeUID is the uid of the Node object that owns the CSINode, "" until it is known.
	nodeUID types.UID
	// registered says that the CSINode lists the drivers of the node.
	registered bool
	// limits are the watches of drivers that are asked at regular intervals how many volumes the node can have (MNT-359).
	limits map[string]*limitWatch
}

// publishDrivers lists the CSI drivers of the node in its CSINode, as the kubelet does when the node plugin of a driver registers. The
// attachers and the scheduler read it. publishDrivers repeats the write until it succeeds.
func (dr *driverRegistrar) publishDrivers(p *engine.Process) {
	for pause := firstCSINodePause; ; pause = min(2*pause, lastCSINodePause) {
		if dr.writeCSINode(p) == nil {
			dr.watchLimits()
			return
		}
		p.Sleep(pause)
	}
}

func (dr *driverRegistrar) writeCSINode(p *engine.Process) error {
	drivers, failed := dr.csiDrivers(p)
	if len(drivers) == 0 {
		return failed
	}
	err := dr.writeEntries(p, drivers)
	if err != nil {
		for _, d := range drivers {
			if dr.describes(d.Name) {
				// MNT-362: the CSINode is part of the registration.
				dr.k.plugins.Failed[d.Name] = true
			}
		}
	}
	return errors.Join(err, failed)
}

// writeEntries writes entries of the CSINode.
func (dr *driverRegistrar) writeEntries(p *engine.Process, drivers []storagev1.CSINodeDriver) error {
	old, err := reach(dr.k, func() (*storagev1.CSINode, error) { return p.API().CSINodes.Get(p, dr.k.node.name) })
	if apierrors.IsNotFound(err) {
		_, err = dr.createCSINode(p, drivers)
		return err
	}
	if err != nil {
		return err
	}
	for _, owner := range old.OwnerReferences {
		if owner.Kind == string(api.Node) {
			dr.nodeUID = owner.UID
		}
	}
	// Existing entries stay as they are; only missing drivers are added.
	updated := old.DeepCopy()
	changed := listMigrated(updated, drivers)
	for _, d := range drivers {
		at := slices.IndexFunc(updated.Spec.Drivers, func(other storagev1.CSINodeDriver) bool { return other.Name == d.Name })
		if at >= 0 {
			if !dr.describes(d.Name) || equality.Semantic.DeepEqual(updated.Spec.Drivers[at], d) {
				continue
			}
			// MNT-362: the entry of a driver that describes the node is replaced, at the end.
			updated.Spec.Drivers = slices.Delete(updated.Spec.Drivers, at, at+1)
		}
		updated.Spec.Drivers, changed = append(updated.Spec.Drivers, d), true
	}
	if changed {
		_, err = reach(dr.k, func() (*storagev1.CSINode, error) { return p.API().CSINodes.Update(p, updated) })
	}
	return err
}

// createCSINode creates the CSINode. It reads the uid of the Node once.
func (dr *driverRegistrar) createCSINode(p *engine.Process, drivers []storagev1.CSINodeDriver) (*storagev1.CSINode, error) {
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
		Spec: storagev1.CSINodeSpec{Drivers: drivers},
	}
	listMigrated(csiNode, drivers)
	return reach(dr.k, func() (*storagev1.CSINode, error) { return p.API().CSINodes.Create(p, csiNode) })
}

// listMigrated writes into the CSINode which in-tree plugins CSI drivers replaced. It reports whether that is a change.
func listMigrated(node *storagev1.CSINode, drivers []storagev1.CSINodeDriver) bool {
	// [SIM] MIG-008: on nodes with such a driver only; elsewhere the list would change nothing.
	if !slices.ContainsFunc(drivers, func(d storagev1.CSINodeDriver) bool { _, ok := intree.Plugin(d.Name); return ok }) {
		return false
	}
	list := strings.Join(intree.Names(), ",")
	if node.Annotations[objects.AnnMigratedPlugins] == list {
		return false
	}
	node.Annotations = objects.MergeStrings(node.Annotations, map[string]string{objects.AnnMigratedPlugins: list})
	return true
}

// csiDrivers returns the entries of the CSINode for the drivers of the node, by name, without those that could not be registered.
func (dr *driverRegistrar) csiDrivers(p *engine.Process) (drivers []storagev1.CSINodeDriver, failed error) {
	for name, b := range dr.k.node.nodes.backends.All() {
		if backends.IsInTree(b) || dr.k.node.unregistered[name] {
			continue
		}
		info, err := dr.register(p, name, b)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		drivers = append(drivers, dr.csiDriver(name, b, info))
	}
	return drivers, failed
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
