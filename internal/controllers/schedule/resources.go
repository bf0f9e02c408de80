package schedule

import "github.com/volsim/volsim/internal/core/podresources"

// The reasons of the filter NodeResourcesFit.
const reasonPods, reasonInsufficient = "Too many pods", "Insufficient "

// lacking returns the resources of which a node has too little for a pod, as reasons, and whether an empty node would have enough. A node
// has enough of a resource that its status does not list.
func lacking(requests, used, allocatable podresources.Amounts, pods int) (reasons []string, resolvable bool) {
	names, tooMany, resolvable := podresources.Lacking(requests, used, allocatable, pods)
	if tooMany {
		reasons = append(reasons, reasonPods)
	}
	for _, name := range names {
		reasons = append(reasons, reasonInsufficient+string(name))
	}
	return reasons, resolvable
}
