package reasons

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/explain"
	"github.com/volsim/volsim/storage"
)

// Row is a question and what the answer has to be.
type Row struct {
	Rule, Name string
	// Ask is the object, and Objs are the world.
	Ask  string
	Objs []api.Object
	// Root is the rule at the end of the chain, "" for Rule.
	Root string
	// When is when it changes, "" for Never, and After how long from now on.
	When  explain.When
	After time.Duration
	// Actor is who takes the first step, "" for nobody.
	Actor string
	// Candidate is the rule that refused the first candidate that was refused, "" if none was.
	Candidate string
	// Backends are the storage systems; nil is none that is known.
	Backends *storage.Set
	// Dumped is what is different in the answer of the command, which knows storage from its dump, and fills in what an API server would; nil is
	// nothing.
	Dumped *Dumped
}

// Dumped is what the command has to say of a row. What is "" is as in the row.
type Dumped struct {
	Rule, Root, Candidate, Actor string
	// When is as Row.When.
	When explain.When
}

// Tables are all rows, by the name of their table.
func Tables() map[string][]Row {
	return map[string][]Row{
		"Claims": Claims(), "Refusals": Refusals(), "Growth": Growth(), "Attributes": Attributes(), "PodsWithoutANode": PodsWithoutANode(),
		"PodsOnANode": PodsOnANode(), "Volumes": Volumes(), "Attachments": Attachments(),
	}
}

// asking has all rows ask about one object.
func asking(object string, rows []Row) []Row {
	for i := range rows {
		rows[i].Ask = object
	}
	return rows
}

// Check asks package explain.
func (r Row) Check(t *testing.T) {
	t.Helper()
	ref, err := explain.ParseRef(r.Ask)
	require.NoError(t, err)
	s := SnapshotOf(t, r.Objs...)
	s.Backends = r.Backends
	x, err := explain.Object(ref, s)
	require.NoError(t, err)
	r.CheckAnswer(t, x)
	if x.Changes.When == explain.ByItself {
		require.Equal(t, Now.Add(r.After), x.Changes.At, x.String())
	}
}

// CheckAnswer checks an answer, but for the time at which something changes.
func (r Row) CheckAnswer(t *testing.T, x explain.Explanation) {
	t.Helper()
	text := x.String()
	require.Equal(t, r.Rule, x.Because.Rule, text)
	root := r.Root
	if root == "" {
		root = r.Rule
	}
	require.Equal(t, root, x.Root().Because.Rule, text)
	when := r.When
	if when == "" {
		when = explain.Never
	}
	require.Equal(t, when, x.Changes.When, text)
	require.Equal(t, when == explain.ByItself, !x.Changes.At.IsZero(), text)
	actor := ""
	if len(x.Next) > 0 {
		actor = x.Next[0].Actor
	}
	require.Equal(t, r.Actor, actor, text)
	refused := ""
	for _, c := range x.Candidates {
		if refused == "" {
			refused = c.Rule
		}
		require.True(t, c.Rule == "" || c.Want != "" && c.Got != "", text)
	}
	require.Equal(t, r.Candidate, refused, text)
}
