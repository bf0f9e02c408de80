package schedule

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// code is the kind of result of a plugin for a pod, or for a pod on a node.
type code int

const (
	success code = iota
	// skipped means that the plugin does not apply to the pod.
	skipped
	// unschedulable means that the eviction of other pods may help.
	unschedulable
	// unresolvable means that evictions cannot help.
	unresolvable
	// failed means that the plugin returned an error.
	failed
)

// status is the result of a plugin. The zero value is success.
type status struct {
	code    code
	plugin  string
	reasons []string
	err     error // of a failed one
	// rule is the ID of the rule behind a rejection in PreFilter.
	rule string
}

func reject(reasons ...string) status    { return status{code: unschedulable, reasons: reasons} }
func rejectFor(reasons ...string) status { return status{code: unresolvable, reasons: reasons} }
func failure(err error) status           { return status{code: failed, err: err} }

// by sets the rule behind a rejection.
func (s status) by(rule string) status {
	s.rule = rule
	return s
}

// rejected reports whether the plugin rejected the pod.
func (s status) rejected() bool { return s.code == unschedulable || s.code == unresolvable }

func (s status) message() string { return strings.Join(s.reasons, ", ") }

// Names of the plugins.
const (
	nodeUnschedulable = "NodeUnschedulable"
	taintToleration   = "TaintToleration"
	nodeAffinity      = "NodeAffinity"
	nodePorts         = "NodePorts"
	nodeResourcesFit  = "NodeResourcesFit"

	nodeResourcesBalancedAllocation = "NodeResourcesBalancedAllocation"
	imageLocality                   = "ImageLocality"
	volumeRestrictions              = "VolumeRestrictions"
	nodeVolumeLimits                = "NodeVolumeLimits"
	volumeBinding                   = "VolumeBinding"
	volumeZone                      = "VolumeZone"
	podTopologySpread               = "PodTopologySpread"
	interPodAffinity                = "InterPodAffinity"
)

// Reasons for which nodes are rejected, as kube-scheduler writes them.
const (
	reasonUnschedulable = "node(s) were unschedulable"
	reasonTaint         = "node(s) had untolerated taint(s)"
	reasonAffinity      = "node(s) didn't match Pod's node affinity/selector"
	reasonPorts         = "node(s) didn't have free ports for the requested pod ports" // SCHED-316

	reasonSpread          = "node(s) didn't match pod topology spread constraints"     // SCHED-305
	reasonNoDomain        = reasonSpread + " (missing required label)"                 // SCHED-304
	reasonPodAffinity     = "node(s) didn't match pod affinity rules"                  // SCHED-292
	reasonPodAntiAffinity = "node(s) didn't match pod anti-affinity rules"             // SCHED-294
	reasonExcluded        = "node(s) didn't satisfy existing pods anti-affinity rules" // SCHED-295

	reasonDiskConflict = "node(s) had no available disk" // SCHED-183
	// SCHED-184
	reasonPodConflict  = "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
	reasonVolumeCount  = "node(s) exceed max volume count"                                           // SCHED-216
	reasonNodeConflict = "node(s) didn't match PersistentVolume's node affinity"                     // SCHED-110
	reasonBindConflict = "node(s) didn't find available persistent volumes to bind"                  // SCHED-111
	reasonSpace        = "node(s) did not have enough free storage"                                  // SCHED-112
	reasonNoVolume     = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)" // SCHED-113
	reasonZone         = "node(s) had no available volume zone"                                      // SCHED-202
	reasonImmediate    = "pod has unbound immediate PersistentVolumeClaims"                          // SCHED-050
	reasonNoNodes      = "no nodes available to schedule pods"                                       // SCHED-022
)

// diagnosis has the reasons why a pod fits on no node.
type diagnosis struct {
	nodes int // the number of nodes in the cluster
	// preFilter is the reason if the pod was rejected before any node was filtered.
	preFilter string
	byNode    map[string]status
	// plugins are the plugins that rejected it, sorted.
	plugins []string
	// after is the result of postFilter.
	after string
}

func (d *diagnosis) add(node string, s status) {
	if d.byNode == nil {
		d.byNode = map[string]status{}
	}
	d.byNode[node] = s
	d.blame(s.plugin)
}

// blame records a plugin that rejected the pod.
func (d *diagnosis) blame(plugin string) {
	if len(d.plugins) == 0 && plugin != "" {
		d.plugins = []string{plugin}
		return
	}
	if at, known := slices.BinarySearch(d.plugins, plugin); !known && plugin != "" {
		d.plugins = slices.Insert(d.plugins, at, plugin)
	}
}

// message returns the text of the condition and the Event (SCHED-232 to SCHED-236).
func (d *diagnosis) message() string {
	// SCHED-232: one reason for all nodes. SCHED-233: else the reasons with the number of nodes for each.
	reasons := d.preFilter
	if reasons == "" {
		reasons = d.histogram()
	}
	before, after, space := "", "", ""
	if reasons != "" {
		before, after = " ", "."
	}
	if d.after != "" {
		space = " "
	}
	return "0/" + strconv.Itoa(d.nodes) + " nodes are available:" + before + reasons + after + space + d.after
}

// histogram returns the reasons with the number of nodes for each.
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
	// SCHED-233: sorted as text, so 10 precedes 2.
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// note truncates a text for an Event (SCHED-012).
func note(text string) string {
	const suffix = " ..."
	// SCHED-012: the API server rejects a longer note.
	if len(text) > noteLimit {
		return text[:noteLimit-len(suffix)] + suffix
	}
	return text
}

// priorityOf returns the priority of a pod, zero if it has none.
func priorityOf(pod *corev1.Pod) int32 {
	if pod.Spec.Priority == nil {
		return 0
	}
	return *pod.Spec.Priority
}
