package script

import (
	"errors"
	"fmt"
	"strings"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/store"
)

func objectCommands() []*command {
	return []*command{
		{
			name: "apply", group: writing, usage: []string{"-f FILE..."},
			help: "Creates the objects of the files, or changes those that exist, as `kubectl apply` does: what the manifest says is set, what the manifest " +
				"before said and this one does not is removed, and what neither says is left alone. What was applied is not kept in an annotation, and lists are replaced as a whole.",
			examples: []string{"apply -f claim.yaml"},
			read:     readApply,
		},
		{
			name: "create", group: writing, usage: []string{"-f FILE... [--validate=false]"},
			help:     "Creates the objects of the files. With `--validate=false` also those that an API server would refuse, for studies of what should not exist.",
			examples: []string{"create -f pod.yaml"},
			read:     readCreate,
		},
		{
			name: "replace", group: writing, usage: []string{"-f FILE... [--subresource=status]"},
			help:     "Replaces objects by those of the files; with `--subresource=status` their status.",
			examples: []string{"replace -f claim.yaml"},
			read:     readReplace,
		},
		{
			name: "load", group: writing, usage: []string{"-f FILE..."},
			help:     "Stores the objects of the files as they are, uid, status and timestamps included, as from a dump of another cluster.",
			examples: []string{"load -f dump.yaml"},
			read:     readLoad,
		},
		{
			name: "delete", group: writing,
			usage: []string{"KIND NAME... | KIND/NAME... | -f FILE...", "KIND --all"},
			help: "Deletes objects. Unlike kubectl it does not wait for finalizers unless `--wait` is given (with `--timeout`, 30s unless said): time stands still until a command lets it pass. " +
				"Further options: `-n NAMESPACE`, `--grace-period=SECONDS`, `--now` (1 second), `--force` (none, for a pod: it is gone at once), `--ignore-not-found`.",
			examples: []string{"delete pvc data", "delete pod/web --force", "delete pvc/data --wait --timeout=1m"},
			read:     readDelete,
		},
		{
			name: "patch", group: writing, usage: []string{"KIND/NAME | KIND NAME -p PATCH [--subresource=status]", "... --patch-file FILE"},
			help:     "Changes an object by a merge patch, in YAML or JSON. Strategic merge and JSON patches are not known, so `--type=merge` need not be said. `-n` gives the namespace.",
			examples: []string{`patch pv/pv1 -p '{"spec":{"persistentVolumeReclaimPolicy":"Delete"}}'`, `patch pvc/data -p '{"metadata":{"finalizers":null}}'`},
			read:     readPatch,
		},
	}
}

// readFiles finds the files that -f names, of which there must be some, and nothing else.
func readFiles(s *Script, name string, a arguments) ([]string, error) {
	if !a.has("filename") {
		return nil, usageOf(name, "no file is named")
	}
	if len(a.rest) > 0 {
		return nil, usageOf(name, fmt.Sprintf("%q does not belong here", a.rest[0]))
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

// placed is an object with the place where its document begins.
type placed struct {
	file string
	line int
	obj  api.Object
}

// placedError is what is wrong with an object of a file, or with what became of it.
type placedError struct {
	file string
	line int
	err  error
}

func (e *placedError) Error() string { return fmt.Sprintf("%s:%d: %v", e.file, e.line, e.err) }

func (e *placedError) Unwrap() error { return e.err }

// manifests reads the objects of files. They are read each time, because what is handed to a cluster is its own.
func (s *Script) manifests(files []string) ([]placed, error) {
	var objs []placed
	for _, name := range files {
		f, err := s.file(name)
		if err != nil {
			return nil, err
		}
		found := store.ScanManifests(f.Data)
		if len(found) == 0 {
			return nil, &placedError{name, 1, errors.New("there is no object in it")}
		}
		for _, m := range found {
			if m.Err != nil {
				return nil, &placedError{name, m.Line, inOneLine(m.Err)}
			}
			objs = append(objs, placed{name, m.Line, m.Object})
		}
	}
	return objs, nil
}

// inOneLine makes one line of an error that has several.
func inOneLine(err error) error {
	if !strings.Contains(err.Error(), "\n") {
		return err
	}
	return errors.New(strings.Join(strings.Fields(err.Error()), " "))
}

// forObjects is the step that does something with each object of the files. The files are tried when the script is read.
func forObjects(s *Script, files []string, do func(p *player, obj api.Object) error) (step, error) {
	if _, err := s.manifests(files); err != nil {
		return nil, err
	}
	return func(p *player) error {
		objs, err := s.manifests(files)
		if err != nil {
			return err
		}
		for _, m := range objs {
			if err := do(p, m.obj); err != nil {
				return &placedError{m.file, m.line, err}
			}
		}
		return nil
	}, nil
}

func readCreate(s *Script, args []string) (step, error) {
	a, err := readArguments(args, fileOption, option{long: "validate"})
	if err != nil {
		return nil, err
	}
	files, err := readFiles(s, "create", a)
	if err != nil {
		return nil, err
	}
	validate := a.get("validate", "true")
	if validate != "true" && validate != "false" {
		return nil, fmt.Errorf("--validate=%s: it is true or false", validate)
	}
	return forObjects(s, files, func(p *player, obj api.Object) error {
		if err := p.cluster.CreateWith(obj, api.CreateOptions{SkipValidation: validate == "false"}); err != nil {
			return err
		}
		if obj.GetName() == "" {
			p.printf("%s/%s* created\n", singular(api.KindOf(obj)), obj.GetGenerateName())
			return nil
		}
		p.printf("%s created\n", shown(api.RefTo(obj)))
		return nil
	})
}

var subresourceOption = option{long: "subresource", value: true}

// statusWanted reads --subresource.
func statusWanted(a arguments) (bool, error) {
	switch v := a.get("subresource", ""); v {
	case "", "status":
		return v == "status", nil
	default:
		return false, fmt.Errorf("--subresource=%s: there is only status", v)
	}
}

func readReplace(s *Script, args []string) (step, error) {
	a, err := readArguments(args, fileOption, subresourceOption)
	if err != nil {
		return nil, err
	}
	files, err := readFiles(s, "replace", a)
	if err != nil {
		return nil, err
	}
	status, err := statusWanted(a)
	if err != nil {
		return nil, err
	}
	return forObjects(s, files, func(p *player, obj api.Object) error {
		stored, err := p.get(api.RefTo(obj))
		if err != nil {
			return err
		}
		if obj.GetResourceVersion() == "" {
			obj.SetResourceVersion(stored.GetResourceVersion())
		}
		update := p.cluster.Update
		if status {
			update = p.cluster.UpdateStatus
		}
		if err := update(obj); err != nil {
			return err
		}
		p.printf("%s replaced\n", shown(api.RefTo(obj)))
		return nil
	})
}

func readLoad(s *Script, args []string) (step, error) {
	a, err := readArguments(args, fileOption)
	if err != nil {
		return nil, err
	}
	files, err := readFiles(s, "load", a)
	if err != nil {
		return nil, err
	}
	return forObjects(s, files, func(p *player, obj api.Object) error {
		if err := p.cluster.Load(obj); err != nil {
			return err
		}
		p.printf("%s loaded\n", shown(api.RefTo(obj)))
		return nil
	})
}
