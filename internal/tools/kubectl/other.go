package kubectl

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/plain"
)

// field returns a column for objects of a kind that is not simulated.
func field(name, description string, cell func(content map[string]any) string) Column {
	return Column{Name: name, Type: "string", Description: description, Cell: func(obj api.Object, _ time.Time) any {
		u, err := plain.Unstructured(obj)
		if err != nil {
			return "<unknown>"
		}
		return cell(u.Object)
	}}
}

// count returns a column of whole numbers. source is the struct whose field describes the column.
func count(name string, source any, fieldName string, cell func(content map[string]any) int) Column {
	return Column{Name: name, Type: "string", Field: source, FieldName: fieldName, Cell: func(obj api.Object, _ time.Time) any {
		u, err := plain.Unstructured(obj)
		if err != nil {
			return "<unknown>"
		}
		return int64(cell(u.Object))
	}}
}

// replicas returns a column of a number of pods.
func replicas(name, description string, path ...string) Column {
	return field(name, description, func(c map[string]any) string { return number(c, path...) }).asInteger()
}

// otherColumns returns the columns of a kind that is not simulated: those of kubectl for some, else name and age.
func otherColumns(kind api.Kind) []Column {
	columns, ok := otherLayouts[kind]
	if !ok {
		return []Column{nameColumn, ageColumn}
	}
	return columns
}

// roleColumn shows what a binding grants.
var roleColumn = field("Role", "The role that is granted", func(c map[string]any) string {
	return text(c, "roleRef", "kind") + "/" + text(c, "roleRef", "name")
})

// createdColumn is the second column of kinds that have no columns of their own in Kubernetes.
var createdColumn = Column{
	Name: "Created At", Type: "date", Field: metav1.ObjectMeta{}, FieldName: "creationTimestamp",
	Cell: func(obj api.Object, _ time.Time) any { return obj.GetCreationTimestamp().UTC().Format(time.RFC3339) },
}

// flag returns a column of a field that is true or false.
func flag(name, description string, path ...string) Column {
	return Column{Name: name, Type: "boolean", Description: description, Cell: func(obj api.Object, _ time.Time) any {
		u, err := plain.Unstructured(obj)
		if err != nil {
			return "<unknown>"
		}
		set, _ := at(u.Object, path...).(bool)
		return set
	}}
}

// asInteger returns the column with numbers instead of their text.
func (c Column) asInteger() Column {
	cell := c.Cell
	c.Type, c.Cell = "integer", func(obj api.Object, now time.Time) any {
		n, err := strconv.ParseInt(fmt.Sprint(cell(obj, now)), 10, 64)
		if err != nil {
			return cell(obj, now)
		}
		return n
	}
	return c
}

// fieldText returns a field as text, "" if there is none.
func fieldText(content map[string]any, path ...string) string {
	value, found, err := unstructured.NestedFieldNoCopy(content, path...)
	if !found || err != nil {
		return ""
	}
	return fmt.Sprint(value)
}

