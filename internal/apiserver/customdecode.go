package apiserver

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/volsim/volsim/api"
)

// inOtherVersion returns the error for a body that could not be decoded with err. For a custom object in another version of its kind, the server
// looks for unknown fields first (API-487).
func (s *Server) inOtherVersion(r *request, validation string, err error) error {
	mediaType, mediaErr := mediaTypeOf(r.contentType)
	obj, actual, readErr := s.codec.read(body{r.body, r.contentType, metav1.FieldValidationIgnore}, mediaType, r.resource.GVK())
	if mediaErr != nil || readErr != nil || validation == metav1.FieldValidationIgnore {
		return err
	}
	for _, other := range s.resources.All() {
		if other.Kind != r.resource.Kind || other == r.resource || other.GVK() != *actual {
			continue
		}
		unknown, malformed := s.resources.Definition(other).Conform(obj.(api.Object), false)
		if malformed != nil || len(unknown) == 0 {
			return err
		}
		if validation == metav1.FieldValidationStrict {
			return decodeError(runtime.NewStrictDecodingError(unknown), actual, r.resource.GVK(), r.body)
		}
		r.warnings = append(r.warnings, fieldWarnings(unknown)...)
	}
	return err
}
