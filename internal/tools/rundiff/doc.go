// Package rundiff tells how two runs differ, or two states of a cluster: in their objects, in how often Events and storage calls occurred,
// and where their traces part.
//
// What differs between any two clusters is passed over: uids, resourceVersions, generations and the values of times; that a time is there at
// all, as a deletionTimestamp is, counts. Simulated runs give the same name to the same thing. Where real clusters do not, names with a uid
// in them (pvc-UID) and those of VolumeAttachments are aligned by what they are made for, and told by their names in the first run.
//
// What happens at one instant has no order in Kubernetes. Traces part at the first instant at which one run does what the other does not;
// the same things in another order are told, and are no difference.
package rundiff
