// Package gcepd tests the CSI driver of Google's persistent disks, with its own fake cloud, by csitest and by csi-sanity. csitest finds two
// mistakes of the driver; the tests name the code that makes them.
//
// The module is nested, so that the dependencies of the driver reach no user of volsim.
package gcepd
