// Package containers reads the arguments of kubectl set image, set env and set resources, and makes the patches that they stand for.
package containers

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/volsim/volsim/api"
)

// Change is a change of the containers of a pod, or of the template of a workload.
type Change struct {
	// Object names the object, as KIND/NAME. Namespace is that of the option -n, "" without it.
	Object, Namespace string
	// What names the changed fields as kubectl prints them, such as image.
	What    string
	changes []containerChange
	pattern string // selects containers by name; "" and "*" are all
	account string // replaces the service account, instead of a change of containers
}

// containerChange changes containers; do reports whether it is about the container.
type containerChange struct {
	of string // the name of the container; "" for any
	do func(c *corev1.Container) bool
}

var parsers = map[string]struct {
	what  string
	parse func(words []string, options map[string]string) ([]containerChange, error)
}{
	"image": {"image", imageChanges}, "env": {"env", envChanges}, "resources": {"resource requirements", resourceChanges},
}

// Parse reads image OBJECT CONTAINER=IMAGE..., env OBJECT KEY=VALUE... KEY-... or resources OBJECT --requests=… --limits=….
func Parse(args []string) (c Change, err error) {
	if len(args) > 0 && (args[0] == "serviceaccount" || args[0] == "sa") {
		return parseServiceAccount(args[1:])
	}
	if len(args) > 0 && notSet[args[0]] != "" {
		return c, fmt.Errorf("no set %s here: %s", args[0], notSet[args[0]])
	}
	if len(args) == 0 || parsers[args[0]].parse == nil {
		return c, errors.New("want set image, set env, set resources or set serviceaccount")
	}
	words, options, err := setOptions(args[1:])
	if err != nil {
		return c, err
	}
	if len(words) > 1 && !strings.Contains(words[0], "/") {
		words = append([]string{words[0] + "/" + words[1]}, words[2:]...)
	}
	if len(words) == 0 {
		return c, errors.New("want an object, and what to set")
	}
	changes, err := parsers[args[0]].parse(words[1:], options)
	return Change{Object: words[0], Namespace: options["--namespace"], What: parsers[args[0]].what, changes: changes,
		pattern: options["--containers"]}, err
}

// notSet are other words after set, and what to do instead.
var notSet = map[string]string{
	"volume":   "kubectl has no such command (oc has); change spec.template.spec.volumes with patch OBJECT -p PATCH",
	"volumes":  "kubectl has no such command (oc has); change spec.template.spec.volumes with patch OBJECT -p PATCH",
	"selector": "Services are stored only; change spec.selector with patch service/NAME -p PATCH",
	"subject":  "permissions are not simulated",
}

// parseServiceAccount reads serviceaccount OBJECT ACCOUNT.
func parseServiceAccount(args []string) (c Change, err error) {
	words, options, err := setOptions(args)
	if err != nil {
		return c, err
	}
	if len(words) == 3 && !strings.Contains(words[0], "/") {
		words = []string{words[0] + "/" + words[1], words[2]}
	}
	if len(words) != 2 {
		return c, errors.New("want an object and the name of a service account")
	}
	return Change{Object: words[0], Namespace: options["--namespace"], What: "serviceaccount", account: words[1]}, nil
}

// setOptions separates the options of set, by their long names, from the other words.
func setOptions(args []string) (words []string, options map[string]string, err error) {
	long := map[string]string{"-n": "--namespace", "-c": "--containers", "--namespace": "", "--containers": "", "--requests": "", "--limits": "",
		"-e": "--env", "--env": "", "--overwrite": ""}
	options = map[string]string{}
	for i := 0; i < len(args); i++ {
		option, value, hasValue := strings.Cut(args[i], "=")
		name, known := long[option]
		switch {
		case !strings.HasPrefix(option, "-"):
			words = append(words, args[i])
			continue
		case !known:
			return nil, nil, fmt.Errorf("unknown option %s", option)
		case name == "":
			name = option
		}
		if !hasValue && name != "--overwrite" {
			if i++; i == len(args) {
				return nil, nil, errors.New("missing value of " + option)
			}
			value = args[i]
		}
		if name == "--env" {
			words = append(words, value)
			continue
		}
		options[name] = value
	}
	return words, options, nil
}

// imageChanges reads CONTAINER=IMAGE...; * is every container.
func imageChanges(words []string, _ map[string]string) (changes []containerChange, err error) {
	for _, word := range words {
		container, image, found := strings.Cut(word, "=")
		if !found || container == "" || image == "" {
			return nil, fmt.Errorf("%q is not CONTAINER=IMAGE", word)
		}
		changes = append(changes, containerChange{container, func(c *corev1.Container) bool {
			if container != "*" && container != c.Name {
				return false
			}
			c.Image = image
			return true
		}})
	}
	if len(changes) == 0 {
		return nil, errors.New("want an object, and CONTAINER=IMAGE")
	}
	return changes, nil
}

