// Package snapshotter compares the requests of the csi-snapshotter of external-snapshotter.
package snapshotter
