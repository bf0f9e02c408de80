package script

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTitleOf(t *testing.T) {
	for _, test := range []struct{ comment, title, text string }{
		{"A claim waits.", "A claim waits", ""},
		{"A claim waits", "A claim waits", ""},
		{"1. The node stops. Its pods stay.", "1. The node stops", "Its pods stay."},
		{"A node dies: why a database with a ReadWriteOnce volume does not fail over, and what helps.", "A node dies",
			"Why a database with a ReadWriteOnce volume does not fail over, and what helps."},
	} {
		title, text := titleOf(test.comment)
		require.Equal(t, test.title, title)
		require.Equal(t, test.text, text)
	}
}

func TestChapters(t *testing.T) {
	s, err := Parse("story.txtar", []byte(`# How time passes. And commands.
advance 1s
advance 2s

# 1. Later. A comment
# of two lines.
! expect pvc/a phase=Bound
advance 3s
expect pvc/b phase=Bound

# 2. Never reached.
advance 1s
`))
	require.NoError(t, err)
	result, err := Run(s, Options{})
	require.ErrorContains(t, err, "story.txtar:9")
	defer result.Cluster.Close()
	chapters := result.Chapters()
	require.Len(t, chapters, 2)
	require.Equal(t, "How time passes", chapters[0].Title)
	require.Equal(t, "And commands.", chapters[0].Text)
	require.Len(t, chapters[0].Commands, 2)
	require.Equal(t, "1. Later", chapters[1].Title)
	require.Equal(t, "A comment of two lines.", chapters[1].Text)
	require.Len(t, chapters[1].Commands, 3)
	last := chapters[1].Commands[2]
	require.Equal(t, "expect pvc/b phase=Bound", last.Command)
	require.True(t, last.Expects)
	require.True(t, result.Failed(last))
	require.Equal(t, "6s", last.From.String())
	require.False(t, result.Failed(chapters[1].Commands[0]), "the prefix ! expects the error")
	require.Equal(t, "3s", chapters[1].Commands[1].From.String())
	require.NotZero(t, last.Seq)
}
