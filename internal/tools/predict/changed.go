package predict

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/objname"
	"github.com/volsim/volsim/trace"
)

// changing are the verbs that write objects, and change nothing if the objects are as asked already.
var changing = []string{"apply", "patch", "scale", "set", "label", "annotate", "taint", "cordon", "uncordon", "replace"}

// noteEffects notes what a step did that the outcomes do not show: nothing, because the objects were so before, or an object whose controller is
// not simulated. since is the trace before the step.
func (r *run) noteEffects(step Step, since uint64) {
	wrote := false
	for e := range r.Trace().Since(since) {
		if e.Type != trace.Write || e.Err != nil || !api.IsUser(e.Actor) {
			continue
		}
		wrote = wrote || e.Old != e.New
		if e.Object.Kind == "CronJob.batch" && e.Old == nil {
			_, name := objects.SplitKey(e.Object.Key)
			r.note("%s makes no Jobs here, because no container runs that would end them; create job NAME --from=cronjob/%s makes one.", objname.Of(e.Object), name)
		}
	}
	verb, _, _ := strings.Cut(step.Text, " ")
	if !wrote && slices.Contains(changing, verb) {
		r.note("%s changes nothing: the cluster is so already.", step.Text)
	}
}

// maxFields is how many changed fields are named.
const maxFields = 3

// fieldChange describes which fields of an object a write changes; "" if only those that the API server keeps.
func fieldChange(before, after api.Object) string {
	if before == nil || after == nil {
		return ""
	}
	from, err := runtime.DefaultUnstructuredConverter.ToUnstructured(before)
	if err != nil {
		return ""
	}
	to, err := runtime.DefaultUnstructuredConverter.ToUnstructured(after)
	if err != nil {
		return ""
	}
	paths := slices.DeleteFunc(changedFields("", from, to), func(path string) bool {
		return slices.ContainsFunc(keptByServer, func(own string) bool { return path == own || strings.HasPrefix(path, own+".") })
	})
	if len(paths) == 0 {
		return ""
	}
	more := ""
	if n := len(paths) - maxFields; n > 0 {
		paths, more = paths[:maxFields], fmt.Sprintf(" and %d more fields", n)
	}
	if api.KindOf(after) == api.Pod && len(paths) == 1 && paths[0] == "status.conditions" {
		return "" // of an eviction
	}
	return "is changed: " + strings.Join(paths, ", ") + more
}

// keptByServer are the fields that the API server writes with each change.
var keptByServer = []string{"metadata.resourceVersion", "metadata.generation", "metadata.managedFields", "metadata.uid", "metadata.creationTimestamp"}

// changedFields returns the paths of the fields that differ, sorted.
func changedFields(path string, from, to any) []string {
	if reflect.DeepEqual(from, to) {
		return nil
	}
	a, isMap := from.(map[string]any)
	b, areMaps := to.(map[string]any)
	if !isMap || !areMaps {
		return []string{cmp.Or(path, "everything")}
	}
	keys := map[string]bool{}
	for key := range a {
		keys[key] = true
	}
	for key := range b {
		keys[key] = true
	}
	var all []string
	for _, key := range sortedKeys(keys) {
		inner := key
		if strings.ContainsAny(key, "./") {
			inner = fmt.Sprintf("[%s]", key)
		} else if path != "" {
			inner = "." + key
		}
		all = append(all, changedFields(path+inner, a[key], b[key])...)
	}
	return all
}