var otherLayouts = map[api.Kind][]Column{
	"ConfigMap": {
		nameColumn,
		count("Data", corev1.ConfigMap{}, "data", func(c map[string]any) int { return size(c, "data") + size(c, "binaryData") }),
		ageColumn,
	},
	"Secret": {
		nameColumn,
		field("Type", "Type", func(c map[string]any) string { return text(c, "type") }),
		count("Data", corev1.Secret{}, "data", func(c map[string]any) int { return size(c, "data") }),
		ageColumn,
	},
	"Lease.coordination.k8s.io": {
		nameColumn,
		{Name: "Holder", Type: "string", Field: coordinationv1.LeaseSpec{}, FieldName: "holderIdentity", Cell: func(obj api.Object, _ time.Time) any {
			u, err := plain.Unstructured(obj)
			if err != nil {
				return "<unknown>"
			}
			return text(u.Object, "spec", "holderIdentity")
		}},
		ageColumn,
	},
	"Service": {
		nameColumn,
		field("Type", "Type", func(c map[string]any) string { return orElse(text(c, "spec", "type"), "ClusterIP") }),
		field("Cluster-IP", "Address within the cluster", func(c map[string]any) string { return orElse(text(c, "spec", "clusterIP"), "<none>") }),
		field("External-IP", "Addresses outside the cluster", externalAddresses),
		field("Port(s)", "Ports", func(c map[string]any) string { return ports(c) }),
		ageColumn,
		wideField("Selector", "Labels of the pods", func(c map[string]any) string { return entries(c, "spec", "selector") }),
	},
	"PodDisruptionBudget.policy": {
		nameColumn,
		field("Min Available", "The minimum number of pods that must be available.",
			func(c map[string]any) string { return orElse(fieldText(c, "spec", "minAvailable"), "N/A") }),
		field("Max Unavailable", "The maximum number of pods that may be unavailable.",
			func(c map[string]any) string { return orElse(fieldText(c, "spec", "maxUnavailable"), "N/A") }),
		field("Allowed Disruptions", "Calculated number of pods that may be disrupted at this time.",
			func(c map[string]any) string { return number(c, "status", "disruptionsAllowed") }).asInteger(),
		ageColumn,
	},
	"PriorityClass.scheduling.k8s.io": {
		nameColumn,
		field("Value", "Priority of the pods", func(c map[string]any) string { return number(c, "value") }).asInteger(),
		flag("Global-Default", "Class of pods that name none", "globalDefault"),
		ageColumn,
		field("PreemptionPolicy", "Policy of preemption", func(c map[string]any) string { return text(c, "preemptionPolicy") }),
	},
	"RuntimeClass.node.k8s.io": {
		nameColumn,
		field("Handler", "Handler of the runtime", func(c map[string]any) string { return text(c, "handler") }),
		ageColumn,
	},
	"RoleBinding.rbac.authorization.k8s.io":        bindingColumns,
	"ClusterRoleBinding.rbac.authorization.k8s.io": bindingColumns,
	"Role.rbac.authorization.k8s.io":               {nameColumn, createdColumn},
	"ClusterRole.rbac.authorization.k8s.io":        {nameColumn, createdColumn},
	"CronJob.batch":                                cronJobColumns,
	"Ingress.networking.k8s.io":                    ingressColumns,
	"NetworkPolicy.networking.k8s.io":              networkPolicyColumns,
	"HorizontalPodAutoscaler.autoscaling":          autoscalerColumns,
	"Scale.autoscaling": {
		nameColumn,
		of("Desired", autoscalingv1.ScaleSpec{}, "replicas", func(s *autoscalingv1.Scale) any { return int64(s.Spec.Replicas) }).typed("integer"),
		of("Available", autoscalingv1.ScaleStatus{}, "replicas", func(s *autoscalingv1.Scale) any { return int64(s.Status.Replicas) }).typed("integer"),
		ageColumn,
	},
	"StatefulSet.apps": {
		nameColumn,
		field("Ready", "Ready and desired pods", func(c map[string]any) string {
			return number(c, "status", "readyReplicas") + "/" + number(c, "spec", "replicas")
		}),
		ageColumn,
		wideField("Containers", "Names of the containers", func(c map[string]any) string { return containers(c, "name") }),
		wideField("Images", "Images of the containers", func(c map[string]any) string { return containers(c, "image") }),
	},
	"ResourceQuota": {
		nameColumn,
		field("Request", "Usage and limits of requests and objects", func(c map[string]any) string { return usage(c, false) }),
		field("Limit", "Usage and limits of limits", func(c map[string]any) string { return usage(c, true) }),
		ageColumn,
	},
	"LimitRange": {nameColumn, createdColumn},
	"ReplicaSet.apps": {
		nameColumn,
		replicas("Desired", "Desired pods", "spec", "replicas"),
		replicas("Current", "Existing pods", "status", "replicas"),
		replicas("Ready", "Ready pods", "status", "readyReplicas"),
		ageColumn,
		wideField("Containers", "Names of the containers", func(c map[string]any) string { return containers(c, "name") }),
		wideField("Images", "Images of the containers", func(c map[string]any) string { return containers(c, "image") }),
		wideField("Selector", "Labels of the pods", selectorOf),
	},
	"Deployment.apps": {
		nameColumn,
		field("Ready", "Ready and desired pods", func(c map[string]any) string {
			return number(c, "status", "readyReplicas") + "/" + number(c, "spec", "replicas")
		}),
		replicas("Up-to-date", "Pods of the current template", "status", "updatedReplicas").typed("string"),
		replicas("Available", "Available pods", "status", "availableReplicas").typed("string"),
		ageColumn,
		wideField("Containers", "Names of the containers", func(c map[string]any) string { return containers(c, "name") }),
		wideField("Images", "Images of the containers", func(c map[string]any) string { return containers(c, "image") }),
		wideField("Selector", "Labels of the pods", selectorOf),
	},
	"DaemonSet.apps": {
		nameColumn,
		replicas("Desired", "Nodes that should have a pod", "status", "desiredNumberScheduled"),
		replicas("Current", "Nodes that have one", "status", "currentNumberScheduled"),
		replicas("Ready", "Ready pods", "status", "numberReady"),
		replicas("Up-to-date", "Pods of the current template", "status", "updatedNumberScheduled"),
		replicas("Available", "Available pods", "status", "numberAvailable"),
		field("Node Selector", "Node selector of the template", func(c map[string]any) string {
			return entries(c, "spec", "template", "spec", "nodeSelector")
		}),
		ageColumn,
		wideField("Containers", "Names of the containers", func(c map[string]any) string { return containers(c, "name") }),
		wideField("Images", "Images of the containers", func(c map[string]any) string { return containers(c, "image") }),
		wideField("Selector", "Labels of the pods", selectorOf),
	},
	"Job.batch": {
		nameColumn,
		field("Status", "State of the Job", jobStatus),
		field("Completions", "Pods that have succeeded, and those that must", jobCompletions),
		{Name: "Duration", Type: "string", Description: "Time that the Job has run", Cell: jobDuration},
		ageColumn,
		wideField("Containers", "Names of the containers", func(c map[string]any) string { return containers(c, "name") }),
		wideField("Images", "Images of the containers", func(c map[string]any) string { return containers(c, "image") }),
		wideField("Selector", "Labels of the pods", selectorOf),
	},
	"Namespace": {
		nameColumn,
		field("Status", "The status of the namespace", func(c map[string]any) string { return text(c, "status", "phase") }),
		ageColumn,
	},
	"CustomResourceDefinition.apiextensions.k8s.io": {nameColumn, createdColumn},
}

