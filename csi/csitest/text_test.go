package csitest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A story that did not reach its end has not passed.
func TestIncompleteStory(t *testing.T) {
	report := Report{Stories: []StoryResult{{Story: "life", Runs: 1}, {Story: "move", Runs: 1, Incomplete: "pod web runs: not reached"}}}
	var text, junit strings.Builder
	require.NoError(t, report.WriteText(&text))
	require.Contains(t, text.String(), "passed: life\nincomplete: move: pod web runs: not reached\n")
	require.NoError(t, report.WriteJUnit(&junit))
	require.Contains(t, junit.String(), `failures="1"`)
	require.Contains(t, junit.String(), `<failure message="incomplete: pod web runs: not reached">`)
}
