package advice_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/explain"
	"github.com/volsim/volsim/internal/core/objname"
	"github.com/volsim/volsim/internal/tools/advice"
	"github.com/volsim/volsim/internal/tools/dump"
)

// TestDumps: each dump has one reason, or two that interact. The comments at its top are the object to ask about, the rule of the root cause,
// texts of the explanation, and texts of the assumptions and of the ways out, in this order. Find returns simulated ways only.
func TestDumps(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 101)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			want := expectations(string(data))
			d, err := dump.Read(data)
			require.NoError(t, err)
			opts := dump.Options{Now: time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)}
			c, err := d.Start(opts)
			require.NoError(t, err)
			ref, err := objname.Parse(want["ask"][0])
			require.NoError(t, err)
			x, err := explain.New(c.Snapshot()).Object(ref)
			require.NoError(t, err)
			require.Equal(t, want["cause"], []string{x.Root().Rule}, x.String())
			require.NotEqual(t, explain.Settled, x.Changes.When, x.String())
			for _, text := range want["says"] {
				require.Contains(t, x.String(), text)
			}
			var assumed strings.Builder
			for _, a := range c.Evidence.All() {
				assumed.WriteString(a.String() + "\n")
			}
			for _, text := range want["assumes"] {
				require.Contains(t, assumed.String()+x.String(), text)
			}
			budget := advice.NoLimit
			ways, err := advice.Find(d, opts, ref, &budget)
			require.NoError(t, err)
			all, rest := describe(ways), describe(ways)
			require.NotEmpty(t, ways, x.String())
			seen := map[string]bool{}
			for _, way := range ways {
				same := describe([]advice.Way{way})
				require.False(t, seen[same], "twice: %s", same)
				seen[same] = true
			}
			for _, text := range want["advice"] {
				at := strings.Index(rest, text)
				require.GreaterOrEqual(t, at, 0, "%q is missing or too early in\n%s", text, all)
				rest = rest[at:]
			}
		})
	}
}

// expectations returns the values of the comments at the top of a dump, by name.
func expectations(text string) map[string][]string {
	want := map[string][]string{}
	for line := range strings.Lines(text) {
		comment, ok := strings.CutPrefix(strings.TrimSpace(line), "# ")
		if !ok {
			break
		}
		name, value, _ := strings.Cut(comment, ": ")
		want[name] = append(want[name], value)
	}
	return want
}

func describe(ways []advice.Way) string {
	var b strings.Builder
	for _, way := range ways {
		b.WriteString(way.Does + " (" + way.Danger.String() + ")\n")
		for _, command := range way.Commands {
			b.WriteString("  " + command.String() + "\n")
		}
		b.WriteString("  " + way.Result + "\n")
	}
	return b.String()
}
