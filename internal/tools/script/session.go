package script

import (
	"regexp"
	"slices"

	"github.com/volsim/volsim"
)

// Session is one run of a script whose cluster exists and in which nothing has been played yet.
type Session struct {
	batch  *batch
	player *player
}

// Begin makes the cluster of a script and leaves it to Session.Play to play the lines, for tools that follow a run from its beginning. The
// script is played once, with the seed that Options or the script name, the first of several; with Options.Choose no seed counts.
func Begin(s *Script, opts Options) (*Session, error) {
	b := newBatch(s, opts)
	p := &player{batch: b, script: s, seed: b.seeds().from, seeds: 1, out: opts.Out}
	if err := p.begin(); err != nil {
		return nil, s.errorAt(1, "", err)
	}
	return &Session{b, p}, nil
}

// Cluster is that of the run.
func (x *Session) Cluster() *volsim.Cluster { return x.player.cluster }

// Waiting reports whether the run waits for something to become so (wait --for), and not only for time to pass.
func (x *Session) Waiting() bool { return x.player.waiting }

// Play plays the lines, once, and gives what Run gives.
func (x *Session) Play() (*Result, error) {
	x.player.play()
	x.batch.count(x.player)
	x.batch.finish(x.player, seeds{from: x.player.seed, to: x.player.seed})
	return &x.batch.result, joined(x.batch.result.Failures)
}

// Looks says what the lines of a script look at, or meddle with, besides objects and storage.
type Looks struct {
	// Order is true if they look at the trace, at Events or at resourceVersions: at things that tell in which order things happened.
	Order bool
	// Faults is true if they inject faults.
	Faults bool
}

// orderCommands look at the trace or at Events, orderWords stand in lines that look at Events, at whole objects, or at resourceVersions.
var (
	orderCommands = []string{"describe", "events", "explain", "summary", "trace"}
	orderWords    = regexp.MustCompile(`(?i)\bevents?\b|\bev\b|\ball\b|version|\s-o|--output`)
)

// Looks tells what the script looks at. It errs on the side of more.
func (s *Script) Looks() Looks {
	var l Looks
	for _, st := range s.statements {
		if st.comment || st.command.setup {
			continue
		}
		name := st.command.name
		l.Faults = l.Faults || name == "fault"
		l.Order = l.Order || slices.Contains(orderCommands, name) || orderWords.MatchString(st.text)
		if name == "expect" && len(st.words) > 0 {
			first, plain := st.words[0].plain()
			l.Order = l.Order || !plain || slices.Contains(sorts, first)
		}
	}
	return l
}
