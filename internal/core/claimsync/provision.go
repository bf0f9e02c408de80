package claimsync

import (
	"strings"

	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/storage"
)

// Provisioning says who creates the volume for a claim that no volume fits (BIND-057).
type Provisioning struct {
	// Rule decided: PROV-020 to PROV-025.
	Rule string
	// Provisioner is the name of the external provisioner (PROV-022, PROV-025) or of the in-tree plugin (PROV-023); "" if there is none.
	Provisioner string
	// Plugin is the in-tree plugin (PROV-023).
	Plugin storage.Backend
	// Err says why no in-tree plugin creates the volume (PROV-024).
	Err error
}

// Provision decides who creates the volumes of a class; class is nil if it does not exist.
func Provision(class *storagev1.StorageClass, disabled bool, migration objects.Migration, known *backends.Set) Provisioning {
	switch {
	case disabled:
		// PROV-020: provisioning is disabled.
		return Provisioning{Rule: "PROV-020"}
	case class == nil:
		// PROV-021: the class does not exist.
		return Provisioning{Rule: "PROV-021"}
	}
	if driver, migrated := migration(class.Provisioner); migrated {
		// PROV-022, PROV-030: the CSI driver replaces the in-tree plugin.
		return Provisioning{Rule: "PROV-022", Provisioner: driver}
	}
	plugin, err := known.ProvisionableByName(class.Provisioner)
	switch {
	case err == nil:
		// PROV-023: the controller creates the volume, with the plugin.
		return Provisioning{Rule: "PROV-023", Provisioner: class.Provisioner, Plugin: plugin}
	case strings.HasPrefix(class.Provisioner, backends.InTreePrefix):
		// PROV-024: no external provisioner acts for an in-tree name.
		return Provisioning{Rule: "PROV-024", Err: err}
	}
	// PROV-025: an external provisioner creates it.
	return Provisioning{Rule: "PROV-025", Provisioner: class.Provisioner}
}
