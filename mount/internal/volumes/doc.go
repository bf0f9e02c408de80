// Package volumes holds what the volume manager of a kubelet knows, and decides from it what to do next.
//
// Desired is the state that the pods of the node ask for. Actual contains the volumes that are mounted, or may be. PlanMount, PlanUnmount,
// PlanExpansion and PlanDevice compare the two for one volume and return the next Step; they are pure functions. DeviceAfterFailure
// and PodAfterFailure decide what a failed operation leaves in Actual.
//
// Nothing here knows the engine, the API server or a disk: package mount reads objects, runs the operations and calls these functions.
//
// Start with plan.go. Rules: MNT-021, MNT-022, MNT-040 to MNT-046, MNT-065, MNT-070, MNT-073, MNT-100 to MNT-109, MNT-131 to MNT-135,
// MNT-240 to MNT-249, MNT-405.
package volumes
