package resources

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/plain"
)

// FieldLabel checks the name of a field in a selector of a kind that Kubernetes serves, and returns the one under which its value is found.
func (r *Resource) FieldLabel(label, value string) (string, string, error) {
	if label == "metadata.name" || label == "metadata.namespace" && (r.Namespaced || r.Selectable == nil) {
		return label, value, nil
	}
	if r.Selectable == nil {
		return "", "", fmt.Errorf("%q is not a known field selector: only %q, %q", label, "metadata.name", "metadata.namespace")
	}
	// Old clients use another name of the field.
	if r.Kind == api.Pod && label == "spec.host" {
		label = "spec.nodeName"
	}
	if _, ok := r.Selectable(r.Empty())[label]; !ok && r.Kind == "Job.batch" {
		return "", "", fmt.Errorf("field label %q not supported for Job", label)
	} else if !ok {
		return "", "", fmt.Errorf("field label not supported: %s", label)
	}
	return label, value, nil
}

// FieldsOf returns the values of the fields that a selector of any object of the resource may name.
func (r *Resource) FieldsOf(obj api.Object) fields.Set {
	set := fields.Set{}
	if r.Selectable != nil {
		set = r.Selectable(obj)
	}
	set["metadata.name"] = obj.GetName()
	if r.Namespaced {
		set["metadata.namespace"] = obj.GetNamespace()
	}
	return set
}

// contentFields returns the function that selects fields of objects that are plain data.
func contentFields(paths ...string) func(api.Object) fields.Set {
	return func(obj api.Object) fields.Set {
		set := fields.Set{}
		for _, path := range paths {
			text, _, _ := unstructured.NestedString(obj.(*plain.Object).Content(), strings.Split(path, ".")...)
			set[path] = text
		}
		return set
	}
}

// numberField is a selectable field with the number in the status that has another name (API-444).
func numberField(path, name string) func(api.Object) fields.Set {
	return func(obj api.Object) fields.Set {
		n, _, _ := unstructured.NestedInt64(obj.(*plain.Object).Content(), "status", name)
		return fields.Set{path: fmt.Sprint(n)}
	}
}

func podFields(obj api.Object) fields.Set {
	pod := obj.(*corev1.Pod)
	ip := ""
	if len(pod.Status.PodIPs) > 0 {
		ip = pod.Status.PodIPs[0].IP
	}
	return fields.Set{
		"spec.nodeName":            pod.Spec.NodeName,
		"spec.restartPolicy":       string(pod.Spec.RestartPolicy),
		"spec.schedulerName":       pod.Spec.SchedulerName,
		"spec.serviceAccountName":  pod.Spec.ServiceAccountName,
		"spec.hostNetwork":         fmt.Sprint(pod.Spec.HostNetwork),
		"status.phase":             string(pod.Status.Phase),
		"status.podIP":             ip,
		"status.podIPs":            "", // the server accepts the name and compares with nothing
		"status.nominatedNodeName": pod.Status.NominatedNodeName,
	}
}

func eventFields(obj api.Object) fields.Set {
	e := obj.(*corev1.Event)
	source := e.Source.Component
	if source == "" {
		source = e.ReportingController
	}
	return fields.Set{
		"involvedObject.kind":            e.InvolvedObject.Kind,
		"involvedObject.namespace":       e.InvolvedObject.Namespace,
		"involvedObject.name":            e.InvolvedObject.Name,
		"involvedObject.uid":             string(e.InvolvedObject.UID),
		"involvedObject.apiVersion":      e.InvolvedObject.APIVersion,
		"involvedObject.resourceVersion": e.InvolvedObject.ResourceVersion,
		"involvedObject.fieldPath":       e.InvolvedObject.FieldPath,
		"reason":                         e.Reason,
		"reportingComponent":             e.ReportingController,
		"source":                         source,
		"type":                           e.Type,
	}
}