func wideField(name, description string, cell func(content map[string]any) string) Column {
	c := field(name, description, cell)
	c.Wide = true
	return c
}

// at returns the value at a path of fields.
func at(content map[string]any, path ...string) any {
	var v any = content
	for _, name := range path {
		fields, _ := v.(map[string]any)
		v = fields[name]
	}
	return v
}

func text(content map[string]any, path ...string) string {
	s, _ := at(content, path...).(string)
	return s
}

// number returns the number at a path, 0 if there is none.
func number(content map[string]any, path ...string) string {
	if v := at(content, path...); v != nil {
		return fmt.Sprint(v)
	}
	return "0"
}

// containers lists one field of the containers of a pod template.
func containers(content map[string]any, name string) string {
	list, _ := at(content, "spec", "template", "spec", "containers").([]any)
	var all []string
	for _, item := range list {
		container, _ := item.(map[string]any)
		all = append(all, text(container, name))
	}
	return strings.Join(all, ",")
}

// selectorOf formats the label selector of a workload.
func selectorOf(content map[string]any) string { return selectorAt(content, "spec", "selector") }

func size(content map[string]any, path ...string) int {
	fields, _ := at(content, path...).(map[string]any)
	return len(fields)
}

func orElse(text, missing string) string {
	if text == "" {
		return missing
	}
	return text
}

// externalAddresses lists the addresses of a Service outside the cluster.
func externalAddresses(c map[string]any) string {
	external := elements(at(c, "spec", "externalIPs"))
	switch text(c, "spec", "type") {
	case "ExternalName":
		return text(c, "spec", "externalName")
	case "LoadBalancer":
		return orElse(strings.Trim(ingressPoints(c)+","+external, ","), "<pending>")
	}
	return orElse(external, "<none>")
}

// ingressPoints lists the addresses of a load balancer, each once and in order.
func ingressPoints(c map[string]any) string {
	var all []string
	for _, point := range list(c, "status", "loadBalancer", "ingress") {
		if address := cmp.Or(text(point, "ip"), text(point, "hostname")); address != "" {
			all = append(all, address)
		}
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), ",")
}

// elements lists the elements of a list.
func elements(v any) string {
	items, _ := v.([]any)
	all := make([]string, len(items))
	for i, item := range items {
		all[i] = fmt.Sprint(item)
	}
	return strings.Join(all, ",")
}

// ports lists the ports of a Service: 80/TCP, or 80:30080/TCP with a node port.
func ports(content map[string]any) string {
	list, _ := at(content, "spec", "ports").([]any)
	var all []string
	for _, item := range list {
		port, _ := item.(map[string]any)
		s := fmt.Sprint(port["port"])
		if node, _ := port["nodePort"].(int64); node > 0 {
			s += fmt.Sprintf(":%v", node)
		}
		protocol, _ := port["protocol"].(string)
		all = append(all, s+"/"+orElse(protocol, "TCP"))
	}
	return orElse(strings.Join(all, ","), "<none>")
}

// entries lists the entries of a map as KEY=VALUE, in order.
func entries(content map[string]any, path ...string) string {
	fields, _ := at(content, path...).(map[string]any)
	var all []string
	for key, value := range fields {
		all = append(all, fmt.Sprintf("%s=%v", key, value))
	}
	slices.Sort(all)
	return orElse(strings.Join(all, ","), "<none>")
}

// usage lists what is used of the limits in the status of a quota: those of limits, or all others.
func usage(c map[string]any, limits bool) string {
	hard, _ := at(c, "status", "hard").(map[string]any)
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(hard)) {
		if strings.HasPrefix(name, "limits.") == limits {
			parts = append(parts, fmt.Sprintf("%s: %s/%v", name, orElse(text(c, "status", "used", name), "0"), hard[name]))
		}
	}
	return strings.Join(parts, ", ")
}
