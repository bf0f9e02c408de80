package script

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/volsim/volsim/internal/core/engine"
)

func timeCommands() []*command {
	return []*command{
		{
			name: "advance", group: passing, usage: []string{"DURATION"},
			help:     "Lets that much virtual time pass, the end included.",
			examples: []string{"advance 15s", "advance 6m0.1s"},
			read:     readAdvance,
		},
		{
			name: "until", group: passing, usage: []string{"DURATION"},
			help:     "Lets time pass up to that long after the start of the run. A time that is over is an error.",
			examples: []string{"until 5m"},
			read:     readUntil,
		},
		{
			name: "settle", group: passing, usage: []string{""},
			help:     "Runs until only background resyncs are left to do. It fails if that takes more than an hour of virtual time (`config settle-limit`), as it does while something is tried again and again.",
			examples: []string{"settle"},
			read:     readSettle,
		},
		{
			name: "step", group: passing, usage: []string{"[N]"},
			help:     "Runs the next event, or the next N. It fails when nothing is left to run.",
			examples: []string{"step", "step 12"},
			read:     readStep,
		},
		{
			name: "wait", group: passing, usage: []string{"--for=CONDITION KIND/NAME... | KIND NAME... [--timeout=30s]"},
			help: "Runs event by event until every object is so: `delete` (gone), `create` (there), `condition=TYPE[=STATUS]`, `jsonpath={.PATH}[=VALUE]`, or any condition that `expect` takes. " +
				"It stops at the very instant; it fails when the time is over.",
			examples: []string{"wait --for=condition=Ready pod/web --timeout=5m", "wait --for=delete pvc/data", "wait --for=phase=Bound pvc/data", "wait --for=jsonpath='{.status.phase}'=Bound pvc/data"},
			read:     readWait,
		},
		{
			name: "now", group: passing, usage: []string{""}, sure: true,
			help:     "Prints the virtual time, and how much has passed since the start.",
			examples: []string{"now"},
			read: func(_ *Script, args []string) (step, error) {
				if len(args) > 0 {
					return nil, usageOf("now", "it takes nothing")
				}
				return func(p *player) error {
					p.printf("%s +%s\n", p.cluster.Now().Format(time.RFC3339Nano), p.elapsed())
					return nil
				}, nil
			},
		},
		{
			name: "stop", group: passing, usage: []string{"[WHY]"}, sure: true,
			help:     "Ends the script here. What stands below is checked but not played.",
			examples: []string{"stop 'the rest is for later'"},
			read:     func(*Script, []string) (step, error) { return func(*player) error { return errStop }, nil },
		},
	}
}

// errStop ends a run without being a failure.
var errStop = errors.New("stop")

func readDuration(name string, args []string) (time.Duration, error) {
	if len(args) != 1 {
		return 0, usageOf(name, "one duration is needed")
	}
	return positiveDuration(args[0])
}

func positiveDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%q is no duration: write it as 15s, 5m or 1h30m", text)
	}
	if d < 0 {
		return 0, fmt.Errorf("%s: time does not run backwards", text)
	}
	return d, nil
}

func readAdvance(_ *Script, args []string) (step, error) {
	d, err := readDuration("advance", args)
	return func(p *player) error { return p.advance(d) }, err
}

// latest is how long after the start a run may last: times have to be written with years of four digits.
const latest = 200 * 365 * 24 * time.Hour

// advance lets time pass. Unlike Cluster.Advance it ends where events without end happen at one instant.
func (p *player) advance(d time.Duration) error {
	if p.elapsed() > latest-d {
		return fmt.Errorf("the run would last longer than %s", latest)
	}
	end := p.cluster.Now().Add(d)
	events := 0
	err := p.cluster.Until(func() bool {
		const often = 10_000
		if events++; events%often == 0 {
			p.progress()
		}
		return false
	}, d)
	if stuck := new(engine.StuckError); errors.As(err, &stuck) && p.cluster.Now().Equal(end) && !endless(stuck) {
		return nil
	}
	return err
}

func readUntil(_ *Script, args []string) (step, error) {
	d, err := readDuration("until", args)
	return func(p *player) error {
		if d < p.elapsed() {
			return fmt.Errorf("that is over: it is +%s", p.elapsed())
		}
		return p.advance(d - p.elapsed())
	}, err
}

func readSettle(_ *Script, args []string) (step, error) {
	if len(args) > 0 {
		return nil, usageOf("settle", "it takes nothing")
	}
	return func(p *player) error { return p.cluster.Settle() }, nil
}

// maxSteps bounds the command step.
const maxSteps = 100_000_000

func readStep(_ *Script, args []string) (step, error) {
	n := 1
	if len(args) > 0 {
		var err error
		if n, err = strconv.Atoi(args[0]); err != nil || n < 1 || n > maxSteps || len(args) > 1 {
			return nil, usageOf("step", "one number from 1 on is needed")
		}
	}
	return func(p *player) error {
		for i := range n {
			if !p.cluster.Step() {
				return fmt.Errorf("nothing is left to run after %d of %d", i, n)
			}
		}
		return nil
	}, nil
}

// endless reports whether the engine gave up because events without end passed at one instant, and not because time was over.
func endless(err *engine.StuckError) bool { return err.Cause == engine.Livelock }
