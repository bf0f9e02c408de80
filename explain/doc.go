// Package explain says why an object is in its state: the rule that decides, every candidate with the first rule that rejected it, who acts
// next, and when the state can change.
//
// In a real cluster the answer is spread over phases, conditions, Events, finalizers and the logs of six components; a pod that does not
// start may wait for a detach on another node. Explainer.Object follows that chain: from a pod to its claims, to their volumes, to their
// attachments, and back to the pods that block those.
//
// An explanation reads API objects only, as they are at one moment. It calls the same decision functions as the controllers and changes
// nothing, so it works for a running simulation and for a dump of a real cluster alike. State that lives only in the memory of a
// controller, such as the length of a backoff, is unknown; times are then counted from now, as after a restart of that controller.
//
//   - claim.go, claimsync.go, provision.go, grow.go and modify.go explain claims; freeing.go finds volumes that may become free for them.
//   - pod.go, nodes.go, podnode.go and podattach.go explain pods, before and after they have a node.
//   - volume.go and attachment.go explain volumes and attachments; workload.go explains StatefulSets, Deployments and the like.
//   - messages.go maps the few texts that have to be read to rules; text.go prints an Explanation.
//
// Rules: for claims BIND-052 to BIND-060, MATCH, PROV-020 to PROV-048 and XPROV-025 to XPROV-031, and once they are bound EXP-012 to
// EXP-042 and VAC-001 to VAC-014; for pods SCHED-020 to SCHED-216, ATT-010 to ATT-196 and MNT-072 to MNT-387; for volumes and
// deletions RECL-001 to RECL-046, PROT-011 to PROT-026 and XPROV-051 to XPROV-054; for workloads STS-020 to STS-027, RS-020, DEP-030,
// DEP-060, DS-020, JOB-020 to JOB-055, JOB-091, JOB-123, GC-020, QUO-020 and QUO-021.
package explain
