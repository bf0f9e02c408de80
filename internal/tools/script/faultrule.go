package script

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/internal/core/similar"
	"github.com/volsim/volsim/storage"
)

// faultRule is a parsed fault rule.
type faultRule struct {
	script      *Script
	api         bool
	match       fake.Match
	pod         api.Ref // its uid is looked up when the rule is added
	fault       api.Fault
	err         func() error
	times, skip int
}

// readFaultRule reads the words after the target.
func readFaultRule(words []string, f faultRule) (step, error) {
	position := 0
	for _, w := range words {
		key, value, given := strings.Cut(w, "=")
		var err error
		switch {
		case !given && (key == "crash" || key == "effect" || key == "once"):
			f.setWord(key)
		case given && f.settings()[key] != nil:
			err = f.settings()[key](value)
		case given:
			err = fmt.Errorf("unknown setting %q: want one of actor, node, pod, error, lose, delay, restart, times, skip", key)
		case f.hasEffect():
			// Taken as an object, it would make a rule that never applies.
			err = fmt.Errorf("unexpected argument %q: want the limit after the effect: once, times=N or skip=N", w)
		default:
			err = f.setPosition(position, w)
			position++
		}
		if err != nil {
			return nil, err
		}
	}
	if !f.hasEffect() {
		return nil, errors.New("missing effect: want error=CODE, lose=CODE, delay=DURATION or crash")
	}
	if f.api && (f.match.Node != "" || f.pod != (api.Ref{})) {
		return nil, errors.New("node= and pod= apply to backends only")
	}
	if f.err != nil {
		f.fault.Err = f.err()
	}
	// Reject a rule that can never apply when the script is parsed.
	check := fake.NewFaults()
	check.Add(f.match, f.fault)
	if err := check.Err(); err != nil {
		return nil, err
	}
	return f.run, nil
}

// hasEffect reports whether the rule says what happens to a call.
func (f *faultRule) hasEffect() bool { return f.err != nil || f.fault.Crash || f.fault.Delay > 0 }

func (f *faultRule) setWord(word string) {
	switch word {
	case "crash":
		f.fault.Crash = true
	case "effect":
		f.fault.Effect = true
	case "once":
		f.times = 1
	}
}

// settings returns the setters of words with a value, by name.
func (f *faultRule) settings() map[string]func(string) error {
	return map[string]func(string) error{
		"actor": func(v string) error { f.match.Actor = v; return nil },
		"node":  func(v string) error { f.match.Node = v; return nil },
		"pod": func(v string) (err error) {
			f.pod, err = f.script.refTo(api.Pod, v, "")
			return err
		},
		"error": func(v string) error { return f.setError(v) },
		"lose": func(v string) error {
			f.fault.Effect = true
			return f.setError(v)
		},
		"delay": func(v string) (err error) {
			f.fault.Delay, err = positiveDuration(v)
			return err
		},
		"restart": func(v string) (err error) {
			f.fault.Restart, err = positiveDuration(v)
			return err
		},
		"times": func(v string) (err error) {
			if f.times, err = strconv.Atoi(v); err != nil || f.times < 1 {
				return fmt.Errorf("invalid times=%s: want a number from 1", v)
			}
			return nil
		},
		"skip": func(v string) (err error) {
			if f.skip, err = strconv.Atoi(v); err != nil || f.skip < 0 {
				return fmt.Errorf("invalid skip=%s: want a number from 0", v)
			}
			return nil
		},
	}
}

// setPosition sets the value of a word without a name: first the verb, then the object.
func (f *faultRule) setPosition(position int, w string) error {
	if f.api {
		kind, name, hasName := strings.Cut(w, "/")
		if k, err := f.script.kindOf(kind); err == nil {
			f.match.Kind = string(k)
			if hasName {
				ref, err := f.script.refTo(k, name, "")
				f.match.Key = ref.Key
				return err
			}
			return nil
		}
		if hasName || position > 0 {
			_, err := f.script.kindOf(kind)
			return err
		}
		f.match.Verb = w
		return nil
	}
	switch {
	case position == 0 && backends.IsOp(storage.Op(w)):
		f.match.Verb = w
	case position == 0 && similar.Misspelt(w, opNames()) != "":
		// Taken as a handle, it would make a rule that never applies.
		return fmt.Errorf("unknown operation %q; did you mean %q; a volume with this handle needs an operation before it", w, similar.Misspelt(w, opNames()))
	case position <= 1 && f.match.Key == "":
		f.match.Key = w
	default:
		return fmt.Errorf("unexpected argument %q: want [OP] [VOLUME], then the effect", w)
	}
	return nil
}

// opNames lists the operations of backends.
func opNames() []string {
	var names []string
	for _, op := range backends.Ops() {
		names = append(names, string(op))
	}
	return names
}

func (f *faultRule) setError(v string) error {
	if f.err != nil {
		return errors.New("duplicate error: want one of error= and lose=")
	}
	code, message, _ := strings.Cut(v, ":")
	if f.api {
		if !slices.ContainsFunc(apiCodes, func(c apiCode) bool { return c.name == code }) {
			return fmt.Errorf("unknown API error %q: want one of %s", code, strings.ReplaceAll(apiCodeNames(), "`", ""))
		}
		f.err = func() error { return apiError(code, message) }
		return nil
	}
	if backends.CodeNumber(storage.Code(code)) < 0 || code == "OK" {
		return fmt.Errorf("unknown gRPC code %q: want an error code such as Internal or Unavailable", code)
	}
	if message == "" {
		message = "injected"
	}
	f.err = func() error { return storage.Errorf(storage.Code(code), "%s", message) }
	return nil
}

// run adds the rule to the cluster.
func (f faultRule) run(r *runner) error {
	if f.pod != (api.Ref{}) {
		pod, err := r.get(f.pod)
		if err != nil {
			return err
		}
		f.match.Pod = string(pod.GetUID())
	}
	isClient := f.api && r.server != nil && strings.HasPrefix(f.match.Actor, api.User+"/")
	if actor := f.match.Actor; actor != "" && !isClient {
		if known := internals.Controllers(r.cluster); !slices.Contains(known, actor) {
			return fmt.Errorf("unknown controller %q: %s", actor, actors.Unknown(actor, known))
		}
	}
	rule := r.cluster.Faults.Add(f.match, f.fault)
	if f.times > 0 {
		rule.Times(f.times)
	}
	rule.Skip(f.skip)
	return r.cluster.Faults.Err()
}
