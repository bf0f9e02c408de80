package fake

import (
	"fmt"
	"slices"
	"strings"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/storage"
)

// Match says which calls a rule is about: those whose fields equal all that are set. A field left out matches anything. The
// fields are those of engine.Call.
type Match struct {
	Actor  string // who asks
	Target string // engine.APIServer, or the name of a backend
	Verb   string // what of an API server ("update-status"), or an Op ("Create")
	Kind   string // the kind of object, for calls to the API server
	Key    string // namespace/name or name of an object; handle or name of a volume
	Node   string // the node, for calls to a backend
	Pod    string // the uid of a pod, for calls to a backend
}

// String lists the fields that are set: "{Target: api, Verb: get}".
func (m Match) String() string {
	var set []string
	for _, field := range [][2]string{{"Actor", m.Actor}, {"Target", m.Target}, {"Verb", m.Verb}, {"Kind", m.Kind}, {"Key", m.Key}, {"Node", m.Node}, {"Pod", m.Pod}} {
		if field[1] != "" {
			set = append(set, field[0]+": "+field[1])
		}
	}
	return "{" + strings.Join(set, ", ") + "}"
}

func (m Match) covers(call api.Call) bool {
	return suits(m.Actor, call.Actor) && suits(m.Target, call.Target) && suits(m.Verb, call.Verb) && suits(m.Kind, call.Kind) &&
		suits(m.Key, call.Key) && suits(m.Node, call.Node) && suits(m.Pod, call.Pod)
}

func suits(wanted, is string) bool { return wanted == "" || wanted == is }

// apiVerbs are the verbs of engine.Call for the API server.
var apiVerbs = []string{"create", "update", "update-status", "patch", "patch-status", "delete", "get", "list", "bind"}

// check refuses what no call can meet: calls to the API server have a kind and no node, calls to backends may have a node and
// have no kind, and each have verbs of their own.
func (m Match) check() error {
	server := m.Target == api.APIServer || slices.Contains(apiVerbs, m.Verb) || m.Kind != ""
	backend := m.Target != "" && m.Target != api.APIServer || backends.IsOp(storage.Op(m.Verb)) || m.Node != "" || m.Pod != ""
	switch {
	case m.Verb != "" && !slices.Contains(apiVerbs, m.Verb) && !backends.IsOp(storage.Op(m.Verb)):
		return fmt.Errorf("there is no verb %q: backends have %v, the API server %v", m.Verb, backends.Ops(), apiVerbs)
	case m.Kind != "" && !slices.Contains(store.Kinds(), api.Kind(m.Kind)):
		return fmt.Errorf("there is no kind %q: write it as in a manifest, one of %v", m.Kind, store.Kinds())
	case server && backend:
		return fmt.Errorf("no call is one to the API server (target %s, a lower case verb, a kind) and to a backend (its name, an Op, a node) at once", api.APIServer)
	}
	return nil
}
