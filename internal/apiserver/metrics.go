package apiserver

import (
	"fmt"
	"strings"

	"github.com/volsim/volsim/api"
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
	for _, r := range s.allResources() {
		if r.review || r.presented != nil || seen[r.kind] {
			continue
		}
		seen[r.kind] = true
		fmt.Fprintf(&b, "apiserver_resource_objects{group=%q,resource=%q} %d\n", r.Group, r.Resource, len(s.store.List(r.kind)))
	}
	return metricsText(b.String())
}
