package schedule

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// code is what a plugin says about a pod, or about a pod on a node.
type code int

const (
	success code = iota
	// skipped leaves the plugin out of the rest of the cycle.
	skipped
	// unschedulable means that the removal of other pods may help.
	unschedulable
	// unresolvable means that it cannot.
	unresolvable
	// failed means that the plugin could not tell.
	failed
)

// status is the answer of a plugin. The zero value is success.
type status struct {
	code    code
	plugin  string
	reasons []string
	err     error // of a failed one
}

func reject(reasons ...string) status    { return status{code: unschedulable, reasons: reasons} }
func rejectFor(reasons ...string) status { return status{code: unresolvable, reasons: reasons} }
func failure(err error) status           { return status{code: failed, err: err} }

// rejected reports whether the pod was turned down.
func (s status) rejected() bool { return s.code == unschedulable || s.code == unresolvable }

func (s status) message() string { return strings.Join(s.reasons, ", ") }

// Names of the plugins.
const (
	nodeUnschedulable  = "NodeUnschedulable"
	taintToleration    = "TaintToleration"
	nodeAffinity       = "NodeAffinity"
	nodeResourcesFit   = "NodeResourcesFit"
	volumeRestrictions = "VolumeRestrictions"
	nodeVolumeLimits   = "NodeVolumeLimits"
	volumeBinding      = "VolumeBinding"
	volumeZone         = "VolumeZone"
)

// Reasons for which nodes are turned down.
const (
	reasonUnschedulable = "node(s) were unschedulable"
	reasonTaint         = "node(s) had untolerated taint(s)"
	reasonAffinity      = "node(s) didn't match Pod's node affinity/selector"

	reasonDiskConflict = "node(s) had no available disk"                                                                                    // SCHED-183
	reasonPodConflict  = "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod" // SCHED-184
	reasonVolumeCount  = "node(s) exceed max volume count"                                                                                  // SCHED-216
	reasonNodeConflict = "node(s) didn't match PersistentVolume's node affinity"                                                            // SCHED-110
	reasonBindConflict = "node(s) didn't find available persistent volumes to bind"                                                         // SCHED-111
	reasonSpace        = "node(s) did not have enough free storage"                                                                         // SCHED-112
	reasonNoVolume     = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"                                        // SCHED-113
	reasonZone         = "node(s) had no available volume zone"                                                                             // SCHED-202
	reasonImmediate    = "pod has unbound immediate PersistentVolumeClaims"                                                                 // SCHED-050
	reasonNoNodes      = "no nodes available to schedule pods"                                                                              // SCHED-022
)

// diagnosis says why a pod fits on no node.
type diagnosis struct {
	nodes int // all there are
	// preFilter is the reason if the pod was turned down before any node was looked at.
	preFilter string
	byNode    map[string]status
	// plugins are those that turned it down, sorted.
	plugins []string
	// after is what came of the attempt to make room.
	after string
}

func (d *diagnosis) add(node string, s status) {
	if d.byNode == nil {
		d.byNode = map[string]status{}
	}
	d.byNode[node] = s
	d.blame(s.plugin)
}

// blame notes a plugin that turned the pod down.
func (d *diagnosis) blame(plugin string) {
	if at, known := slices.BinarySearch(d.plugins, plugin); !known && plugin != "" {
		d.plugins = slices.Insert(d.plugins, at, plugin)
	}
}

// message is the text of the condition and the Event (SCHED-232 to SCHED-236).
func (d *diagnosis) message() string {
	text := fmt.Sprintf("0/%d nodes are available:", d.nodes)
	if d.preFilter != "" {
		// SCHED-232: one reason for all nodes.
		text += " " + d.preFilter + "."
	} else if reasons := d.histogram(); reasons != "" {
		// SCHED-233
		text += " " + reasons + "."
	}
	if d.after != "" {
		text += " " + d.after
	}
	return text
}

// histogram counts the nodes for each reason.
func (d *diagnosis) histogram() string {
	counts := map[string]int{}
	for _, s := range d.byNode {
		for _, reason := range s.reasons {
			counts[reason]++
		}
	}
	parts := make([]string, 0, len(counts))
	for reason, n := range counts {
		parts = append(parts, fmt.Sprintf("%d %s", n, reason))
	}
	// SCHED-233: sorted as text, so that 10 comes before 2.
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// note cuts a text for an Event (SCHED-012).
func note(text string) string {
	const suffix = " ..."
	// SCHED-012: the server would refuse a longer one.
	if len(text) > noteLimit {
		return text[:noteLimit-len(suffix)] + suffix
	}
	return text
}

// priorityOf is the priority of a pod, zero if it has none.
func priorityOf(pod *corev1.Pod) int32 {
	if pod.Spec.Priority == nil {
		return 0
	}
	return *pod.Spec.Priority
}
