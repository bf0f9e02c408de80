package script

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/fieldpos"
	"github.com/volsim/volsim/internal/core/manifests"
)

func objectCommands() []*command {
	return []*command{
		{
			name: "apply", group: writing, usage: []string{"-f FILE... [-n NAMESPACE]"},
			help: "Creates the objects of the files, or changes existing ones as `kubectl apply` does: fields of the manifest are set, fields that only the " +
				"previously applied manifest had are removed, and other fields stay. Lists of objects, such as containers, are merged by the " +
				"names of their elements. Unlike kubectl it writes no annotation.",
			examples: []string{"apply -f claim.yaml"},
			read:     readApply,
		},
		{
			name: "create", group: writing,
			usage: []string{"-f FILE... [-n NAMESPACE] [--validate=false]", "namespace NAME", "deployment NAME --image=IMAGE [--replicas=N]",
				"quota NAME --hard=RESOURCE=QUANTITY,...", "job NAME --from=cronjob/NAME|--image=IMAGE [-- COMMAND...]",
				"cronjob NAME --image=IMAGE --schedule=SCHEDULE [-- COMMAND...]", "poddisruptionbudget NAME --selector=KEY=VALUE --min-available=N|--max-unavailable=N",
				"priorityclass NAME --value=N", "serviceaccount NAME", "configmap NAME [--from-literal=KEY=VALUE]..."},
			help: "Creates the objects of the files, or an object from arguments. With `--validate=false` it also creates objects that an API server would reject.",
			examples: []string{"create -f pod.yaml", "create namespace shop", "create quota limits --hard=persistentvolumeclaims=2", "create job now --from=cronjob/backup",
				"create pdb db --selector=app=db --max-unavailable=1"},
			read: readCreate,
		},
		{
			name: "run", group: writing,
			usage: []string{"NAME --image=IMAGE [--restart=Never] [--labels=KEY=VALUE,...] [--env=KEY=VALUE]... [--overrides=JSON] [-- ARGUMENT...]"},
			help: "Creates a pod with one container. Its label is run=NAME unless `--labels` is given. `--overrides` is a merge patch of the pod; " +
				"`--override-type=strategic` makes it a strategic one.",
			examples: []string{"run shell --image=busybox --restart=Never", "run web --image=nginx -n shop"},
			read:     readRun,
		},
		{
			name: "replace", group: writing, usage: []string{"-f FILE... [--subresource=status]", "-f FILE... --force"},
			help: "Replaces objects with those of the files; with `--subresource=status` only their status. With `--force` it deletes the objects, waits " +
				"until they are gone (`--timeout`, default 5m) and creates them again.",
			examples: []string{"replace -f claim.yaml", "replace --force -f pod.yaml"},
			read:     readReplace,
		},
		{
			name: "load", group: writing, usage: []string{"-f FILE..."},
			help:     "Stores the objects of the files unchanged, including uid, status and timestamps. If they are a dump of a cluster, with resourceVersions, this cluster continues from it, as in `volsim explain`: unless `config start=TIME` is given it starts at the newest timestamp of the dump, it has the storage systems that the dump mentions, drivers and nodes that fail in the dump continue to fail, and pods that run go on running. A script loads one dump.",
			examples: []string{"load -f dump.yaml"},
			read:     readLoad,
		},
		{
			name: "delete", group: writing,
			usage: []string{"KIND NAME... | KIND/NAME... | -f FILE...", "KIND[,KIND] --all | -l SELECTOR"},
			help: "Deletes objects. Unlike kubectl it does not wait for finalizers unless `--wait` is given (with `--timeout`, default 30s), because virtual time passes only in commands that advance it. " +
				"Other options: `-n NAMESPACE`, `--grace-period=SECONDS`, `--now` (1 second), `--force` (0 seconds: a pod is removed at once), `--ignore-not-found`.",
			examples: []string{"delete pvc data", "delete pod/web --force", "delete pvc/data --wait --timeout=1m"},
			read:     readDelete,
		},
		{
			name: "patch", group: writing, usage: []string{"KIND/NAME | KIND NAME -p PATCH [--subresource=status]", "... --patch-file FILE"},
			help: "Changes an object with a patch, in YAML or JSON. `--type` is `strategic` (the default: lists of objects, such as containers, are merged by " +
				"the names of their elements), `merge` (lists are replaced) or `json` (a list of operations). Custom objects have no strategic " +
				"patches: the default is a merge patch. `-n` sets the namespace.",
			examples: []string{`patch pv/pv1 -p '{"spec":{"persistentVolumeReclaimPolicy":"Delete"}}'`, `patch pvc/data -p '{"metadata":{"finalizers":null}}'`,
				`patch pv/pv1 --type=json -p '[{"op":"remove","path":"/spec/claimRef"}]'`},
			read: readPatch,
		},
	}
}

