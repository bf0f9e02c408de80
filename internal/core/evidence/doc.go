// Package evidence reads in the objects of a dump how the world outside of the control plane behaves: storage drivers, nodes, and the
// programs beside them. A simulation that continues from the dump assumes that they go on like that.
//
// Evidence is recorded in objects: the last errors in Events and status, how often and since when; a CSIDriver, CSINode or registration
// that is missing; attach and detach errors of VolumeAttachments; stale heartbeats and leases; requests without an answer. [Read] turns it
// into [Assumption] values, each about one driver, node or controller. [Set.Override] changes them on request. [Set] is an injector of
// faults, so that the assumed behaviour shows in a simulation; package dump stops the controllers that are assumed not to run.
//
// An error counts only as long as the object that it is about still waits. Failures that the simulation reproduces by itself, such as a
// missing storage class, are no evidence.
package evidence
