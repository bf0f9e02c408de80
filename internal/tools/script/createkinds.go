package script

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/volsim/volsim/api"
)

// newBudget makes the object of create poddisruptionbudget.
func newBudget(name string, a arguments) (api.Object, error) {
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if !a.has("selector") {
		return nil, errors.New("missing --selector=KEY=VALUE,...")
	}
	if a.has("min-available") == a.has("max-unavailable") {
		return nil, errors.New("want one of --min-available and --max-unavailable")
	}
	var err error
	if budget.Spec.Selector, err = metav1.ParseToLabelSelector(a.get("selector", "")); err != nil {
		return nil, fmt.Errorf("invalid --selector=%s: %w", a.get("selector", ""), err)
	}
	for _, of := range []struct {
		option string
		to     **intstr.IntOrString
	}{{"min-available", &budget.Spec.MinAvailable}, {"max-unavailable", &budget.Spec.MaxUnavailable}} {
		if !a.has(of.option) {
			continue
		}
		text := a.get(of.option, "")
		n, err := strconv.ParseInt(strings.TrimSuffix(text, "%"), 10, 32)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("invalid --%s=%s: want a number or a percentage, such as 1 or 50%%", of.option, text)
		}
		*of.to = new(intstr.Parse(text))
	}
	return budget, nil
}

// newCronJob makes the object of create cronjob. Its command follows the name.
func newCronJob(name string, a arguments) (api.Object, error) {
	if !a.has("image") || !a.has("schedule") {
		return nil, errors.New("want --image=IMAGE and --schedule=SCHEDULE")
	}
	job := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Name: name}}
	job.Spec.Schedule = a.get("schedule", "")
	job.Spec.JobTemplate.Name = name
	template := &job.Spec.JobTemplate.Spec.Template.Spec
	template.RestartPolicy = corev1.RestartPolicy(a.get("restart", string(corev1.RestartPolicyOnFailure)))
	if template.RestartPolicy != corev1.RestartPolicyOnFailure && template.RestartPolicy != corev1.RestartPolicyNever {
		return nil, fmt.Errorf("invalid --restart=%s: want OnFailure or Never", template.RestartPolicy)
	}
	template.Containers = []corev1.Container{{Name: name, Image: a.get("image", ""), Command: a.rest[1:]}}
	return job, nil
}

// newPriorityClass makes the object of create priorityclass.
func newPriorityClass(name string, a arguments) (api.Object, error) {
	value, err := strconv.ParseInt(a.get("value", "0"), 10, 32)
	if err != nil {
		return nil, fmt.Errorf("invalid --value=%s: want a number", a.get("value", ""))
	}
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: int32(value), Description: a.get("description", "")}
	if class.GlobalDefault, err = a.flag("global-default"); err != nil {
		return nil, err
	}
	policy := corev1.PreemptionPolicy(a.get("preemption-policy", string(corev1.PreemptLowerPriority)))
	if policy != corev1.PreemptLowerPriority && policy != corev1.PreemptNever {
		return nil, fmt.Errorf("invalid --preemption-policy=%s: want PreemptLowerPriority or Never", policy)
	}
	class.PreemptionPolicy = &policy
	return class, nil
}

// newServiceAccount makes the object of create serviceaccount.
func newServiceAccount(name string, _ arguments) (api.Object, error) {
	return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, nil
}

// newConfigMap makes the object of create configmap.
func newConfigMap(name string, a arguments) (api.Object, error) {
	data := map[string]string{}
	for _, pair := range a.options["from-literal"] {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("invalid --from-literal=%s: want KEY=VALUE", pair)
		}
		data[key] = value
	}
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}, nil
}
