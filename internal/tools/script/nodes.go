package script

import (
	"slices"
	"strings"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
)

// HasNodes reports whether the script creates nodes, or names a controller that acts on failing nodes. It may report true for a script that
// does neither, never false for one that does.
func (s *Script) HasNodes() bool {
	if s.hasNodes == nil {
		has := s.findNodes()
		s.hasNodes = &has
	}
	return *s.hasNodes
}

func (s *Script) findNodes() bool {
	for _, f := range s.archive.Files {
		// A file that is no manifest creates nothing.
		objs, err := s.manifests([]string{f.Name}, "")
		if err == nil && slices.ContainsFunc(objs, func(o locatedObject) bool { return api.KindOf(o.obj) == api.Node }) {
			return true
		}
	}
	return slices.ContainsFunc(s.statements, func(st *statement) bool {
		return !st.comment && (st.command.name == "node" || slices.ContainsFunc(st.words, namesNodeController))
	})
}

func namesNodeController(w word) bool {
	return slices.ContainsFunc(w, func(p piece) bool {
		return slices.ContainsFunc(actors.NodeFailure, func(name string) bool { return strings.Contains(p.text, name) })
	})
}
