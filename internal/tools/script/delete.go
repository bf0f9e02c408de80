package script

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
)

// deletion holds the arguments of the command delete.
type deletion struct {
	kind           api.Kind // with all
	namespace      string
	all            bool
	refs           []api.Ref
	ignoreNotFound bool
	forced         bool
	wait           bool
	timeout        time.Duration
	opts           api.DeleteOptions
}

func readDelete(s *Script, args []string) (step, error) {
	a, err := readArguments(args, fileOption, namespaceOption, timeoutOption, option{long: "force"}, option{long: "now"}, option{long: "all"},
		option{long: "ignore-not-found"}, option{long: "wait"}, option{long: "grace-period", value: true},
		option{long: "cascade", value: true})
	if err != nil {
		return nil, err
	}
	d := deletion{namespace: a.get("namespace", s.inNamespace())}
	for _, f := range []struct {
		name string
		to   *bool
	}{{"force", &d.forced}, {"all", &d.all}, {"ignore-not-found", &d.ignoreNotFound}, {"wait", &d.wait}} {
		if *f.to, err = a.flag(f.name); err != nil {
			return nil, err
		}
	}
	if d.timeout, err = readTimeout(a); err != nil {
		return nil, err
	}
	if err := d.readGrace(a); err != nil {
		return nil, err
	}
	switch cascade := a.get("cascade", "background"); cascade {
	case "background", "foreground", "orphan":
		d.opts.PropagationPolicy = metav1.DeletionPropagation(strings.ToUpper(cascade[:1]) + cascade[1:])
	default:
		return nil, fmt.Errorf("invalid --cascade=%s: want background, foreground or orphan", cascade)
	}
	if err := d.readTargets(s, a); err != nil {
		return nil, err
	}
	return d.run, nil
}

func (d *deletion) readGrace(a arguments) error {
	now, err := a.flag("now")
	if err != nil {
		return err
	}
	if d.forced {
		d.opts.GracePeriodSeconds = new(int64)
	}
	if now {
		d.opts.GracePeriodSeconds = new(int64(1))
	}
	if a.has("grace-period") {
		n, err := strconv.ParseInt(a.get("grace-period", ""), 10, 32)
		if err != nil || n < 0 {
			return fmt.Errorf("invalid --grace-period=%s: want a number of seconds from 0", a.get("grace-period", ""))
		}
		d.opts.GracePeriodSeconds = new(n)
	}
	return nil
}

func (d *deletion) readTargets(s *Script, a arguments) (err error) {
	switch {
	case a.has("filename"):
		files, err := readFiles(s, "delete", a)
		if err != nil {
			return err
		}
		objs, err := s.manifests(files)
		for _, m := range objs {
			d.refs = append(d.refs, api.RefTo(m.obj))
		}
		return err
	case d.all:
		if len(a.rest) != 1 {
			return usageOf("delete", "--all takes one kind and no names")
		}
		d.kind, err = s.kindOf(a.rest[0])
		return err
	}
	if len(a.rest) == 0 {
		return usageOf("delete", "missing object: want KIND/NAME or -f FILE")
	}
	d.refs, err = s.refsOf(a.rest, a.get("namespace", ""))
	return err
}

func (d deletion) run(r *runner) error {
	refs := d.refs
	if d.all {
		for _, obj := range r.list(d.kind) {
			if ref := api.RefTo(obj); !r.script.namespaced(d.kind) || obj.GetNamespace() == d.namespace {
				refs = append(refs, ref)
			}
		}
		if len(refs) == 0 {
			r.printf("No resources found\n")
		}
	}
	for _, ref := range refs {
		err := r.cluster.DeleteWith(emptyObject(ref), d.opts)
		if d.ignoreNotFound && apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return err
		}
		verb, where := "deleted", ""
		if d.forced {
			verb = "force deleted"
		}
		namespace, name := objects.SplitKey(ref.Key)
		if namespace != "" {
			where = " from " + namespace + " namespace"
		}
		r.printf("%s %q %s%s\n", singular(ref.Kind), name, verb, where)
	}
	if !d.wait {
		return nil
	}
	return r.waitFor(refs, waitForDelete, "deletion", d.timeout)
}
