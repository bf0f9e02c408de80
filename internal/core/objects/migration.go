package objects

import (
	"maps"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/intree"
)

// Migration returns the CSI driver that replaces an in-tree plugin. ok is false for a plugin that was not migrated and
// for any other name, including that of a CSI driver.
type Migration func(plugin string) (driver string, ok bool)

// MigratedDriver is the Migration of Kubernetes 1.36, in which the migration of all plugins is final (PROV-051).
func MigratedDriver(plugin string) (driver string, ok bool) {
	// PROV-051
	return intree.Driver(plugin)
}

// RepairClaimMigration returns the annotations that the claim should have, with migrated-to set, replaced or removed as
// its provisioner asks (PROV-050), and whether that is a change. The claim is left alone: a change comes in a new map,
// no change in the claim's own.
//
// A claim that was given the name of a CSI driver as its provisioner, as a claim of a migrated class is, gets no
// migrated-to: that name is no migrated plugin (PROV-052).
func RepairClaimMigration(claim *corev1.PersistentVolumeClaim, migrated Migration) (map[string]string, bool) {
	// PROV-050: the beta key counts only where the other is absent.
	provisioner, ok := claim.Annotations[AnnStorageProvisioner]
	if !ok {
		provisioner, ok = claim.Annotations[AnnBetaStorageProvisioner]
	}
	return repairMigratedTo(claim.Annotations, provisioner, ok, migrated)
}

// RepairVolumeMigration does for a volume what RepairClaimMigration does for a claim; its provisioner is the value of
// provisioned-by (PROV-050).
func RepairVolumeMigration(pv *corev1.PersistentVolume, migrated Migration) (map[string]string, bool) {
	provisioner, ok := pv.Annotations[AnnProvisionedBy]
	return repairMigratedTo(pv.Annotations, provisioner, ok, migrated)
}

func repairMigratedTo(annotations map[string]string, provisioner string, known bool, migrated Migration) (map[string]string, bool) {
	// PROV-050: without a provisioner nothing is known, so nothing is touched.
	if !known {
		return annotations, false
	}
	// PROV-052: the name of a CSI driver is not migrated; "" is then what migrated-to should hold.
	driver, ok := migrated(provisioner)
	if !ok {
		driver = ""
	}
	if annotations[AnnMigratedTo] == driver {
		return annotations, false
	}
	repaired := maps.Clone(annotations)
	if driver == "" {
		delete(repaired, AnnMigratedTo)
	} else {
		repaired[AnnMigratedTo] = driver
	}
	return repaired, true
}
