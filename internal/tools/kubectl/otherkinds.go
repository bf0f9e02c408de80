package kubectl

import (
	"fmt"
	"strings"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/plain"
)

// documented is a column that a field of an API type describes.
func (c Column) documented(source any, fieldName string) Column {
	c.Description, c.Field, c.FieldName = "", source, fieldName
	return c
}

var cronJobColumns = []Column{
	nameColumn,
	field("Schedule", "", func(c map[string]any) string { return text(c, "spec", "schedule") }).documented(batchv1.CronJobSpec{}, "schedule"),
	field("Timezone", "", func(c map[string]any) string { return orElse(text(c, "spec", "timeZone"), "<none>") }).
		documented(batchv1.CronJobSpec{}, "timeZone"),
	boolean("Suspend", func(c map[string]any) string {
		switch at(c, "spec", "suspend") {
		case true:
			return "True"
		case false:
			return "False"
		}
		return "<unset>"
	}).documented(batchv1.CronJobSpec{}, "suspend"),
	count("Active", batchv1.CronJobStatus{}, "active", func(c map[string]any) int { return len(list(c, "status", "active")) }).typed("integer"),
	{Name: "Last Schedule", Type: "string", Field: batchv1.CronJobStatus{}, FieldName: "lastScheduleTime", Cell: func(obj api.Object, now time.Time) any {
		u, err := plain.Unstructured(obj)
		if err != nil {
			return "<unknown>"
		}
		last, err := time.Parse(time.RFC3339, text(u.Object, "status", "lastScheduleTime"))
		if err != nil {
			return "<none>"
		}
		return duration.HumanDuration(now.Sub(last))
	}},
	ageColumn,
	wideField("Containers", "Names of each container in the template.", func(c map[string]any) string { return containers(template(c), "name") }),
	wideField("Images", "Images referenced by each container in the template.", func(c map[string]any) string { return containers(template(c), "image") }),
	wideField("Selector", "", func(c map[string]any) string { return selectorAt(template(c), "spec", "selector") }).documented(batchv1.JobSpec{}, "selector"),
}

// template returns the template of the Jobs of a CronJob.
func template(c map[string]any) map[string]any {
	job, _ := at(c, "spec", "jobTemplate").(map[string]any)
	return job
}

var ingressColumns = []Column{
	nameColumn,
	field("Class", "The name of the IngressClass resource that should be used for additional configuration",
		func(c map[string]any) string { return orElse(text(c, "spec", "ingressClassName"), "<none>") }),
	field("Hosts", "Hosts that incoming requests are matched against before the ingress rule", ingressHosts),
	field("Address", "Address is a list containing ingress points for the load-balancer", ingressPoints),
	field("Ports", "Ports of TLS configurations that open", func(c map[string]any) string {
		if len(list(c, "spec", "tls")) > 0 {
			return "80, 443"
		}
		return "80"
	}),
	ageColumn,
}

// ingressHosts lists the hosts of the rules, up to three.
func ingressHosts(c map[string]any) string {
	const shown = 3
	var hosts []string
	rules, more := list(c, "spec", "rules"), false
	for _, rule := range rules {
		more = more || len(hosts) == shown
		if host := text(rule, "host"); host != "" && !more {
			hosts = append(hosts, host)
		}
	}
	if more {
		return fmt.Sprintf("%s + %d more...", strings.Join(hosts, ","), len(rules)-shown)
	}
	return orElse(strings.Join(hosts, ","), "*")
}

var networkPolicyColumns = []Column{
	nameColumn,
	field("Pod-Selector", "", func(c map[string]any) string { return selectorAt(c, "spec", "podSelector") }).
		documented(networkingv1.NetworkPolicySpec{}, "podSelector"),
	ageColumn,
}

