package resources

import (
	"sync"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/volsim/volsim/api"
	apiregistrationv1 "github.com/volsim/volsim/internal/apiserver/apiregistration/v1"
	"github.com/volsim/volsim/internal/core/scheme"
)

// Scheme returns the scheme of the kinds that the server serves.
var Scheme = sync.OnceValue(func() *runtime.Scheme {
	s := scheme.New()
	if err := apiregistrationv1.AddToScheme(s); err != nil {
		panic(err) // its group has no other types
	}
	return s
})

// NewObject returns an empty object of a kind of the scheme.
func NewObject(gvk schema.GroupVersionKind) api.Object {
	obj, err := Scheme().New(gvk)
	if err != nil {
		panic(err) // the caller asked the scheme before
	}
	return obj.(api.Object)
}

// DefinitionScheme has the Go types of definitions, to decode them from protobuf (API-441). In other formats they are decoded as they are sent.
var DefinitionScheme = sync.OnceValue(func() *runtime.Scheme {
	s := runtime.NewScheme()
	if err := apiextensions.AddToScheme(s); err != nil {
		panic(err) // types of a library
	}
	return s
})
