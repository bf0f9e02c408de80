package script

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/storage"
)

// faultRule is a rule as it is read.
type faultRule struct {
	api         bool
	match       fake.Match
	pod         api.Ref // looked up when the rule is made
	fault       api.Fault
	err         func() error
	times, skip int
}

// readFaultRule reads the words behind the target.
func readFaultRule(words []string, r faultRule) (step, error) {
	place := 0
	for _, w := range words {
		key, value, given := strings.Cut(w, "=")
		var err error
		switch {
		case !given && (key == "crash" || key == "effect" || key == "once"):
			r.setWord(key)
		case given && r.settings()[key] != nil:
			err = r.settings()[key](value)
		case given && !r.api && place > 0 || given:
			err = fmt.Errorf("there is no %q here: there are actor, node, pod, error, lose, delay, restart, times and skip", key)
		default:
			err = r.setPlace(place, w)
			place++
		}
		if err != nil {
			return nil, err
		}
	}
	if r.api && (r.match.Node != "" || r.pod != (api.Ref{})) {
		return nil, errors.New("node= and pod= go with backends only")
	}
	if r.err != nil {
		r.fault.Err = r.err()
	}
	// A rule that can never apply is refused when the script is read.
	if _, err := fake.NewFaults().Add(r.match, r.fault); err != nil {
		return nil, err
	}
	return r.play, nil
}

func (r *faultRule) setWord(word string) {
	switch word {
	case "crash":
		r.fault.Crash = true
	case "effect":
		r.fault.Effect = true
	case "once":
		r.times = 1
	}
}

// settings read the words with a value.
func (r *faultRule) settings() map[string]func(string) error {
	return map[string]func(string) error{
		"actor": func(v string) error { r.match.Actor = v; return nil },
		"node":  func(v string) error { r.match.Node = v; return nil },
		"pod": func(v string) (err error) {
			r.pod, err = refTo(api.Pod, v, "")
			return err
		},
		"error": func(v string) error { return r.setError(v) },
		"lose": func(v string) error {
			r.fault.Effect = true
			return r.setError(v)
		},
		"delay": func(v string) (err error) {
			r.fault.Delay, err = positiveDuration(v)
			return err
		},
		"restart": func(v string) (err error) {
			r.fault.Restart, err = positiveDuration(v)
			return err
		},
		"times": func(v string) (err error) {
			if r.times, err = strconv.Atoi(v); err != nil || r.times < 1 {
				return fmt.Errorf("times=%s: it is a number from 1 on", v)
			}
			return nil
		},
		"skip": func(v string) (err error) {
			if r.skip, err = strconv.Atoi(v); err != nil || r.skip < 0 {
				return fmt.Errorf("skip=%s: it is a number from 0 on", v)
			}
			return nil
		},
	}
}

// setPlace takes a word without a name: first the verb, then the object.
func (r *faultRule) setPlace(place int, w string) error {
	if r.api {
		kind, name, hasName := strings.Cut(w, "/")
		if k, err := kindOf(kind); err == nil {
			r.match.Kind = string(k)
			if hasName {
				ref, err := refTo(k, name, "")
				r.match.Key = ref.Key
				return err
			}
			return nil
		}
		if hasName || place > 0 {
			_, err := kindOf(kind)
			return err
		}
		r.match.Verb = w
		return nil
	}
	switch {
	case place == 0 && backends.IsOp(storage.Op(w)):
		r.match.Verb = w
	case place <= 1 && r.match.Key == "":
		r.match.Key = w
	default:
		return fmt.Errorf("%q is one word too many: write OP and VOLUME, then what goes wrong", w)
	}
	return nil
}

func (r *faultRule) setError(v string) error {
	if r.err != nil {
		return errors.New("there are two errors: write one of error= and lose=")
	}
	code, message, _ := strings.Cut(v, ":")
	if r.api {
		if !slices.ContainsFunc(apiCodes, func(c apiCode) bool { return c.name == code }) {
			return fmt.Errorf("the API server has no error %q: there are %s", code, strings.ReplaceAll(apiCodeNames(), "`", ""))
		}
		r.err = func() error { return apiError(code, message, r.match) }
		return nil
	}
	if backends.CodeNumber(storage.Code(code)) < 0 || storage.Code(code) == storage.OK {
		return fmt.Errorf("there is no gRPC code %q: write it as Internal or Unavailable", code)
	}
	if message == "" {
		message = "injected"
	}
	r.err = func() error { return storage.Errorf(storage.Code(code), "%s", message) }
	return nil
}

// play adds the rule.
func (r faultRule) play(p *player) error {
	if r.pod != (api.Ref{}) {
		pod, err := p.get(r.pod)
		if err != nil {
			return err
		}
		r.match.Pod = string(pod.GetUID())
	}
	if actor := r.match.Actor; actor != "" && !slices.Contains(p.cluster.Controllers(), actor) {
		return fmt.Errorf("there is no controller %q: there are %q", actor, p.cluster.Controllers())
	}
	rule, err := p.cluster.Faults.Add(r.match, r.fault)
	if err != nil {
		return err
	}
	if r.times > 0 {
		rule.Times(r.times)
	}
	rule.Skip(r.skip)
	return nil
}
