package expression

import (
	"reflect"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apicel "k8s.io/apiserver/pkg/cel"
)

// Request has the fields of an AdmissionRequest that expressions can read.
type Request struct {
	Kind               metav1.GroupVersionKind     `json:"kind"`
	Resource           metav1.GroupVersionResource `json:"resource"`
	SubResource        string                      `json:"subResource,omitempty"`
	RequestKind        metav1.GroupVersionKind     `json:"requestKind"`
	RequestResource    metav1.GroupVersionResource `json:"requestResource"`
	RequestSubResource string                      `json:"requestSubResource,omitempty"`
	Name               string                      `json:"name"`
	Namespace          string                      `json:"namespace,omitempty"`
	Operation          string                      `json:"operation"`
	UserInfo           authenticationv1.UserInfo   `json:"userInfo"`
	DryRun             bool                        `json:"dryRun,omitempty"`
	Options            any                         `json:"options,omitempty"`
}

// shownNamespace has the fields of a Namespace that expressions can read.
type shownNamespace struct {
	Metadata namespaceMetadata      `json:"metadata"`
	Spec     corev1.NamespaceSpec   `json:"spec"`
	Status   corev1.NamespaceStatus `json:"status"`
}

// namespaceMetadata is the metadata of such a Namespace. The name of the uid is that of kube-apiserver.
type namespaceMetadata struct {
	Name                       string            `json:"name"`
	GenerateName               string            `json:"generateName"`
	Namespace                  string            `json:"namespace"`
	Labels                     map[string]string `json:"labels"`
	Annotations                map[string]string `json:"annotations"`
	UID                        string            `json:"UID"`
	CreationTimestamp          metav1.Time       `json:"creationTimestamp"`
	DeletionGracePeriodSeconds int64             `json:"deletionGracePeriodSeconds"`
	DeletionTimestamp          metav1.Time       `json:"deletionTimestamp"`
	Generation                 int64             `json:"generation"`
	ResourceVersion            string            `json:"resourceVersion"`
	Finalizers                 []string          `json:"finalizers"`
}

// RequestType returns the type of the variable request.
func RequestType() *apicel.DeclType { return typeOfStruct(reflect.TypeFor[Request]()) }

// NamespaceType returns the type of the variable namespaceObject.
func NamespaceType() *apicel.DeclType { return typeOfStruct(reflect.TypeFor[shownNamespace]()) }

// typeNames are the names in CEL of types whose name in Go is another one.
var typeNames = map[reflect.Type]string{
	reflect.TypeFor[Request](): "AdmissionRequest", reflect.TypeFor[shownNamespace](): "Namespace", reflect.TypeFor[namespaceMetadata](): "NamespaceMetadata",
}

// typeOfStruct returns the type in CEL of a Go type that is encoded in JSON. Names of structs are those of Kubernetes in CEL.
func typeOfStruct(t reflect.Type) *apicel.DeclType {
	switch t.Kind() {
	case reflect.String:
		return apicel.StringType
	case reflect.Bool:
		return apicel.BoolType
	case reflect.Int64:
		return apicel.IntType
	case reflect.Slice:
		return apicel.NewListType(typeOfStruct(t.Elem()), -1)
	case reflect.Map:
		return apicel.NewMapType(typeOfStruct(t.Key()), typeOfStruct(t.Elem()), -1)
	case reflect.Interface:
		return apicel.DynType
	}
	if t == reflect.TypeFor[metav1.Time]() {
		return apicel.TimestampType
	}
	fields := map[string]*apicel.DeclField{}
	for i := range t.NumField() {
		name, options, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		fields[name] = apicel.NewDeclField(name, typeOfStruct(t.Field(i).Type), options == "", nil, nil)
	}
	name := t.Name()
	if other := typeNames[t]; other != "" {
		name = other
	}
	return apicel.NewObjectType("kubernetes."+name, fields)
}
