package apiserver

import (
	"fmt"
	"math"
	"slices"
	"strings"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/apiserver/kinds"
	"github.com/volsim/volsim/internal/core/plain"
)

// metricsType is the media type of metrics.
const metricsType = "text/plain; version=0.0.4; charset=utf-8"

type metricsText string

// metrics returns what there is to measure of the cluster, in the text format of Prometheus (API-511): how many objects of each resource there are.
// The caller has the lock.
func (s *Server) metrics() metricsText {
	var b strings.Builder
	seen := map[api.Kind]bool{}
	b.WriteString("# HELP apiserver_resource_objects Objects in the store, by resource.\n# TYPE apiserver_resource_objects gauge\n")
	for _, r := range s.resources.All() {
		if r.Review || r.Presented != nil || seen[r.Kind] {
			continue
		}
		seen[r.Kind] = true
		fmt.Fprintf(&b, "apiserver_resource_objects{group=%q,resource=%q} %d\n", r.Group, r.Resource, len(s.store.List(r.Kind)))
	}
	s.writeSeats(&b)
	return metricsText(b.String())
}

// serverSeats is how many requests kube-apiserver carries out at the same time by default.
const serverSeats = 600

// writeSeats writes how many of the seats each priority level has: its part of all shares (API-526).
func (s *Server) writeSeats(b *strings.Builder) {
	if !s.flows.exist.Load() {
		return
	}
	var levels []*flowcontrolv1.PriorityLevelConfiguration
	var sum float64
	for _, obj := range s.store.List(kinds.PriorityLevel) {
		level := plain.Shared[*flowcontrolv1.PriorityLevelConfiguration](obj.(*plain.Object))
		levels = append(levels, level)
		sum += float64(sharesOf(level))
	}
	b.WriteString("# HELP apiserver_flowcontrol_nominal_limit_seats Requests of each priority level at the same time.\n" +
		"# TYPE apiserver_flowcontrol_nominal_limit_seats gauge\n")
	slices.SortFunc(levels, func(a, b *flowcontrolv1.PriorityLevelConfiguration) int { return strings.Compare(a.Name, b.Name) })
	for _, level := range levels {
		seats := math.Ceil(serverSeats * float64(sharesOf(level)) / max(sum, 1))
		fmt.Fprintf(b, "apiserver_flowcontrol_nominal_limit_seats{priority_level=%q} %v\n", level.Name, seats)
	}
}

func sharesOf(level *flowcontrolv1.PriorityLevelConfiguration) int32 {
	var shares *int32
	switch spec := level.Spec; {
	case spec.Limited != nil:
		shares = spec.Limited.NominalConcurrencyShares
	case spec.Exempt != nil:
		shares = spec.Exempt.NominalConcurrencyShares
	}
	if shares == nil {
		return 0
	}
	return *shares
}
