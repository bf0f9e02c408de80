// Package dump reads a dump of a real cluster, made with kubectl, and starts a simulated cluster from it.
//
// Read takes the output of
//
//	kubectl get ns,pv,pvc,sc,pods,nodes,deploy,rs,sts,ds,jobs,pdb,quota,volumeattachments,csidrivers,csinodes,events -A -o yaml
//
// or of other kinds, in YAML or JSON. Objects keep uid, phase, annotations, finalizers and timestamps. Read skips kinds that are not
// simulated and fields of a newer API, and reports both.
//
// Dump.Start creates the cluster. It infers the storage systems: a CSI driver for each name that an object mentions, with the properties of
// its CSIDriver and CSINode objects and the attachments of VolumeAttachments. Running containers keep running, with their volumes mounted.
// A NotReady node counts as disconnected from the API server, with its containers still running. Controllers start with empty memory, as
// after a restart, at the newest timestamp of the dump.
package dump
