// Package explain says why an object is in the state it is in: the rule that decides, every candidate with the first rule that refused
// it, who has to act next, and when anything can change by itself.
//
// In a real cluster the answer is spread over phases, conditions, Events, finalizers and the logs of half a dozen components; a pod
// that does not start may be waiting for a detach on another node. Object follows that chain: from a pod to its claims, to their
// volumes, to their attachments, and back to the pods that hold those.
//
// An explanation is drawn from API objects alone, as they were at one moment; it follows the same functions that the controllers follow,
// and does nothing. So it can be given of a running simulation as well as of what kubectl printed. What only lives in the memory of
// a controller, such as how far a backoff has grown or since when a detach has been wanted, is not known to it; times are then
// counted from now, as after a restart of that controller.
//
// Rules: for claims BIND-052 to BIND-060, MATCH, PROV-020 to PROV-048 and XPROV-025 to XPROV-031, and once they are bound EXP-012 to
// EXP-042 and VAC-001 to VAC-014; for pods SCHED-020 to SCHED-216, ATT-010 to ATT-196 and MNT-072 to MNT-387; for volumes and
// deletions RECL-001 to RECL-046, PROT-011 to PROT-026 and XPROV-051 to XPROV-054.
package explain
