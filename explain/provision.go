package explain

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/gates"
	"github.com/volsim/volsim/internal/core/grants"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/objkinds"
	"github.com/volsim/volsim/storage"
)

// provisionedClaim explains a claim that waits for a provisioner to create its volume (BIND-057).
func (x *explainer) provisionedClaim(e *Explanation, claim *corev1.PersistentVolumeClaim) {
	class, ok := x.classes[objects.ClassOf(claim)]
	if !ok {
		e.manual("its storage class does not exist")
		return
	}
	if driver, inTree := provisionerOf(class); inTree {
		x.pluginProvisions(e, claim, class)
	} else {
		x.driverProvisions(e, claim, driver)
	}
}

// provisionerOf returns the provisioner of a class: a CSI driver, or an in-tree plugin that the PersistentVolume controller calls.
func provisionerOf(class *storagev1.StorageClass) (name string, inTree bool) {
	if migrated, ok := objects.MigratedDriver(class.Provisioner); ok {
		// PROV-022: the CSI driver replaces the in-tree plugin.
		return migrated, false
	}
	// PROV-023, PROV-024: the prefix marks in-tree plugins.
	return class.Provisioner, strings.HasPrefix(class.Provisioner, backends.InTreePrefix)
}

// driverProvisions explains a claim that waits for an external provisioner (PROV-025).
func (x *explainer) driverProvisions(e *Explanation, claim *corev1.PersistentVolumeClaim, driver string) {
	if failed := x.lastEvent(claim, reasoned("ProvisioningFailed")); failed != nil {
		// XPROV-026: the provisioner reports failures as Events.
		e.Notes = append(e.Notes, fmt.Sprintf("last failure of the provisioner (XPROV-026, %s): %s", stamp(timeOf(failed)), failed.Message))
	}
	backend, known := x.backends().Get(driver)
	node := claim.Annotations[objects.AnnSelectedNode]
	runs := known || x.drivers[driver] != nil
	switch {
	case known && !backends.Can(backend, storage.Create):
		e.todo("create a volume that fits")
		e.manual(driver + " cannot create volumes")
	case runs && x.sourceRefused(e, claim):
	case runs && (x.restored(e, claim, driver) || x.cloned(e, claim, driver)):
	case runs && x.populated(e, claim, driver):
	case claim.Spec.Selector != nil:
		// XPROV-031: a provisioner does not serve claims with a selector.
		e.because("XPROV-031", fmt.Sprintf("no volume fits, and %s creates none for a claim with a selector", driver))
		e.todo("create a volume that fits, or a claim without a selector")
		e.manual("each retry of the provisioner fails the same way")
	case !runs:
		// PROV-032: the controller waits; it cannot know whether such a provisioner runs.
		e.next("provisioner of "+driver, "creates a volume, if it runs: there is no CSIDriver object of that name")
		e.automatic(x.Now, "PROV-032", "when the provisioner has created a volume; no other component creates one")
		if meant := x.similarDriver(driver); meant != "" {
			e.Notes = append(e.Notes, fmt.Sprintf("driver %q is installed: storage class %q may mean that one", meant, objects.ClassOf(claim)))
		}
	case node != "" && x.nodes[node] == nil && (x.Evidence == nil || len(x.nodes) > 0) && !x.stopped(actors.Provisioner(driver)):
		// XPROV-026: the provisioner looks at the node before it asks the driver.
		e.because("XPROV-026", fmt.Sprintf("annotation %s names node %q, which does not exist", objects.AnnSelectedNode, node))
		if a, ok := x.Evidence.Create(driver, claim); ok && a.Count > 1 && strings.Contains(a.Message, node) {
			// XPROV-026: older provisioners do not remove it, nor those without the permission to change claims.
			e.assume(a)
			e.todo("remove the annotation, which this provisioner does not do; then the scheduler chooses another node: " + unselect(claim))
			e.manual("each retry of the provisioner fails the same way")
			break
		}
		e.next(actors.Provisioner(driver), "removes the annotation; then the scheduler chooses another node")
		e.automatic(x.Now, "XPROV-026", "with the next sync of the provisioner")
	case x.createFails(e, claim, driver):
	default:
		e.next(actors.Provisioner(driver), "creates a volume")
		e.automatic(x.Now, "XPROV-025", "when the provisioner has created a volume; failures are retried")
	}
}

