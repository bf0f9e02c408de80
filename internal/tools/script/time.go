package script

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/internals"
)

func timeCommands() []*command {
	return []*command{
		{
			name: "advance", group: passing, usage: []string{"DURATION"},
			help:     "Advances virtual time by this duration and runs everything due until then, the end included.",
			examples: []string{"advance 15s", "advance 6m0.1s"},
			read:     readAdvance,
		},
		{
			name: "until", group: passing, usage: []string{"DURATION"},
			help:     "Advances virtual time to this long after the start of the run. It fails if that is in the past.",
			examples: []string{"until 5m"},
			read:     readUntil,
		},
		{
			name: "settle", group: passing, usage: []string{""},
			help:     "Runs until only periodic background work is left. It fails if that takes more than an hour of virtual time (`config settle-limit`), for example because a failing operation is retried.",
			examples: []string{"settle"},
			read:     readSettle,
		},
		{
			name: "step", group: passing, usage: []string{"[N]"},
			help:     "Runs the next event, or the next N. It fails if no event is left.",
			examples: []string{"step", "step 12"},
			read:     readStep,
		},
		{
			name: "wait", group: passing, usage: []string{"--for=CONDITION KIND/NAME... | KIND NAME... | KIND --all | KIND -l SELECTOR [--timeout=30s]"},
			help: "Runs event by event until every object meets the condition: `delete` (does not exist), `create` (exists), `condition=TYPE[=STATUS]`, `jsonpath={.PATH}[=VALUE]`, or any condition of `expect`. " +
				"It stops right after the event that fulfills it, and fails after the timeout.",
			examples: []string{"wait --for=condition=Ready pod/web --timeout=5m", "wait --for=delete pvc/data",
				"wait --for=phase=Bound pvc/data", "wait --for=jsonpath='{.status.phase}'=Bound pvc/data"},
			read: readWait,
		},
		{
			name: "now", group: passing, usage: []string{""}, infallible: true,
			help:     "Prints the virtual time, and the time since the start.",
			examples: []string{"now"},
			read: func(_ *Script, args []string) (step, error) {
				if len(args) > 0 {
					return nil, usageOf("now", "want no arguments")
				}
				return func(r *runner) error {
					r.printf("%s +%s\n", r.cluster.Now().Format(time.RFC3339Nano), r.elapsed())
					return nil
				}, nil
			},
		},
		{
			name: "stop", group: passing, usage: []string{"[REASON]"}, infallible: true,
			help:     "Ends the run. The lines below are checked but not run.",
			examples: []string{"stop 'the rest is for later'"},
			read:     func(*Script, []string) (step, error) { return func(*runner) error { return errStop }, nil },
		},
	}
}

// errStop ends a run without a failure.
var errStop = errors.New("stop")

func readDuration(name string, args []string) (time.Duration, error) {
	if len(args) != 1 {
		return 0, usageOf(name, "want one duration, such as 5m")
	}
	return positiveDuration(args[0])
}

var (
	wellFormed = regexp.MustCompile(`^[-+]?(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$`)
	inDays     = regexp.MustCompile(`^([0-9]{1,5})d(.*)$`)
)

// ParseDuration reads a duration of a script or an option. The error says what would be right.
func ParseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err == nil {
		return d, nil
	}
	if days := inDays.FindStringSubmatch(text); days != nil {
		n, _ := strconv.Atoi(days[1])
		if rest, err := time.ParseDuration(cmp.Or(days[2], "0")); err == nil {
			hours := (time.Duration(n)*24*time.Hour + rest).String()
			for _, zeros := range []string{"m0s", "h0m"} {
				if strings.HasSuffix(hours, zeros) {
					hours = hours[:len(hours)-2]
				}
			}
			return 0, fmt.Errorf("invalid duration %q: the largest unit is h; write %s", text, hours)
		}
	}
	if wellFormed.MatchString(text) {
		return 0, fmt.Errorf("invalid duration %q: too large; at most %dh", text, math.MaxInt64/int64(time.Hour))
	}
	return 0, fmt.Errorf("invalid duration %q: want a number with a unit, such as 15s, 5m or 1h30m", text)
}

func positiveDuration(text string) (time.Duration, error) {
	d, err := ParseDuration(text)
	if err != nil {
		return 0, err
	}
	if d < 0 {
		return 0, fmt.Errorf("invalid duration %s: must not be negative", text)
	}
	return d, nil
}

func readAdvance(_ *Script, args []string) (step, error) {
	d, err := readDuration("advance", args)
	return func(r *runner) error { return r.advance(d) }, err
}

// maxElapsed bounds the virtual time of a run: timestamps need years of four digits.
const maxElapsed = 200 * 365 * 24 * time.Hour

// advance advances virtual time. Unlike Cluster.Advance it fails on a livelock: events without end at one instant.
func (r *runner) advance(d time.Duration) error {
	if r.elapsed() > maxElapsed-d {
		return fmt.Errorf("run would exceed %s of virtual time", maxElapsed)
	}
	events := 0
	err := internals.Engine(r.cluster).PassInside(func() {
		const interval = 10_000
		if events++; events%interval == 0 {
			r.progress()
		}
	}, d)
	if err != nil && err != engine.GivenUp {
		return fmt.Errorf("until: %w", err)
	}
	return err
}

// until is Cluster.Until for a condition that does not run the cluster.
func (r *runner) until(cond func() bool, limit time.Duration) error {
	if err := internals.Engine(r.cluster).UntilInside(cond, limit); err != nil {
		return fmt.Errorf("until: %w", err)
	}
	return nil
}

func readUntil(_ *Script, args []string) (step, error) {
	d, err := readDuration("until", args)
	return func(r *runner) error {
		if d < r.elapsed() {
			return fmt.Errorf("time is in the past: it is already +%s", r.elapsed())
		}
		return r.advance(d - r.elapsed())
	}, err
}

func readSettle(_ *Script, args []string) (step, error) {
	if len(args) > 0 {
		return nil, usageOf("settle", "want no arguments")
	}
	return func(r *runner) error { return r.cluster.Settle() }, nil
}

// maxSteps is the largest N of the command step.
const maxSteps = 100_000_000

func readStep(_ *Script, args []string) (step, error) {
	n := 1
	if len(args) > 0 {
		var err error
		if n, err = strconv.Atoi(args[0]); err != nil || n < 1 || n > maxSteps || len(args) > 1 {
			return nil, usageOf("step", "N must be a number from 1 to 100000000")
		}
	}
	return func(r *runner) error {
		for i := range n {
			if !r.cluster.Step() {
				return fmt.Errorf("no event left after %d of %d", i, n)
			}
		}
		return nil
	}, nil
}

// isLivelock reports whether the engine stopped because events without end are due at one time, and not because of the deadline.
func isLivelock(err *engine.StuckError) bool { return err.Cause == engine.Livelock }
