package reasons

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/explain"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/objname"
)

// Row is a question and its expected answer.
type Row struct {
	Rule, Name string
	// Ask is the object, and Objs are all objects.
	Ask  string
	Objs []api.Object
	// Root is the rule at the end of the chain, "" for Rule.
	Root string
	// When is when it changes, "" for Never, and After the time from now.
	When  explain.When
	After time.Duration
	// Actor acts first: a component, or Admin; "" if nothing needs doing.
	Actor string
	// Candidate is the rule that rejected the first rejected candidate, "" if none was rejected.
	Candidate string
	// Backends are the storage systems; nil if none is known.
	Backends *backends.Set
	// Dumped lists the differences in the command's answer, which derives storage from the dump, and sets what an API server would set; nil
	// for nothing.
	Dumped *Dumped
}

// Admin is the Actor of a step that the user has to take.
const Admin = "administrator"

// Dumped is the command's answer for a row. "" means as in the row.
type Dumped struct {
	Rule, Root, Candidate, Actor string
	// When is as Row.When.
	When explain.When
}

// Tables are all rows, by table name.
func Tables() map[string][]Row {
	return map[string][]Row{
		"Claims": Claims(), "Rejections": Rejections(), "Growth": Growth(), "Attributes": Attributes(), "PodsWithoutANode": PodsWithoutANode(),
		"PodsOnANode": PodsOnANode(), "Volumes": Volumes(), "Attachments": Attachments(),
		"Workloads": Workloads(),
	}
}

// asking sets the object of all rows.
func asking(object string, rows []Row) []Row {
	for i := range rows {
		rows[i].Ask = object
	}
	return rows
}

// Check asks package explain.
func (r Row) Check(t *testing.T) {
	t.Helper()
	ref, err := objname.Parse(r.Ask)
	require.NoError(t, err)
	s := SnapshotOf(t, r.Objs...)
	s.Backends = r.Backends
	x, err := explain.New(s).Object(ref)
	require.NoError(t, err)
	r.CheckAnswer(t, x)
	if x.Changes.When == explain.Automatic {
		require.Equal(t, Now.Add(r.After), x.Changes.At, x.String())
	}
}

// CheckAnswer checks an answer, except the time at which something changes.
func (r Row) CheckAnswer(t *testing.T, x explain.Explanation) {
	t.Helper()
	text := x.String()
	require.Equal(t, r.Rule, x.Rule, text)
	root := r.Root
	if root == "" {
		root = r.Rule
	}
	require.Equal(t, root, x.Root().Rule, text)
	when := r.When
	if when == "" {
		when = explain.Manual
	}
	require.Equal(t, when, x.Changes.When, text)
	require.Equal(t, when == explain.Automatic, !x.Changes.At.IsZero(), text)
	actor := ""
	if len(x.Next) > 0 {
		if actor = x.Next[0].Actor; actor == "" {
			actor = Admin
		}
	}
	require.Equal(t, r.Actor, actor, text)
	rejected := ""
	for _, c := range x.Candidates {
		if rejected == "" {
			rejected = c.Rule
		}
		require.True(t, c.Rule == "" || c.Got != "", text)
	}
	require.Equal(t, r.Candidate, rejected, text)
}