// populated explains a claim that the provisioner leaves to a volume populator. It reports whether that is so.
func (x *explainer) populated(e *Explanation, claim *corev1.PersistentVolumeClaim, driver string) bool {
	source := objects.DataSourceOf(claim)
	if source == nil || source.Kind == string(api.PersistentVolumeClaim) || source.Kind == snapshotWord {
		return false
	}
	kind := objkinds.Name(objects.ValueOf(source.APIGroup), source.Kind)
	populator, exists := "", true
	if x.Populator != nil {
		namespace := claim.Namespace
		if other, across := grants.Namespace(claim); across {
			namespace = other
		}
		populator, exists = x.Populator(api.Kind(kind), api.Key(namespace, source.Name))
	}
	// XPROV-031, XPROV-026: the provisioner ignores such a claim, and does not retry.
	e.because("XPROV-026", fmt.Sprintf("no volume fits, and %s leaves the claim to a volume populator, because its dataSourceRef names %s %s",
		driver, source.Kind, source.Name))
	// SNAP-072: the finalizer shows that a populator is at work.
	working := slices.ContainsFunc(claim.Finalizers, func(f string) bool { return strings.HasSuffix(f, "/populate-target-protection") })
	switch {
	case populator != "" && !exists && !working:
		// SNAP-071: the populator begins when the data source exists.
		e.todo(fmt.Sprintf("create %s %s", kind, source.Name))
		e.manual(populator + " waits for the data source")
	case populator != "" || working:
		if populator == "" {
			populator = "populator for " + kind
		}
		e.next(populator, "fills a volume, and gives it to the claim")
		e.automatic(x.Now, "SNAP-073", "when the populator has filled a volume")
	default:
		e.next("populator for "+kind, "creates a volume, if one runs")
		e.manual("only a populator creates this volume, and none is known")
	}
	return true
}

// sourceRefused explains a claim whose source is in a namespace that it may not use. It reports whether that is so.
func (x *explainer) sourceRefused(e *Explanation, claim *corev1.PersistentVolumeClaim) bool {
	namespace, across := grants.Namespace(claim)
	if !across {
		return false
	}
	ref := claim.Spec.DataSourceRef
	source := ref.Kind + " " + api.Key(namespace, ref.Name)
	if !x.Gates.CrossNamespaceVolumeDataSource {
		// SNAP-034: the gate was on when the claim was stored.
		e.because("SNAP-034", fmt.Sprintf("no volume fits, and the feature gate %s is off, so that no source may be in a namespace: %s",
			gates.CrossNamespaceVolumeDataSource, source))
		e.todo(fmt.Sprintf("turn the feature gate %s on, or create the claim again with a source in its namespace", gates.CrossNamespaceVolumeDataSource))
		e.manual("each retry of the provisioner fails the same way")
		return true
	}
	if !grants.Needed(claim) || grants.Check(claim, x.Grants) == nil {
		return false
	}
	// SNAP-033: a grant in the namespace of the source must allow it.
	e.because("SNAP-033", fmt.Sprintf("no volume fits, and no ReferenceGrant in namespace %s allows claims of namespace %s to use %s",
		namespace, claim.Namespace, source))
	e.todo(fmt.Sprintf("create a ReferenceGrant in namespace %s: from group %q, kind PersistentVolumeClaim, namespace %s, to group %q, kind %s, name %s",
		namespace, "", claim.Namespace, objects.ValueOf(ref.APIGroup), ref.Kind, ref.Name))
	e.manual("each retry of the provisioner fails the same way; after a new grant the next retry succeeds")
	return true
}

// pluginProvisions explains a claim that waits for the PersistentVolume controller to create its volume with an in-tree plugin (PROV-023).
func (x *explainer) pluginProvisions(e *Explanation, claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass) {
	plugin := class.Provisioner
	e.because("PROV-023", fmt.Sprintf("no volume fits; the PersistentVolume controller creates one with plugin %s", plugin))
	if failed := x.lastEvent(claim, reasoned("ProvisioningFailed")); failed != nil {
		// PROV-046: the controller reports failures as Events.
		e.Notes = append(e.Notes, fmt.Sprintf("last failure of the controller (PROV-046, %s): %s", stamp(timeOf(failed)), failed.Message))
	}
	backend, known := x.backends().Get(plugin)
	node := claim.Annotations[objects.AnnSelectedNode]
	switch {
	case claim.Spec.DataSource != nil:
		// PROV-040: in-tree plugins cannot copy data.
		e.because("PROV-040", fmt.Sprintf("no volume fits, and plugin %s creates none from a data source", plugin))
		e.todo("create a volume that fits, or a claim without a data source")
		e.manual("each retry of the controller fails the same way")
	case known && len(class.MountOptions) > 0 && !backends.TakesMountOptions(backend):
		// PROV-043: the plugin does not accept mount options.
		e.because("PROV-043", fmt.Sprintf("no volume fits, and plugin %s creates none with the mount options of class %q", plugin, class.Name))
		e.todo("create a volume that fits, or a class without mount options")
		e.manual("each retry of the controller fails the same way")
	case node != "" && x.nodes[node] == nil:
		// PROV-045: the annotation stays.
		e.because("PROV-045", fmt.Sprintf("no volume fits, and plugin %s cannot create one for node %q, which does not exist", plugin, node))
		e.todo(fmt.Sprintf("remove annotation %s from the claim", objects.AnnSelectedNode))
		e.manual("each retry of the controller fails the same way")
	default:
		e.next(actors.PersistentVolume, "creates a volume with plugin "+plugin)
		// PROV-046, PROV-048: failures are retried with backoff, by a resync.
		e.automatic(x.Now, "PROV-048", "when the plugin has created a volume; failures are retried within 2m2s, with a resync")
	}
}
