package explain

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/storage"
)

// provisionedClaim is a claim that a provisioner is to make a volume for (BIND-057).
func (x *explainer) provisionedClaim(e *Explanation, claim *corev1.PersistentVolumeClaim) {
	class, ok := x.classes[objects.ClassOf(claim)]
	if !ok {
		e.never("its class is missing")
		return
	}
	if driver, inTree := provisionerOf(class); inTree {
		x.pluginProvisions(e, claim, class)
	} else {
		x.driverProvisions(e, claim, driver)
	}
}

// provisionerOf is who makes the volumes of a class: a CSI driver, or an in-tree plugin by whose name the PersistentVolume controller
// does it itself.
func provisionerOf(class *storagev1.StorageClass) (name string, inTree bool) {
	if migrated, ok := objects.MigratedDriver(class.Provisioner); ok {
		// PROV-022
		return migrated, false
	}
	// PROV-023, PROV-024
	return class.Provisioner, strings.HasPrefix(class.Provisioner, backends.InTreePrefix)
}

// driverProvisions is a claim that an external provisioner is to make a volume for (PROV-025).
func (x *explainer) driverProvisions(e *Explanation, claim *corev1.PersistentVolumeClaim, driver string) {
	if failed := x.lastEvent(claim, reasoned("ProvisioningFailed")); failed != nil {
		// XPROV-026
		e.Notes = append(e.Notes, fmt.Sprintf("last error of the provisioner (XPROV-026), at %s: %s", stamp(timeOf(failed)), failed.Message))
	}
	backend, known := x.backends().Get(driver)
	switch {
	case claim.Spec.Selector != nil:
		// XPROV-031
		e.say("XPROV-031", fmt.Sprintf("no volume fits, and %s makes none for a claim with a selector", driver))
		e.next(Somebody, "has to create a volume that fits, or a claim without a selector")
		e.never("the provisioner refuses it each time")
	case known && !backends.Can(backend, storage.Create):
		e.next(Somebody, "has to create a volume that fits")
		e.never(driver + " cannot create volumes")
	case !known && x.drivers[driver] == nil:
		// PROV-032: the controller waits and cannot know whether anybody is there.
		e.next("provisioner of "+driver, "has to create a volume, if such a provisioner runs: there is no CSIDriver object of that name")
		e.at(x.Now, "PROV-032", "as soon as the provisioner answers; nobody else will act")
	default:
		e.next(actors.Provisioner(driver), "has to create a volume")
		e.at(x.Now, "XPROV-025", "as soon as the provisioner has created a volume; after an error it tries again")
	}
}

// pluginProvisions is a claim that the PersistentVolume controller is to make a volume for, with an in-tree plugin (PROV-023).
func (x *explainer) pluginProvisions(e *Explanation, claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass) {
	plugin := class.Provisioner
	e.say("PROV-023", fmt.Sprintf("no volume fits; the PersistentVolume controller is to make one with plugin %s", plugin))
	if failed := x.lastEvent(claim, reasoned("ProvisioningFailed")); failed != nil {
		// PROV-046
		e.Notes = append(e.Notes, fmt.Sprintf("last error of the controller (PROV-046), at %s: %s", stamp(timeOf(failed)), failed.Message))
	}
	backend, known := x.backends().Get(plugin)
	node := claim.Annotations[objects.AnnSelectedNode]
	switch {
	case claim.Spec.DataSource != nil:
		// PROV-040
		e.say("PROV-040", fmt.Sprintf("no volume fits, and plugin %s makes none from a data source", plugin))
		e.next(Somebody, "has to create a volume that fits, or a claim without a data source")
		e.never("the controller refuses it each time")
	case known && len(class.MountOptions) > 0 && !backends.TakesMountOptions(backend):
		// PROV-043
		e.say("PROV-043", fmt.Sprintf("no volume fits, and plugin %s makes none with mount options, which class %q has", plugin, class.Name))
		e.next(Somebody, "has to create a volume that fits, or a class without mount options")
		e.never("the controller refuses it each time")
	case node != "" && x.nodes[node] == nil:
		// PROV-045: the annotation stays.
		e.say("PROV-045", fmt.Sprintf("no volume fits, and plugin %s is to make one for node %q, which does not exist", plugin, node))
		e.next(Somebody, fmt.Sprintf("has to remove the annotation %s of the claim", objects.AnnSelectedNode))
		e.never("the controller refuses it each time")
	default:
		e.next(actors.PersistentVolume, "has to create a volume with plugin "+plugin)
		// PROV-046, PROV-048
		e.at(x.Now, "PROV-048", "as soon as the plugin has made a volume; after an error the controller tries again, at most 2m2s apart and at a resync")
	}
}

// csiProvisioner is the CSI driver that makes a volume for the claim, if one is known to run.
func (x *explainer) csiProvisioner(claim *corev1.PersistentVolumeClaim) (string, bool) {
	class, ok := x.classes[objects.ClassOf(claim)]
	if !ok {
		return "", false
	}
	driver, _ := provisionerOf(class)
	backend, known := x.backends().Driver(driver)
	return driver, known && backends.Can(backend, storage.Create) || !known && x.drivers[driver] != nil
}
