//go:build !js

package kubectl

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/volsim/volsim/api"
)

// Kinds with which extensions register at the API server, and those of devices; see networkcolumns.go.
func init() {
	const group = ".admissionregistration.k8s.io"
	webhooks := []Column{nameColumn, length("Webhooks", "Number of webhooks", "webhooks"), ageColumn}
	bindings := []Column{
		nameColumn,
		field("PolicyName", "The policy that is bound", func(c map[string]any) string { return text(c, "spec", "policyName") }),
		field("ParamRef", "The objects that the policy reads", paramRef),
		ageColumn,
	}
	for kind, columns := range map[api.Kind][]Column{
		"MutatingWebhookConfiguration" + group:     webhooks,
		"ValidatingWebhookConfiguration" + group:   webhooks,
		"MutatingAdmissionPolicyBinding" + group:   bindings,
		"ValidatingAdmissionPolicyBinding" + group: bindings,
		"MutatingAdmissionPolicy" + group: {
			nameColumn, length("Mutations", "Number of mutations", "spec", "mutations"), field("ParamKind", "Kind of the objects that the policy reads", paramKind), ageColumn,
		},
		"ValidatingAdmissionPolicy" + group: {
			nameColumn, length("Validations", "Number of validations", "spec", "validations"), field("ParamKind", "Kind of the objects that the policy reads", paramKind), ageColumn,
		},
		"APIService.apiregistration.k8s.io": {
			nameColumn,
			field("Service", "The service that serves the group, or Local", func(c map[string]any) string {
				if at(c, "spec", "service") == nil {
					return "Local"
				}
				return text(c, "spec", "service", "namespace") + "/" + text(c, "spec", "service", "name")
			}),
			field("Available", "Whether the service is available", available),
			ageColumn,
		},
		"ResourceClaim.resource.k8s.io": {nameColumn, field("State", "Whether devices are allocated and reserved", claimState), ageColumn},
		"ResourceSlice.resource.k8s.io": {
			nameColumn,
			field("Node", "Node of the devices", func(c map[string]any) string { return text(c, "spec", "nodeName") }),
			field("Driver", "Driver of the devices", func(c map[string]any) string { return text(c, "spec", "driver") }),
			field("Pool", "Pool of the devices", func(c map[string]any) string { return text(c, "spec", "pool", "name") }),
			ageColumn,
		},
	} {
		otherLayouts[kind] = columns
	}
}

// length returns a column of the length of a list.
func length(name, description string, path ...string) Column {
	return field(name, description, func(c map[string]any) string { return fmt.Sprint(len(list(c, path...))) }).asInteger()
}

func paramKind(c map[string]any) string {
	if at(c, "spec", "paramKind") == nil {
		return "<unset>"
	}
	return text(c, "spec", "paramKind", "apiVersion") + "/" + text(c, "spec", "paramKind", "kind")
}

// paramRef names the object that a binding refers to, or the selector of such objects.
func paramRef(c map[string]any) string {
	if name := text(c, "spec", "paramRef", "name"); name != "" {
		return orElse(text(c, "spec", "paramRef", "namespace"), "*") + "/" + name
	}
	fields, ok := at(c, "spec", "paramRef", "selector").(map[string]any)
	if !ok {
		return "<unset>"
	}
	var selector metav1.LabelSelector
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &selector); err != nil {
		return "<unset>"
	}
	return selector.String()
}

func available(c map[string]any) string {
	for _, condition := range list(c, "status", "conditions") {
		if text(condition, "type") != "Available" {
			continue
		}
		status, reason := text(condition, "status"), text(condition, "reason")
		if status != "True" && reason != "" {
			return status + " (" + reason + ")"
		}
		return status
	}
	return "Unknown"
}

func claimState(c map[string]any) string {
	var states []string
	deleted, allocated := at(c, "metadata", "deletionTimestamp") != nil, at(c, "status", "allocation") != nil
	if deleted {
		states = append(states, "deleted")
	}
	switch {
	case allocated && len(list(c, "status", "reservedFor")) > 0:
		states = append(states, "allocated", "reserved")
	case allocated:
		states = append(states, "allocated")
	case !deleted:
		states = append(states, "pending")
	}
	return strings.Join(states, ",")
}
