// Package rundiff compares two runs, or two states of a cluster: their objects, the number of Events and storage calls, and the point at
// which their traces diverge.
//
// It ignores what differs between any two clusters: uids, resourceVersions, generations and the values of timestamps; the presence of a
// timestamp, such as deletionTimestamp, counts. Generated names that contain a uid (pvc-UID), and those of VolumeAttachments, are matched
// by the object they belong to and reported by their names in the first run.
//
// In Kubernetes, events at the same time have no fixed order. Traces diverge at the first time at which one run has an entry that the other
// does not have; the same entries in another order are reported, but are no difference.
package rundiff
