//go:build !js

package script

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/internal/tools/kubectl"
)

// readWatch reads get --watch and --watch-only: the current objects, and then each change until the time of --request-timeout has passed or,
// without it, until only background work is left.
func readWatch(a arguments, q query, selects func(api.Object) bool, flags map[string]bool) (step, error) {
	w := &watched{query: q, selects: selects, all: !flags["watch-only"], events: flags["output-watch-events"]}
	if len(q.kinds) > 1 {
		return nil, errors.New("you may only specify a single resource type")
	}
	var err error
	if w.timeout, err = positiveDuration(a.get("request-timeout", "0s")); err != nil {
		return nil, err
	}
	switch format, _, _ := strings.Cut(a.get("output", ""), "="); {
	case format == "" && !a.has("template"), format == "wide":
		w.table = true
	case slices.Contains([]string{"name", "json", "yaml", "jsonpath", "go-template", "template", ""}, format) && !w.events:
	default:
		return nil, fmt.Errorf("invalid -o %q with --watch: want wide, name, json, yaml, jsonpath={…} or go-template={{…}}", format)
	}
	q.refs = make([]api.Ref, 1) // each object is printed by itself
	if w.print, _, err = readPrinter(a, q, flags); err != nil {
		return nil, err
	}
	w.separated = a.get("output", "") == "yaml"
	w.opts = tableOptions(a, w.query, flags)
	return func(r *runner) error { w := *w; return w.run(r) }, nil
}

// watched is a running get --watch.
type watched struct {
	query
	selects   func(api.Object) bool
	all       bool // prints the current objects first
	events    bool // says what happened to each object
	table     bool // for people
	separated bool // by a line of YAML
	timeout   time.Duration
	print     printer
	opts      kubectl.Options

	printed int
	event   string
	header  bool // the next line is the header
	failed  error
}

func (w *watched) run(r *runner) error {
	objs, err := w.find(r)
	if err != nil {
		return err
	}
	w.opts.Quiet, w.opts.Columns = true, r.columns
	var event func() string
	if w.events {
		event = func() string {
			if w.header {
				w.header = false
				return "EVENT"
			}
			return w.event
		}
	}
	w.opts.Write = kubectl.Following(event)
	w.opts.Namespaces = w.query.namespace == ""
	if objs = slices.DeleteFunc(objs, func(obj api.Object) bool { return !w.selects(obj) }); w.all {
		w.show(r, "ADDED", objs...)
	}
	if len(w.refs) > 1 {
		return errors.New("you may only watch a single resource or type of resource at a time")
	}
	s := internals.Engine(r.cluster).Store()
	stop, err := s.Watch(w.kinds[0], store.WatchOptions[api.Object]{From: s.Version(), Match: w.matches(r)}, func(c api.Change[api.Object]) {
		w.show(r, string(c.Type), c.Object)
	})
	if err != nil {
		return err
	}
	defer stop()
	if w.timeout > 0 {
		err = r.advance(w.timeout)
	} else {
		err = r.cluster.Settle()
	}
	return errors.Join(w.failed, err)
}

// observe calls fn for each version of an object, until stop is called. poll need not be called: it is for the browser.
func (r *runner) observe(ref api.Ref, fn func(obj api.Object, gone bool)) (poll, stop func(), err error) {
	s := internals.Engine(r.cluster).Store()
	match := func(obj api.Object) bool { return api.KeyOf(obj) == ref.Key }
	stop, err = s.Watch(ref.Kind, store.WatchOptions[api.Object]{From: s.Version(), Match: match}, func(c api.Change[api.Object]) {
		fn(c.Object, c.Type == api.Deleted)
	})
	return func() {}, stop, err
}

// matches returns whether the command watches an object.
func (w *watched) matches(r *runner) func(api.Object) bool {
	return func(obj api.Object) bool {
		switch {
		case len(w.refs) > 0:
			return api.KeyOf(obj) == w.refs[0].Key
		case r.script.namespaced(w.kinds[0]) && w.namespace != "" && obj.GetNamespace() != w.namespace:
			return false
		}
		return w.selector.Matches(labels.Set(obj.GetLabels())) && w.selects(obj)
	}
}

// show prints objects, as lines of the table or each in the format of -o.
func (w *watched) show(r *runner, event string, objs ...api.Object) {
	if w.table && len(objs) > 0 {
		w.event, w.header = fmt.Sprintf("%-8s", event), !w.opts.NoHeaders
		w.failed = errors.Join(w.failed, kubectl.PrintInOrder(&r.printed, r.cluster.Now(), objs, w.opts))
		w.opts.NoHeaders = true
		return
	}
	for _, obj := range objs {
		if w.printed++; w.separated && w.printed > 1 {
			r.printf("---\n")
		}
		w.failed = errors.Join(w.failed, w.print(r, []api.Object{obj}))
	}
}

// readRaw reads get --raw.
func readRaw(a arguments) (step, error) {
	for _, other := range []string{"watch", "watch-only", "selector", "output", "filename"} {
		if a.has(other) || len(a.rest) > 0 {
			return nil, errors.New("--raw takes a path and no other arguments")
		}
	}
	path := a.get("raw", "")
	send, err := readRequest(nil, []string{http.MethodGet, path, "--client", "kubectl"})
	if err != nil {
		return nil, err
	}
	return func(r *runner) error {
		err := send(r)
		var status metav1.Status
		if at := (answerError{}); errors.As(err, &at) && json.Unmarshal(at.body, &status) == nil && status.Message != "" {
			return &apierrors.StatusError{ErrStatus: status}
		}
		return err
	}, nil
}
