package script

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
)

// deletion holds the arguments of the command delete.
type deletion struct {
	targets        query
	ignoreNotFound bool
	forced         bool
	wait           bool
	timeout        time.Duration
	opts           api.DeleteOptions
}

func readDelete(s *Script, args []string) (step, error) {
	a, err := readArguments(args, append([]option{fileOption, timeoutOption, {long: "force"}, {long: "now"}, {long: "ignore-not-found"},
		{long: "wait"}, {long: "grace-period", value: true}, {long: "cascade", value: true}, allNamespacesOption}, targetOptions...)...)
	if err != nil {
		return nil, err
	}
	var d deletion
	for _, f := range []struct {
		name string
		to   *bool
	}{{"force", &d.forced}, {"ignore-not-found", &d.ignoreNotFound}, {"wait", &d.wait}} {
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
	if !a.has("filename") {
		if len(a.rest) == 0 {
			return usageOf("delete", "missing object: want KIND/NAME or -f FILE")
		}
		if everywhere, _ := a.flag("all-namespaces"); everywhere && !a.has("all") && !a.has("selector") {
			return usageOf("delete", "-A takes kinds with --all or -l, and no names")
		}
		d.targets, err = readTargets(s, "delete", a.rest, a)
		return err
	}
	files, err := readFiles(s, "delete", a)
	if err != nil {
		return err
	}
	objs, err := s.manifests(files, a.get("namespace", ""))
	for _, m := range objs {
		d.targets.refs = append(d.targets.refs, api.RefTo(m.obj))
	}
	return err
}

func (d deletion) run(r *runner) error {
	refs, err := d.targets.targets(r)
	if err != nil {
		return err
	}
	if d.forced {
		r.warnf("Warning: Immediate deletion does not wait for confirmation that the running resource has been terminated. " +
			"The resource may continue to run on the cluster indefinitely.\n")
	}
	var failed error
	uids := make([]types.UID, len(refs))
	for i, ref := range refs {
		if obj, err := r.read(ref); err == nil {
			uids[i] = obj.GetUID()
		}
		err := r.cluster.DeleteWith(emptyObject(ref), d.opts)
		if d.ignoreNotFound && apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			failed = both(failed, err)
			continue
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
	if failed != nil || !d.wait {
		return failed
	}
	end := r.cluster.Now().Add(d.timeout)
	for i, ref := range refs {
		gone := func(r *runner, ref api.Ref) error {
			if obj, err := r.read(ref); err == nil && obj.GetUID() != uids[i] {
				return nil // another object has the name by now
			}
			return waitForDelete(r, ref)
		}
		if err := r.waitFor(ref, gone, false, end); err != nil {
			return err
		}
	}
	return nil
}
