package predict

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objname"
	"github.com/volsim/volsim/internal/tools/script"
)

// ignoredOptions are options of kubectl that change nothing that is simulated: time passes after the step in any case.
var ignoredOptions = []string{"--wait", "--wait=true", "--wait=false", "--ignore-daemonsets", "--ignore-daemonsets=true",
	"--delete-emptydir-data", "--delete-emptydir-data=true", "--watch=false", "--server-side"}

func isIgnored(arg string) bool {
	return slices.Contains(ignoredOptions, arg) || strings.HasPrefix(arg, "--timeout=") || strings.HasPrefix(arg, "--field-manager=")
}

// withoutOptions returns the arguments of drain, or of another step on a node, without options of kubectl that change nothing here.
func withoutOptions(args []string) []string {
	return slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return isIgnored(arg) || arg == "--force" })
}

// parseAction parses a command that scripts have. It also accepts the short forms apply FILE, patch OBJECT PATCH, NAMESPACE/NAME for a claim,
// and node/NAME where kubectl wants the name of a node.
func parseAction(verb string, args []string, namespace string, readFile func(string) ([]byte, error)) (func(*run) error, error) {
	waits := verb == "delete" && !slices.Contains(args, "--wait=false")
	// The timeout of these limits what they wait for.
	timed := verb == "rollout" || verb == "replace"
	args = slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return isIgnored(arg) && !(timed && strings.HasPrefix(arg, "--timeout")) })
	if i := slices.Index(args, "--timeout"); i >= 0 && !timed {
		args = slices.Delete(args, i, min(i+2, len(args)))
	}
	files, args, err := readNamedFiles(verb, args, readFile)
	if err != nil {
		return nil, err
	}
	switch verb {
	case "patch":
		args = withPatchOption(args)
		args = withKinds(args)
	case "delete":
		args = withKinds(args)
	case "cordon", "uncordon":
		for i := range args {
			args[i] = strings.TrimPrefix(strings.TrimPrefix(args[i], "nodes/"), "node/")
		}
	}
	action, err := script.ParseAction(append([]string{verb}, args...), namespace, files)
	if err != nil {
		return nil, err
	}
	return func(r *run) error {
		// A kubelet that starts after the deletion of its node would register it again.
		if verb == "delete" {
			if err := r.Advance(0); err != nil {
				return err
			}
		}
		written, _, err := action.Run(r.Cluster.Cluster, r.applied)
		r.touched = append(r.touched, written...)
		if waits {
			r.terminating = r.stillTerminating(written)
		}
		return err
	}, nil
}

// stillTerminating returns those of the objects that are being deleted.
func (r *run) stillTerminating(refs []api.Ref) []api.Object {
	var left []api.Object
	for _, ref := range refs {
		obj, err := r.Cluster.Objects(ref.Kind).Get(ref.Key)
		if err == nil && obj.GetDeletionTimestamp() != nil {
			left = append(left, obj)
		}
	}
	return left
}

// exists reports whether the object is still there, and not another one of its name.
func (r *run) exists(obj api.Object) bool {
	now, err := r.Cluster.Objects(api.KindOf(obj)).Get(api.KeyOf(obj))
	return err == nil && now.GetUID() == obj.GetUID()
}

// awaitDeleted waits until the objects of a delete are gone, as kubectl does before it returns. A delete that does not end is a note.
func (r *run) awaitDeleted() error {
	const poll = 100 * time.Millisecond
	start := r.Now()
	end := start.Add(r.opts.For)
	for _, obj := range r.terminating {
		for r.exists(obj) {
			left := end.Sub(r.Now())
			if left <= 0 {
				r.note("%s is not deleted after %v, and kubectl delete waits for it. The next step assumes that you interrupt it, or add --wait=false.",
					objname.Of(api.RefTo(obj)), r.opts.For)
				break
			}
			// Most deletions take less than 2 s.
			if err := r.advance(min(left, max(poll, min(r.Now().Sub(start)/20, time.Second)))); err != nil {
				return err
			}
		}
	}
	r.terminating = nil
	return nil
}

// generates reports whether create makes an object from its arguments: create namespace NAME.
func generates(args []string) bool {
	return len(args) > 0 && (slices.Contains(script.Generated(), args[0]) || objname.IsKind(args[0]))
}

// readNamedFiles reads the files that -f names. apply, create and replace also take the file without -f.
func readNamedFiles(verb string, args []string, readFile func(string) ([]byte, error)) (files []script.File, rest []string, err error) {
	takesFile := verb == "apply" || verb == "create" || verb == "replace"
	for i := 0; i < len(args); i++ {
		name, value, hasValue := strings.Cut(args[i], "=")
		switch {
		case name == "--patch-file":
			if !hasValue {
				if i++; i == len(args) {
					return nil, nil, errors.New("missing value of " + name)
				}
				value = args[i]
			}
			data, err := readFile(value)
			if err != nil {
				return nil, nil, err
			}
			files = append(files, script.File{Name: value, Data: data})
			rest = append(rest, name, value)
			continue
		case name == "-f" || name == "--filename":
			if !hasValue {
				if i++; i == len(args) {
					return nil, nil, errors.New("missing value of " + name)
				}
				value = args[i]
			}
		case takesFile && !generates(args) && !strings.HasPrefix(name, "-") && (i == 0 || args[i-1] != "-n" && args[i-1] != "--namespace"):
			value = args[i]
		default:
			rest = append(rest, args[i])
			continue
		}
		for file := range strings.SplitSeq(value, ",") {
			data, err := readFile(file)
			if err != nil && verb == "create" && file == args[0] {
				return nil, nil, fmt.Errorf("%q is neither a kind that create makes from arguments (%s) nor a file: %w", file,
					strings.Join(script.Generated(), ", "), err)
			}
			if err != nil {
				return nil, nil, err
			}
			files = append(files, script.File{Name: file, Data: data})
			rest = append(rest, "-f", file)
		}
	}
	return files, rest, nil
}

// withPatchOption puts -p in front of a patch that is the last argument.
func withPatchOption(args []string) []string {
	n := len(args)
	named := slices.ContainsFunc(args, func(arg string) bool {
		return strings.HasPrefix(arg, "-p") || strings.HasPrefix(arg, "--patch")
	})
	if n < 2 || named {
		return args
	}
	return append(slices.Clone(args[:n-1]), "-p", args[n-1])
}

// withKinds replaces NAMESPACE/NAME, which is a claim, by pvc/NAMESPACE/NAME.
func withKinds(args []string) []string {
	named := slices.Clone(args)
	for i, arg := range args {
		if strings.HasPrefix(arg, "-") || strings.Count(arg, "/") != 1 || i > 0 && args[i-1] == "-p" {
			continue
		}
		if kind, _, _ := strings.Cut(arg, "/"); !objname.IsKind(kind) {
			named[i] = "pvc/" + arg
		}
	}
	return named
}
