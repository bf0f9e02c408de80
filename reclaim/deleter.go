package reclaim

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/storage"
)

// FindDeleter returns the in-tree plugin that deletes the asset of a volume, and the rule that decided (RECL-030 to RECL-036). With a nil
// plugin and no error, an external provisioner deletes it.
func FindDeleter(set *backends.Set, pv *corev1.PersistentVolume) (plugin storage.Backend, rule string, err error) {
	// An empty annotation counts as none.
	if name := pv.Annotations[objects.AnnProvisionedBy]; name != "" {
		plugin, err := set.DeletableByName(name)
		switch {
		case err == nil:
			// RECL-030: the plugin that made the volume deletes it.
			return plugin, "RECL-030", nil
		case !strings.HasPrefix(name, backends.InTreePrefix):
			// RECL-031: a CSI driver made it.
			return nil, "RECL-031", nil
		}
		// RECL-032: the in-tree plugin that made it does not exist, or cannot delete.
		return nil, "RECL-032", err
	}
	switch {
	case hasKey(pv.Annotations, objects.AnnMigratedTo):
		// RECL-033: it is migrated to a CSI driver.
		return nil, "RECL-033", nil
	case pv.Spec.CSI != nil:
		// RECL-034: no in-tree plugin handles CSI volumes.
		return nil, "RECL-034", nil
	}
	// RECL-035, RECL-036: the plugin for the volume's source deletes it, if it can.
	plugin, err = set.DeletableBySource(&pv.Spec.PersistentVolumeSource)
	if err != nil {
		return nil, "RECL-035", fmt.Errorf("error getting deleter volume plugin for volume %q: %w", pv.Name, err)
	}
	return plugin, "RECL-035", nil
}

func hasKey(m map[string]string, key string) bool {
	_, ok := m[key]
	return ok
}
