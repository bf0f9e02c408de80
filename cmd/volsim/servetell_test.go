package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/volsim/volsim/internal/tools/script"
)

// TestClientUsage: a wrong command line of volsim client is reported in its own words, before any server is asked.
func TestClientUsage(t *testing.T) {
	for _, test := range []struct{ name, line, want string }{
		{"an unknown action", "stop m", `unknown action "stop": want lag, crash or restart`},
		{"no name", "crash ", "empty NAME: want the name of the client in User-Agent"},
		{"a lag without a duration", "lag m", "missing DURATION"},
		{"no duration", "lag m soon", `invalid duration "soon": want a number with a unit, such as 15s`},
		{"a negative duration", "crash m -1s", `invalid DURATION "-1s": want a duration such as 2s`},
		{"a crash of no time", "crash m 0s", `invalid DURATION "0s": want a duration such as 2s`},
		{"a restart with a duration", "restart m 2s", `restart takes no DURATION, got "2s"`},
		{"no lag is a lag", "lag m 0s", "missing --kubeconfig"},
		{"a crash until restart", "crash m", "missing --kubeconfig"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out, errOut bytes.Buffer
			code := execute(append([]string{"client", "--"}, strings.Split(test.line, " ")...), strings.NewReader(""), &out, &errOut)
			assert.Equal(t, exitUsage, code)
			assert.Contains(t, errOut.String(), test.want)
			assert.NotContains(t, errOut.String(), "do=")
			assert.Empty(t, out.String())
		})
	}
}

// TestDoHelp: the commands are listed without a cluster.
func TestDoHelp(t *testing.T) {
	var out, errOut bytes.Buffer
	assert.Zero(t, execute([]string{"do", "help"}, strings.NewReader(""), &out, &errOut))
	assert.Equal(t, script.Help(), out.String())
	assert.Empty(t, errOut.String())
}
