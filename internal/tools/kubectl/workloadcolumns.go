//go:build !js

package kubectl

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/volsim/volsim/api"
)

// Workloads that have no bearing on volumes, and what belongs to workloads; see networkcolumns.go.
func init() {
	for kind, columns := range map[api.Kind][]Column{
		"ReplicationController": {
			nameColumn,
			replicas("Desired", "", "spec", "replicas").documented(corev1.ReplicationControllerSpec{}, "replicas"),
			replicas("Current", "", "status", "replicas").documented(corev1.ReplicationControllerStatus{}, "replicas"),
			replicas("Ready", "", "status", "readyReplicas").documented(corev1.ReplicationControllerStatus{}, "readyReplicas"),
			ageColumn,
			wideField("Containers", "Names of each container in the template.", func(c map[string]any) string { return containers(c, "name") }),
			wideField("Images", "Images referenced by each container in the template.", func(c map[string]any) string { return containers(c, "image") }),
			wideField("Selector", "", func(c map[string]any) string { return entries(c, "spec", "selector") }).
				documented(corev1.ReplicationControllerSpec{}, "selector"),
		},
		"ControllerRevision.apps": {
			nameColumn,
			field("Controller", "Controller of the revision", controller),
			replicas("Revision", "Number of the revision", "revision").typed("string"),
			ageColumn,
		},
		"PodTemplate": {
			nameColumn,
			field("Containers", "Names of the containers", func(c map[string]any) string { return containers(templated(c), "name") }),
			field("Images", "Images of the containers", func(c map[string]any) string { return containers(templated(c), "image") }),
			field("Pod Labels", "Labels of the pods", func(c map[string]any) string { return entries(c, "template", "metadata", "labels") }),
		},
	} {
		otherLayouts[kind] = columns
	}
}

// controller names the owner that is the controller of an object.
func controller(c map[string]any) string {
	for _, owner := range list(c, "metadata", "ownerReferences") {
		if at(owner, "controller") == true {
			kind := schema.FromAPIVersionAndKind(text(owner, "apiVersion"), text(owner, "kind")).GroupKind()
			return strings.ToLower(kind.String()) + "/" + text(owner, "name")
		}
	}
	return "<none>"
}

// templated returns a PodTemplate as the content of a workload.
func templated(c map[string]any) map[string]any { return map[string]any{"spec": c} }
