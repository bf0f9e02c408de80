// Package dump reads what kubectl prints of a real cluster, and makes a simulated cluster of it that goes on from there.
//
// Read takes the output of
//
//	kubectl get pv,pvc,sc,pods,nodes,volumeattachments,csidrivers,csinodes -A -o yaml
//
// or of any other choice of kinds, in YAML or JSON. Objects keep uid, phase, annotations, finalizers and timestamps. Kinds that are
// not simulated are left out, and so are fields of a newer API; both are told.
//
// Dump.Start makes the cluster. Storage systems are inferred: a CSI driver for each name that an object mentions, with what CSIDriver and
// CSINode objects say of it; what a VolumeAttachment says is attached, is. Containers that run go on running, with their volumes mounted. A
// node that is not ready is taken as cut off from the API server: its containers may still run. Controllers begin with empty
// memories, as after a restart, at the newest timestamp of the dump.
package dump