// readFiles returns the files that -f names. It requires at least one, and no other arguments.
func readFiles(s *Script, name string, a arguments) ([]string, error) {
	if !a.has("filename") {
		return nil, usageOf(name, "missing -f FILE")
	}
	if len(a.rest) > 0 {
		return nil, usageOf(name, fmt.Sprintf("unexpected argument %q", a.rest[0]))
	}
	var files []string
	for _, value := range a.options["filename"] {
		for f := range strings.SplitSeq(value, ",") {
			if _, err := s.file(f); err != nil {
				return nil, err
			}
			files = append(files, f)
		}
	}
	return files, nil
}

// locatedObject is an object of a file.
type locatedObject struct {
	file string
	obj  api.Object
	at   fieldpos.Source
}

// explain returns an error about the object with the line that it is about.
func (l *locatedObject) explain(err error) error {
	line, err := fieldpos.Explain(l.at, err)
	return &fileErrorAt{l.file, line, inOneLine(err)}
}

// fileErrorAt is an error in a manifest, or of a command on one of its objects.
type fileErrorAt struct {
	file string
	line int
	err  error
}

func (e *fileErrorAt) Error() string { return fmt.Sprintf("%s:%d: %v", e.file, e.line, e.err) }

func (e *fileErrorAt) Unwrap() error { return e.err }

// manifests reads the objects of files. Those without a namespace are in the given one, or in that of the script if it is "". As in kubectl,
// an object of another namespace than the given one is an error. Objects that [Script.LeftOut] lists are skipped.
func (s *Script) manifests(files []string, namespace string) ([]locatedObject, error) {
	var objs []locatedObject
	for _, name := range files {
		f, err := s.file(name)
		if err != nil {
			return nil, err
		}
		found := manifests.Scan(f.Data)
		if len(found) == 0 {
			return nil, &fileErrorAt{name, 1, errors.New("manifest contains no object")}
		}
		for _, m := range found {
			located := locatedObject{name, m.Object, fieldpos.Source{Doc: m.Doc, Line: m.Line, Items: m.Items}}
			if m.Err != nil {
				return nil, located.explain(m.Err)
			}
			if s.leavesOut(api.KindOf(m.Object)) {
				continue
			}
			switch {
			case !s.namespaced(api.KindOf(m.Object)):
			case m.Namespace == "":
				m.Object.SetNamespace(cmp.Or(namespace, s.inNamespace()))
			case namespace != "" && m.Namespace != namespace:
				return nil, located.explain(fmt.Errorf("the namespace from the provided object %q does not match the namespace %q. "+
					"You must pass '--namespace=%[1]s' to perform this operation", m.Namespace, namespace))
			}
			objs = append(objs, located)
		}
	}
	return objs, nil
}

// inOneLine joins the lines of an error.
func inOneLine(err error) error {
	if !strings.Contains(err.Error(), "\n") {
		return err
	}
	return oneLine{err}
}

// oneLine is an error whose text has no line breaks.
type oneLine struct{ error }

func (e oneLine) Error() string { return strings.Join(strings.Fields(e.error.Error()), " ") }

func (e oneLine) Unwrap() error { return e.error }

// forObjects returns a step that calls do for a copy of each object of the files. It reads the files once, when the script is parsed. As in
// kubectl, an object that fails does not stop the others.
func forObjects(s *Script, files []string, namespace string, do func(r *runner, obj api.Object) error) (step, error) {
	objs, err := s.manifests(files, namespace)
	if err != nil {
		return nil, err
	}
	return func(r *runner) error {
		var failed error
		for _, m := range objs {
			if err := do(r, m.obj.DeepCopyObject().(api.Object)); err != nil {
				failed = both(failed, m.explain(err))
			}
		}
		return failed
	}, nil
}

// both returns an error with the texts of two, of which the first may be nil.
func both(first, next error) error {
	if first == nil {
		return next
	}
	return fmt.Errorf("%w; %w", first, next)
}

var subresourceOption = option{long: "subresource", value: true}

// readSubresource reports whether --subresource=status is given.
func readSubresource(a arguments) (bool, error) {
	switch v := a.get("subresource", ""); v {
	case "", "status":
		return v == "status", nil
	default:
		return false, fmt.Errorf("invalid --subresource=%s: want status", v)
	}
}

func readReplace(s *Script, args []string) (step, error) {
	a, err := readArguments(args, fileOption, namespaceOption, subresourceOption, timeoutOption, option{long: "force"})
	if err != nil {
		return nil, err
	}
	files, err := readFiles(s, "replace", a)
	if err != nil {
		return nil, err
	}
	status, err := readSubresource(a)
	if err != nil {
		return nil, err
	}
	force, err := a.flag("force")
	if err != nil {
		return nil, err
	}
	if force {
		return readForcedReplace(s, files, a)
	}
	return forObjects(s, files, a.get("namespace", ""), func(r *runner, obj api.Object) error {
		stored, err := r.get(api.RefTo(obj))
		if err != nil {
			return err
		}
		if obj.GetResourceVersion() == "" {
			obj.SetResourceVersion(stored.GetResourceVersion())
		}
		update := r.cluster.Update
		if status {
			update = r.cluster.UpdateStatus
		}
		if err := update(obj); err != nil {
			return err
		}
		r.printf("%s replaced\n", displayName(api.RefTo(obj)))
		return nil
	})
}
