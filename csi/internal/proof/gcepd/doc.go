// Package gcepd tests the CSI driver of Google's persistent disks, with its own fake cloud, by csitest and by csi-sanity. The driver is used
// by many clusters, so findings would most likely be mistakes of csitest.
//
// The module is nested, so that the dependencies of the driver reach no user of volsim.
package gcepd
