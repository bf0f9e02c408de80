// Package disk simulates what the kubelet of a node keeps on disk: directories, metadata files, links, and the mount table.
//
// Disk is the tree and its mounts. Layout computes the paths at which a kubelet keeps the volumes of pods and plugins.
// File contents are not simulated, except for the metadata files (vol_data.json) from which a restarted kubelet reconstructs volumes.
// The contents of volumes belong to the storage backends.
//
// Start with disk.go for reading, change.go for writing, tree.go for the entries, layout.go for paths. Rules: MNT-026 to MNT-037 and MNT-485.
package disk
