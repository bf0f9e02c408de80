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
package explain

// The files:
//
//   - claim.go, claimsync.go, provision.go, grow.go and modify.go explain claims; freeing.go finds volumes that may become free for them.
//   - pod.go, nodes.go, podnode.go and podattach.go explain pods, before and after they have a node.
//   - volume.go and attachment.go explain volumes and attachments; workload.go explains StatefulSets, Deployments and the like.
//   - messages.go maps the few texts that have to be read to rules; text.go prints an Explanation.
//
// Each branch names the rule that it applies; the rules are in docs/rules.
