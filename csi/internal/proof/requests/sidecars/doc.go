// Package sidecars compares the requests of external-provisioner, external-attacher and external-resizer.
package sidecars
