package fake

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/objkinds"
	"github.com/volsim/volsim/internal/core/similar"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/storage"
)

// Match selects the calls that a rule of [Faults] applies to: those with the same value in every field that is set. An empty field matches
// any value.
type Match = api.Call

// matchText lists the fields that are set: "{Target: api, Verb: get}".
func matchText(m Match) string {
	var set []string
	for _, field := range [...][2]string{
		{"Actor", m.Actor}, {"Target", m.Target}, {"Verb", m.Verb}, {"Kind", m.Kind}, {"Key", m.Key}, {"Node", m.Node}, {"Pod", m.Pod},
	} {
		if field[1] != "" {
			set = append(set, field[0]+": "+field[1])
		}
	}
	return "{" + strings.Join(set, ", ") + "}"
}

func covers(m Match, call api.Call) bool {
	return matches(m.Actor, call.Actor) && matches(m.Target, call.Target) && matches(m.Verb, call.Verb) && matches(m.Kind, call.Kind) &&
		matches(m.Key, call.Key) && matches(m.Node, call.Node) && matches(m.Pod, call.Pod)
}

func matches(pattern, value string) bool { return pattern == "" || pattern == value }

// apiVerbs are the verbs of calls to the API server.
var apiVerbs = []string{"create", "update", "update-status", "update-finalize", "patch", "patch-status", "delete", "deletecollection", "get", "list", "bind"}

// isBackend reports whether a match selects calls to backends only.
func isBackend(m Match) bool {
	return m.Target != "" && m.Target != api.APIServer || backends.IsOp(storage.Op(m.Verb)) || m.Node != "" || m.Pod != ""
}

// unknownVerb lists the verbs of what a match selects: calls to the API server, to backends, or both.
func unknownVerb(m Match, server bool) error {
	verbs := slices.Clone(apiVerbs)
	if !server {
		if isBackend(m) {
			verbs = nil
		}
		for _, op := range backends.Ops() {
			verbs = append(verbs, string(op))
		}
	}
	hint := similar.Hint(m.Verb, verbs)
	if m.Verb == "apply" {
		hint = "; server-side apply is a patch"
	}
	return fmt.Errorf("unknown verb %q: want one of %s%s", m.Verb, strings.Join(verbs, ", "), hint)
}

// unknownKind says how the kind is written that was probably meant. Kinds of most groups have the group in their name.
func unknownKind(kind string) error {
	var names []string
	for _, known := range objkinds.All() {
		if known.Kind == kind {
			names = append(names, strconv.Quote(known.Name()))
		}
	}
	if len(names) > 0 {
		return fmt.Errorf("there is no kind %q; its name here has the group: %s", kind, strings.Join(names, ", "))
	}
	return fmt.Errorf("there is no kind %q; write it as in a manifest, one of %v, or with its group, as in \"StatefulSet.apps\"", kind, store.Kinds())
}

// bareKey reports whether the key lacks the namespace that calls about the kind have. A list, or the deletion of a collection, has a namespace alone.
func bareKey(m Match) bool {
	kind := objkinds.Get(m.Kind)
	return kind != nil && kind.Namespaced && m.Key != "" && !strings.Contains(m.Key, "/") && m.Verb != "list" && m.Verb != "deletecollection"
}

// checkMatch returns an error for a match that no call can satisfy. Calls to the API server have a kind and no node; calls to backends have
// no kind; each have their own verbs.
func checkMatch(m Match) error {
	server := m.Target == api.APIServer || slices.Contains(apiVerbs, m.Verb) || m.Kind != ""
	backend := isBackend(m)
	switch {
	case m.Verb != "" && !slices.Contains(apiVerbs, m.Verb) && !backends.IsOp(storage.Op(m.Verb)):
		return unknownVerb(m, server)
	case m.Kind != "" && objkinds.Get(m.Kind) == nil && !strings.Contains(m.Kind, "."):
		return unknownKind(m.Kind)
	case bareKey(m):
		return fmt.Errorf("the key %q of a %s has no namespace; want namespace/name (a list has only the namespace: set Verb to list)", m.Key, m.Kind)
	case server && backend:
		return fmt.Errorf("no call matches; the API server has the target %q, lower-case verbs and kinds, a backend has its name as target, "+
			"operations, nodes and pods", api.APIServer)
	}
	return nil
}
