package script

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/internal/core/objname"
	"github.com/volsim/volsim/internal/core/store"
)

// generators are the kinds that create makes from arguments, as kubectl does.
var generators = map[string]struct {
	options []option
	make    func(name string, a arguments) (api.Object, error)
	command bool // words after the name are the command of its container
}{
	"namespace": {make: func(name string, _ arguments) (api.Object, error) {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, nil
	}},
	"deployment": {options: []option{{long: "image", value: true, list: true}, {long: "replicas", value: true}}, make: newDeployment},
	"quota":      {options: []option{{long: "hard", value: true}}, make: newQuota},
	"poddisruptionbudget": {make: newBudget, options: []option{{long: "selector", short: "l", value: true}, {long: "min-available", value: true},
		{long: "max-unavailable", value: true}}},
	"cronjob": {command: true, make: newCronJob, options: []option{{long: "image", value: true}, {long: "schedule", value: true},
		{long: "restart", value: true}}},
	"priorityclass": {make: newPriorityClass, options: []option{{long: "value", value: true}, {long: "description", value: true},
		{long: "global-default"}, {long: "preemption-policy", value: true}}},
	"serviceaccount": {make: newServiceAccount},
	"configmap":      {make: newConfigMap, options: []option{{long: "from-literal", value: true, list: true}}},
}

// generatorNames are other names of generators.
var generatorNames = map[string]string{"ns": "namespace", "deploy": "deployment", "resourcequota": "quota", "pdb": "poddisruptionbudget", "cj": "cronjob",
	"pc": "priorityclass", "sa": "serviceaccount", "cm": "configmap"}

// Generated returns the names of the kinds that create makes from arguments.
func Generated() []string {
	return slices.Concat(slices.Sorted(maps.Keys(generators)), []string{"job"}, slices.Sorted(maps.Keys(generatorNames)))
}

func readCreate(s *Script, args []string) (step, error) {
	kind := ""
	if len(args) > 0 {
		kind = args[0]
	}
	if name, ok := generatorNames[kind]; ok {
		kind = name
	}
	if kind == "job" {
		return readCreateJob(s, args[1:])
	}
	if _, ok := generators[kind]; ok {
		return readGenerated(kind, args[1:])
	}
	if slices.Contains(notGenerated, kind) || objname.IsKind(kind) {
		return nil, fmt.Errorf("create %s takes a manifest only: kubectl create %[1]s … --dry-run=client -o yaml > FILE, then create -f FILE", kind)
	}
	a, err := readArguments(args, fileOption, namespaceOption, option{long: "validate"})
	if err != nil {
		return nil, err
	}
	files, err := readFiles(s, "create", a)
	if err != nil {
		return nil, err
	}
	validate := a.get("validate", "true")
	if validate != "true" && validate != "false" {
		return nil, fmt.Errorf("invalid --validate=%s: want true or false", validate)
	}
	return forObjects(s, files, a.get("namespace", ""), func(r *runner, obj api.Object) error {
		return r.create(obj, store.CreateOptions{SkipValidation: validate == "false"})
	})
}

// notGenerated lists the kinds that kubectl create makes from arguments, and this create does not.
var notGenerated = []string{"clusterrole", "clusterrolebinding", "ingress", "ing", "role", "rolebinding", "secret", "service", "svc", "token"}

func (r *runner) create(obj api.Object, opts store.CreateOptions) error {
	if err := internals.Create(r.cluster, obj, opts); err != nil {
		return err
	}
	r.tell(api.RefTo(obj), "created")
	return nil
}

// readGenerated reads create KIND NAME.
func readGenerated(kind string, args []string) (step, error) {
	generator := generators[kind]
	a, err := readArguments(args, append([]option{namespaceOption}, generator.options...)...)
	if err != nil {
		return nil, err
	}
	if len(a.rest) != 1 && !(generator.command && len(a.rest) > 1) {
		return nil, usageOf("create", "want one name of the "+kind)
	}
	if _, err := generator.make(a.rest[0], a); err != nil {
		return nil, err
	}
	return func(r *runner) error {
		obj, err := generator.make(a.rest[0], a) // a cluster keeps the object that it receives
		if err != nil {
			return err
		}
		if r.script.namespaced(api.KindOf(obj)) {
			obj.SetNamespace(a.get("namespace", r.script.inNamespace()))
		}
		return r.create(obj, store.CreateOptions{})
	}, nil
}

func newDeployment(name string, a arguments) (api.Object, error) {
	replicas, err := strconv.ParseInt(a.get("replicas", "1"), 10, 32)
	if err != nil || replicas < 0 {
		return nil, fmt.Errorf("invalid --replicas=%s: want a number from 0", a.get("replicas", ""))
	}
	if !a.has("image") {
		return nil, errors.New("missing --image=IMAGE")
	}
	labels := map[string]string{"app": name}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	d.Spec.Replicas = new(int32(replicas))
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	d.Spec.Template.Labels = labels
	for _, image := range a.options["image"] {
		container := image[strings.LastIndex(image, "/")+1:]
		container, _, _ = strings.Cut(container, "@")
		container, _, _ = strings.Cut(container, ":")
		d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers, corev1.Container{Name: container, Image: image})
	}
	return d, nil
}

func newQuota(name string, a arguments) (api.Object, error) {
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: name}}
	hard := map[string]string{}
	for pair := range strings.SplitSeq(a.get("hard", ""), ",") {
		if resource, value, ok := strings.Cut(pair, "="); ok {
			hard[resource] = value
		} else if pair != "" {
			return nil, fmt.Errorf("invalid --hard=%s: want RESOURCE=QUANTITY,...", a.get("hard", ""))
		}
	}
	for _, resource := range slices.Sorted(maps.Keys(hard)) {
		q, ok := quantity(hard[resource])
		if !ok {
			return nil, fmt.Errorf("invalid --hard=%s: %q is not a quantity", a.get("hard", ""), hard[resource])
		}
		if quota.Spec.Hard == nil {
			quota.Spec.Hard = corev1.ResourceList{}
		}
		quota.Spec.Hard[corev1.ResourceName(resource)] = q
	}
	return quota, nil
}
