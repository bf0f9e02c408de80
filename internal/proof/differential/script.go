package differential

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/storage"
)

// Script writes the scenario as a script (docs/scripts.md), so that volsim's tools can show it. Storage behaves slightly differently there:
// settings become faults. A scenario with Nodes has leases without kubelets, which no script can have: it is only described, as is one with
// Controllers.
func (s Scenario) Script() (string, error) {
	if s.Nodes || len(s.Controllers) > 0 {
		return s.describe(), nil
	}
	w := scriptWriter{settings: map[string]Setting{}, limits: map[string]int32{}}
	without, err := s.without()
	if err != nil {
		return "", err
	}
	w.line("# A scenario that was made up by internal/proof/differential.")
	w.line("config start=%s without=%s provisioner.timeout=24h", Epoch.Format(time.RFC3339), strings.Join(without, ","))
	w.line("backend %s lenient", InTree)
	w.line("backend %s", NFS)
	line := fmt.Sprintf("backend %s lenient", Driver)
	for i, op := range s.Cannot {
		line += []string{" without=", ","}[min(i, 1)] + string(op)
	}
	if s.MountGroup {
		line += " mount-group"
	}
	w.line("%s", line)
	if s.GroupChange > 0 {
		w.line("config kubelet.group-change=%v", s.GroupChange)
	}
	w.line("advance %v", s.Lead)
	for i, step := range s.Steps {
		if err := w.step(i, step); err != nil {
			return "", fmt.Errorf("step %d: %w", i, err)
		}
	}
	w.archive.Comment = []byte(w.commands.String())
	return string(txtar.Format(&w.archive)), nil
}

// describe returns the steps, with the objects that they create.
func (s Scenario) describe() string {
	var text strings.Builder
	at := s.Lead
	if s.Nodes {
		at += CollectorStart
	}
	for i, step := range s.Steps {
		what := fmt.Sprintf("%s %s %s %s", step.Op, nameOf(step.Ref), step.Sub, step.Cascade)
		switch step.Op {
		case Create:
			what = fmt.Sprintf("create %s", api.RefTo(step.Object))
		case Power:
			what = fmt.Sprintf("lease %s %s", step.Node, step.Machine)
		case Fault:
			what = fmt.Sprintf("fault %+v", step.Rule)
		case Pods:
			what = fmt.Sprintf("pods %+v", step.Pods)
		case Restart:
			what = "restart " + step.Actor
		case Storage:
			what = fmt.Sprintf("storage %+v", step.Setting)
		case Advance:
			what = "nothing"
		}
		fmt.Fprintf(&text, "# step %d at %v: %s %s, then %v; settles: %v\n", i, at, what, step.Patch, step.Wait, step.Settle)
		if at += step.Wait; step.Settle {
			at += SettleTime
		}
		if step.Object == nil {
			continue
		}
		data, err := json.Marshal(step.Object)
		if err != nil {
			data = []byte(err.Error())
		}
		fmt.Fprintf(&text, "%s\n", data)
	}
	return text.String()
}

// without lists the controllers that do not run.
func (s Scenario) without() ([]string, error) {
	actors := Actors
	if s.Attach {
		actors = slices.Concat(Actors, AttachActors)
	}
	all, err := volsim.New(volsim.Config{Backends: []storage.Backend{fake.CSI(Driver)}})
	if err != nil {
		return nil, err
	}
	defer all.Close()
	without := slices.DeleteFunc(all.Controllers(), func(name string) bool { return slices.Contains(actors, name) })
	if s.Kubelets {
		return without, nil
	}
	return append(without, volsim.Kubelets), nil
}

type scriptWriter struct {
	archive  txtar.Archive
	commands strings.Builder
	settings map[string]Setting
	limits   map[string]int32 // limits that backends were given
}

func (w *scriptWriter) line(format string, args ...any) {
	fmt.Fprintf(&w.commands, format+"\n", args...)
}

