package csitest

import (
	"slices"
	"strings"

	"github.com/volsim/volsim/csi"
)

// cause is another finding that may be why a run shows a flaw. One cause is one finding.
type cause struct {
	kind   flawKind
	method string
	starts string // how the text of the finding starts, such as "NodeUnstageVolume answers code NotFound"
	ends   string // and how it ends
}

// causes returns what else may be the cause of a flaw: a mount or an attachment that is left after calls that overlapped, and without such calls
// as well; a mount that is left because the path was mounted twice; data that is lost because the mount is; an error without end that is also the
// answer if nothing is left to undo.
func causes(f flaw) []cause {
	switch {
	case f.overlap && (f.kind == mounts || f.kind == inventories):
		if method, _ := culpritOf(f, false); method != f.method {
			return []cause{{kind: f.kind, method: method}}
		}
	case f.kind == mounts && f.method == "NodeUnstageVolume" && calledTwice(f, "NodeStageVolume"):
		return []cause{{kind: mounts, method: "NodeStageVolume", ends: mountedTwice}}
	case f.kind == mounts && f.method == "NodeUnpublishVolume" && calledTwice(f, "NodePublishVolume"):
		return []cause{{kind: mounts, method: "NodePublishVolume", ends: mountedTwice}}
	case f.kind == stuck && opposite[f.method]:
		if answer, _, ok := strings.Cut(f.detail, ": "); ok {
			return []cause{{kind: undone, method: f.method, starts: answer + ":"}}
		}
	case f.kind == data && f.method == "NodeUnpublishVolume":
		return []cause{{kind: mounts, method: f.method}}
	}
	return nil
}

// calledTwice reports whether the driver executed a method twice for the path of a flaw.
func calledTwice(f flaw, method string) bool {
	n := 0
	for _, s := range f.steps {
		if s.Call != nil && s.Call.Method == method && path(s.Call.Request) == f.path {
			n += len(slices.DeleteFunc(slices.Clone(s.Call.Replies), func(r csi.Reply) bool { return r.Status != nil }))
		}
	}
	return n > 1
}

// withoutConsequences returns the findings that are not the consequence of another one.
func withoutConsequences(all []Finding) []Finding {
	return slices.DeleteFunc(slices.Clone(all), func(f Finding) bool {
		return slices.ContainsFunc(f.causes, func(c cause) bool {
			return slices.ContainsFunc(all, func(g Finding) bool {
				return g.Kind == string(c.kind) && g.Method == c.method && strings.HasPrefix(g.Detail, c.starts) && strings.HasSuffix(g.Detail, c.ends) &&
					(c.ends != "" || g.Section != "Concurrency")
			})
		})
	})
}

// mountedTwice ends the text about a path that is mounted twice.
const mountedTwice = "is mounted twice"