var autoscalerColumns = []Column{
	nameColumn,
	field("Reference", "", func(c map[string]any) string {
		return text(c, "spec", "scaleTargetRef", "kind") + "/" + text(c, "spec", "scaleTargetRef", "name")
	}).documented(autoscalingv2.HorizontalPodAutoscalerSpec{}, "scaleTargetRef"),
	field("Targets", "", autoscalerTargets).documented(autoscalingv2.HorizontalPodAutoscalerSpec{}, "metrics"),
	field("MinPods", "", func(c map[string]any) string { return orElse(fieldText(c, "spec", "minReplicas"), "<unset>") }).
		documented(autoscalingv2.HorizontalPodAutoscalerSpec{}, "minReplicas"),
	field("MaxPods", "", func(c map[string]any) string { return number(c, "spec", "maxReplicas") }).asInteger().typed("string").
		documented(autoscalingv2.HorizontalPodAutoscalerSpec{}, "maxReplicas"),
	field("Replicas", "", func(c map[string]any) string { return number(c, "status", "currentReplicas") }).asInteger().typed("string").
		documented(autoscalingv2.HorizontalPodAutoscalerStatus{}, "currentReplicas"),
	ageColumn,
}

// autoscalerTargets lists the current and the wanted values of the metrics, up to two.
func autoscalerTargets(c map[string]any) string {
	const shown = 2
	var all []string
	current := list(c, "status", "currentMetrics")
	for i, metric := range list(c, "spec", "metrics") {
		kind := text(metric, "type")
		member := strings.ToLower(kind[:min(1, len(kind))]) + kind[min(1, len(kind)):]
		spec, ok := at(metric, member).(map[string]any)
		if !ok {
			all = append(all, "<unknown type>")
			continue
		}
		var status map[string]any
		if i < len(current) {
			status = current[i]
		}
		isResource := member == "resource" || member == "containerResource"
		now := func(name, unit string) string {
			if value := fieldText(status, member, "current", name); value != "" {
				return value + unit
			}
			return "<unknown>"
		}
		prefix := ""
		if isResource {
			prefix = text(spec, "name") + ": "
		}
		switch average := fieldText(spec, "target", "averageValue"); {
		case average != "" && (isResource || member == "pods"):
			all = append(all, prefix+now("averageValue", "")+"/"+average)
		case average != "":
			all = append(all, now("averageValue", "")+"/"+average+" (avg)")
		case isResource:
			target := "<auto>"
			if wanted := fieldText(spec, "target", "averageUtilization"); wanted != "" {
				target = wanted + "%"
			}
			all = append(all, prefix+now("averageUtilization", "%")+"/"+target)
		default:
			all = append(all, now("value", "")+"/"+fieldText(spec, "target", "value"))
		}
	}
	if len(all) > shown {
		return fmt.Sprintf("%s + %d more...", strings.Join(all[:shown], ", "), len(all)-shown)
	}
	return orElse(strings.Join(all, ", "), "<none>")
}

// bindingColumns are those of a binding to a role.
var bindingColumns = []Column{
	nameColumn, roleColumn, ageColumn,
	wideField("Users", "Users in the binding", func(c map[string]any) string { return subjects(c, "User") }),
	wideField("Groups", "Groups in the binding", func(c map[string]any) string { return subjects(c, "Group") }),
	wideField("ServiceAccounts", "ServiceAccounts in the binding", func(c map[string]any) string { return subjects(c, "ServiceAccount") }),
}

// subjects lists the subjects of a binding that have that kind.
func subjects(c map[string]any, kind string) string {
	var all []string
	for _, s := range list(c, "subjects") {
		switch {
		case text(s, "kind") != kind:
		case kind == "ServiceAccount":
			all = append(all, text(s, "namespace")+"/"+text(s, "name"))
		default:
			all = append(all, text(s, "name"))
		}
	}
	return strings.Join(all, ", ")
}

func boolean(name string, cell func(content map[string]any) string) Column {
	return field(name, "", cell).typed("boolean")
}

// list returns the elements of a list that are objects.
func list(content map[string]any, path ...string) []map[string]any {
	items, _ := at(content, path...).([]any)
	var all []map[string]any
	for _, item := range items {
		if fields, ok := item.(map[string]any); ok {
			all = append(all, fields)
		}
	}
	return all
}

// selectorAt formats the label selector at a path.
func selectorAt(content map[string]any, path ...string) string {
	fields, ok := at(content, path...).(map[string]any)
	if !ok {
		return "<none>"
	}
	var selector metav1.LabelSelector
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &selector); err != nil {
		return "<none>"
	}
	return metav1.FormatLabelSelector(&selector)
}