// envChanges reads KEY=VALUE... and KEY-...
func envChanges(words []string, options map[string]string) (changes []containerChange, err error) {
	for _, word := range words {
		key, value, sets := strings.Cut(word, "=")
		if !sets {
			var removes bool
			if key, removes = strings.CutSuffix(word, "-"); !removes {
				return nil, fmt.Errorf("%q is not KEY=VALUE or KEY-", word)
			}
		}
		changes = append(changes, containerChange{options["--containers"], func(c *corev1.Container) bool {
			at := slices.IndexFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == key })
			switch {
			case !sets:
				c.Env = slices.DeleteFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == key })
			case at < 0:
				c.Env = append(c.Env, corev1.EnvVar{Name: key, Value: value})
			case options["--overwrite"] != "false":
				c.Env[at] = corev1.EnvVar{Name: key, Value: value}
			}
			return true
		}})
	}
	if len(changes) == 0 {
		return nil, errors.New("want an object, and KEY=VALUE or KEY-")
	}
	return changes, nil
}

// resourceChanges reads --requests=NAME=QUANTITY,... and --limits=...
func resourceChanges(words []string, options map[string]string) ([]containerChange, error) {
	requests, err := quantities(options["--requests"])
	if err != nil {
		return nil, fmt.Errorf("invalid --requests: %w", err)
	}
	limits, err := quantities(options["--limits"])
	if err != nil {
		return nil, fmt.Errorf("invalid --limits: %w", err)
	}
	if len(words) > 0 || len(requests)+len(limits) == 0 {
		return nil, errors.New("want an object, and --requests or --limits")
	}
	return []containerChange{{options["--containers"], func(c *corev1.Container) bool {
		for name, q := range requests {
			if c.Resources.Requests == nil {
				c.Resources.Requests = corev1.ResourceList{}
			}
			c.Resources.Requests[name] = q
		}
		for name, q := range limits {
			if c.Resources.Limits == nil {
				c.Resources.Limits = corev1.ResourceList{}
			}
			c.Resources.Limits[name] = q
		}
		return true
	}}}, nil
}

// quantities reads NAME=QUANTITY,...
func quantities(text string) (corev1.ResourceList, error) {
	list := corev1.ResourceList{}
	for pair := range strings.SplitSeq(text, ",") {
		if pair == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		q, err := resource.ParseQuantity(value)
		if !ok || err != nil {
			return nil, fmt.Errorf("%q is not NAME=QUANTITY", pair)
		}
		list[corev1.ResourceName(name)] = q
	}
	return list, nil
}

// ServiceAccount returns the service account that the change sets; "" for others.
func (c Change) ServiceAccount() string { return c.account }

// Patch returns the patch that changes an object. A list in it replaces that of the object.
func (c Change) Patch(obj api.Object) ([]byte, error) {
	if c.account != "" {
		if api.KindOf(obj) == api.Pod {
			return nil, errors.New("the service account of a pod cannot change: set it for its workload")
		}
		spec := map[string]any{"serviceAccountName": c.account, "serviceAccount": c.account}
		return json.Marshal(map[string]any{"spec": map[string]any{"template": map[string]any{"spec": spec}}})
	}
	data, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	var workload struct {
		Spec struct {
			corev1.PodSpec
			Template corev1.PodTemplateSpec
		}
	}
	if err := json.Unmarshal(data, &workload); err != nil {
		return nil, err
	}
	spec := &workload.Spec.Template.Spec
	isPod := api.KindOf(obj) == api.Pod
	if isPod {
		spec = &workload.Spec.PodSpec
	}
	found := make([]bool, len(c.changes))
	for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range list {
			if c.pattern != "" && c.pattern != "*" && c.pattern != list[i].Name {
				continue
			}
			for n, change := range c.changes {
				found[n] = change.do(&list[i]) || found[n]
			}
		}
	}
	if i := slices.Index(found, false); i >= 0 {
		return nil, fmt.Errorf("unable to find container named %q", c.changes[i].of)
	}
	containers := map[string]any{"containers": spec.Containers}
	if len(spec.InitContainers) > 0 {
		containers["initContainers"] = spec.InitContainers
	}
	change := map[string]any{"spec": map[string]any{"template": map[string]any{"spec": containers}}}
	if isPod {
		change = map[string]any{"spec": containers}
	}
	return json.Marshal(change)
}
