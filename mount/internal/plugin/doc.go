// Package plugin simulates what volume plugins do on a node: the CSI plugin, the in-tree plugins, and the plugins for volumes that need
// no storage backend (emptyDir, configMap, secret and the like).
//
// A Plugin makes the calls to storage backends and changes the disk accordingly. It keeps no state: everything that a later call needs is
// in the spec of the volume or on the disk. Host is the node that plugins work on, and finds the plugin for a name.
//
// Of ConfigMaps and Secrets, the objects and their keys are looked for (files.go). No file is made.
//
// Start with plugin.go for the interface, csi.go and csi_publish.go for CSI, reconstruct.go for what a restarted kubelet reads from the
// disk. Rules: MNT-004, MNT-006, MNT-034 to MNT-039, MNT-300 to MNT-341, MNT-422 to MNT-424, MNT-451, MNT-453.
package plugin
