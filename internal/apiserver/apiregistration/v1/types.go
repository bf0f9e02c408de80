// Package v1 has the Go type of APIServices. That of Kubernetes is in a module that volsim does not need otherwise.
package v1

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// AddToScheme adds APIService.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(schema.GroupVersion{Group: "apiregistration.k8s.io", Version: "v1"}, &APIService{})
	return nil
}

// APIService registers a group of the API in one version.
type APIService struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   APIServiceSpec   `json:"spec,omitempty"`
	Status APIServiceStatus `json:"status,omitempty"`
}

// APIServiceSpec says which group it is, and which server serves it.
type APIServiceSpec struct {
	Service               *ServiceReference `json:"service,omitempty"`
	Group                 string            `json:"group,omitempty"`
	Version               string            `json:"version,omitempty"`
	InsecureSkipTLSVerify bool              `json:"insecureSkipTLSVerify,omitempty"`
	CABundle              []byte            `json:"caBundle,omitempty"`
	GroupPriorityMinimum  int32             `json:"groupPriorityMinimum"`
	VersionPriority       int32             `json:"versionPriority"`
}

// ServiceReference names the service of a server.
type ServiceReference struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	Port      *int32 `json:"port,omitempty"`
}

// APIServiceStatus says whether the group is available.
type APIServiceStatus struct {
	Conditions []APIServiceCondition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`
}

// APIServiceCondition is one of the conditions of a status.
type APIServiceCondition struct {
	Type               APIServiceConditionType `json:"type"`
	Status             ConditionStatus         `json:"status"`
	LastTransitionTime metav1.Time             `json:"lastTransitionTime,omitempty"`
	Reason             string                  `json:"reason,omitempty"`
	Message            string                  `json:"message,omitempty"`
}

type (
	// APIServiceConditionType is the type of a condition.
	APIServiceConditionType string
	// ConditionStatus is True, False or Unknown.
	ConditionStatus string
)

// SwaggerDoc says what kubectl explain shows.
func (APIService) SwaggerDoc() map[string]string {
	return map[string]string{
		"":         "APIService registers a group of the API in one version. Its name is the version, a dot and the group.",
		"metadata": "Standard object's metadata.",
		"spec":     "The group, and the server that serves it",
		"status":   "Whether the group is available",
	}
}

// SwaggerDoc says what kubectl explain shows.
func (APIServiceSpec) SwaggerDoc() map[string]string {
	return map[string]string{
		"service":               "The service of the server. Without it kube-apiserver serves the group itself.",
		"group":                 "Name of the group",
		"version":               "Version of the group, for example v1",
		"insecureSkipTLSVerify": "Do not verify the certificate of the server",
		"caBundle":              "Certificates in PEM that verify the one of the server. By default those of the system do.",
		"groupPriorityMinimum":  "Clients prefer groups with a higher number. The highest of the versions of a group counts.",
		"versionPriority":       "Clients prefer versions with a higher number.",
	}
}

// SwaggerDoc says what kubectl explain shows.
func (ServiceReference) SwaggerDoc() map[string]string {
	return map[string]string{
		"namespace": "Namespace of the service",
		"name":      "Name of the service",
		"port":      "Port of the service, by default 443",
	}
}

// SwaggerDoc says what kubectl explain shows.
func (APIServiceStatus) SwaggerDoc() map[string]string {
	return map[string]string{"conditions": "Conditions of the group"}
}

// SwaggerDoc says what kubectl explain shows.
func (APIServiceCondition) SwaggerDoc() map[string]string {
	return map[string]string{
		"type":               "Type of the condition, for example Available",
		"status":             "True, False or Unknown",
		"lastTransitionTime": "When the status changed last",
		"reason":             "Reason of the last change, one word",
		"message":            "Details of the last change",
	}
}

// DeepCopyObject implements runtime.Object.
func (s *APIService) DeepCopyObject() runtime.Object {
	c := *s
	s.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	if s.Spec.Service != nil {
		service := *s.Spec.Service
		if service.Port != nil {
			service.Port = new(*service.Port)
		}
		c.Spec.Service = &service
	}
	c.Spec.CABundle = slices.Clone(s.Spec.CABundle)
	c.Status.Conditions = slices.Clone(s.Status.Conditions)
	for i := range c.Status.Conditions {
		at := &c.Status.Conditions[i].LastTransitionTime
		*at = *at.DeepCopy()
	}
	return &c
}
