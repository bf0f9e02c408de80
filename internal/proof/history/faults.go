package history

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/storage"
)

func (r *runner) failAPI() error {
	verbs := []string{"update", "update-status", "create", "delete", "get", "patch"}
	if r.opts.WritesOnly {
		verbs = slices.DeleteFunc(verbs, func(verb string) bool { return verb == "get" })
	}
	verb := pick(r.choose, verbs...)
	match := fake.Match{Target: api.APIServer, Verb: verb}
	times := 1 + r.choose(3)
	err := fmt.Errorf("the server is not able to handle the request")
	switch r.choose(3) {
	case 0:
		r.Faults.Fail(match, err).Times(times)
	case 1:
		r.Faults.Lose(match, err).Times(times)
	default:
		r.Faults.Slow(match, 3*time.Second).Times(times)
	}
	return r.Faults.Err()
}

func (r *runner) failBackend() error {
	match := fake.Match{Target: pick(r.choose, InTree, Driver, "kubernetes.io/nfs")}
	err := storage.Errorf(pick(r.choose, storage.Internal, storage.Unavailable, storage.DeadlineExceeded), "storage is broken")
	times := 1 + r.choose(3)
	if r.oneIn(2) {
		r.Faults.Lose(match, err).Times(times)
	} else {
		r.Faults.Add(match, api.Fault{Err: err, Delay: pick(r.choose, 0, time.Second, time.Minute)}).Times(times)
	}
	return r.Faults.Err()
}

func (r *runner) crash() error {
	var names []string
	for _, name := range r.Controllers() {
		// breakNode stops nodes: that does more than a crash.
		if !strings.HasPrefix(name, actors.Node("")) {
			names = append(names, name)
		}
	}
	name := names[r.choose(len(names))]
	if err := r.Crash(name); err != nil {
		return err
	}
	if r.oneIn(2) {
		return r.Restart(name)
	}
	return nil
}