// step writes a step. The API server may refuse it; that is part of the scenario.
func (w *scriptWriter) step(i int, step Step) error {
	switch step.Op {
	case Create, Update:
		if err := w.object(i, step); err != nil {
			return err
		}
	case Patch:
		line := fmt.Sprintf("? patch %s -p %s", nameOf(step.Ref), quoted(step.Patch))
		if step.Sub != api.Main {
			line += " --subresource=" + string(step.Sub)
		}
		w.line("%s", line)
	case Delete:
		line := "? delete " + nameOf(step.Ref)
		if step.Force && step.Ref.Kind == api.Pod {
			line += " --force"
		}
		w.line("%s", line)
	case Storage:
		w.settings[step.Backend] = step.Setting
		w.storage()
	case Fault:
		w.fault(step.Rule)
	case Power:
		w.line("? fault node %s %s", step.Node, step.Machine)
	}
	if step.Wait > 0 {
		w.line("advance %v", step.Wait)
	}
	if step.Settle {
		w.line("advance %v # step %d is looked at", SettleTime, i)
	}
	return nil
}

func (w *scriptWriter) object(i int, step Step) error {
	obj := step.Object.DeepCopyObject().(api.Object)
	obj.GetObjectKind().SetGroupVersionKind(store.GroupVersionKind(api.KindOf(obj)))
	data, err := yaml.Marshal(obj)
	if err != nil {
		return err
	}
	file := txtar.File{Name: fmt.Sprintf("step%d.yaml", i), Data: data}
	w.archive.Files = append(w.archive.Files, file)
	verb := "create"
	if step.Op == Update {
		verb = "replace"
	}
	w.line("? %s -f %s", verb, file.Name)
	if ref := api.RefTo(obj); ref.Kind == api.PersistentVolumeClaim {
		w.line("? set %s %s .metadata.uid", variable(ref.Key), nameOf(ref))
	}
	return nil
}

// nameOf names an object as commands do.
func nameOf(ref api.Ref) string {
	if key, ok := strings.CutPrefix(ref.Key, Provisioned); ok {
		ref.Key = "pvc-${" + variable(key) + "}"
	}
	return strings.ToLower(string(ref.Kind)) + "/" + ref.Key
}

// variable returns the script variable with the uid of the claim of that key.
func variable(key string) string {
	return "UID_" + strings.NewReplacer("/", "_", "-", "_").Replace(key)
}

// quoted returns a patch as one word.
func quoted(patch string) string {
	at := strings.Index(patch, uidOf)
	if at < 0 {
		return "'" + patch + "'"
	}
	key, rest, _ := strings.Cut(patch[at+len(uidOf):], "!")
	return "'" + patch[:at] + `'"${` + variable(key) + `}"'` + rest + "'"
}

// storage writes the settings of all backends as faults.
func (w *scriptWriter) storage() {
	w.line("fault clear %s", strings.Join(storageOps, " "))
	for _, backend := range slices.Sorted(maps.Keys(w.settings)) {
		setting := w.settings[backend]
		if setting.Limit != w.limits[backend] {
			w.limits[backend] = setting.Limit
			w.line("attach-limit %s %s", backend, cmp.Or(strings.TrimPrefix(fmt.Sprint(setting.Limit), "0"), "none"))
		}
		for _, op := range storageOps {
			var effects []string
			switch {
			case setting.InUse && op == string(storage.Delete):
				effects = append(effects, "error=FailedPrecondition:'"+ErrInUse.Error()+"'")
			case setting.Fail[op] != "":
				effects = append(effects, fmt.Sprintf("error=%s:'%s'", cmp.Or(setting.Code, storage.Internal), setting.Fail[op]))
			}
			if delay := setting.Delay[op]; delay > 0 {
				effects = append(effects, fmt.Sprintf("delay=%v", delay))
			}
			if len(effects) > 0 {
				w.line("fault backend %s %s %s", backend, op, strings.Join(effects, " "))
			}
		}
	}
}

var storageOps = []string{string(storage.Create), string(storage.Delete), string(storage.Recycle), string(storage.Expand), string(storage.Attach), string(storage.Detach),
	string(storage.Stage), string(storage.Unstage), string(storage.Publish), string(storage.Unpublish), string(storage.NodeExpand)}

func (w *scriptWriter) fault(r Rule) {
	effect, code := "error", "InternalError"
	if r.Lost {
		effect = "lose"
	}
	if r.Conflict {
		code = "Conflict"
	}
	what := strings.ToLower(string(r.Kind))
	if r.Key != "" {
		what += "/" + r.Key
	}
	w.line("fault api %s %s actor=%s %s=%s times=%d", r.Verb, what, r.Actor, effect, code, r.Times)
}
