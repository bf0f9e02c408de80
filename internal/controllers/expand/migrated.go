package expand

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/intree"
)

// Migration returns the CSI driver that took over from an in-tree plugin; ok is false if none did.
type Migration func(plugin string) (driver string, ok bool)

// ofSource returns the in-tree plugin of a source, and the CSI driver that took over from it.
func (m Migration) ofSource(source *corev1.PersistentVolumeSource) (plugin, driver string, ok bool) {
	if m == nil {
		return "", "", false
	}
	if plugin, ok = intree.PluginOf(source); !ok {
		return "", "", false
	}
	driver, ok = m(plugin)
	return plugin, driver, ok
}

// tookOver reports whether the CSI driver took over from an in-tree plugin.
func (m Migration) tookOver(driver string) bool {
	if m == nil {
		return false
	}
	return slices.ContainsFunc(intree.Names(), func(plugin string) bool {
		successor, ok := m(plugin)
		return ok && successor == driver
	})
}
