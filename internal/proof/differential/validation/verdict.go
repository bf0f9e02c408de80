package validation

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/yaml"

	"github.com/volsim/volsim/api"
)

// Verdict is what becomes of an object.
type Verdict struct {
	// Faults is the sorted set of fields that are wrong, each with the type of its error. If the object is refused for another reason, that
	// is the only one, with the message of an admission plugin.
	Faults []string
	// Object is the object as it would be stored, as lines of YAML; nil if it is refused, or gone.
	Object []string
}

// verdict is the verdict of an error, or of an object without one.
func verdict(obj api.Object, err error) (Verdict, error) {
	if err != nil {
		return Verdict{Faults: faultsOf(err)}, nil
	}
	if obj == nil {
		return Verdict{}, nil
	}
	obj, err = fromEtcd(obj)
	if err != nil {
		return Verdict{}, err
	}
	obj.SetResourceVersion("")
	data, err := yaml.Marshal(obj)
	if err != nil {
		return Verdict{}, fmt.Errorf("%s: %w", api.RefTo(obj), err)
	}
	return Verdict{Object: strings.Split(strings.TrimSpace(string(data)), "\n")}, nil
}

// fromEtcd is the object as it is read back from etcd, which keeps neither its TypeMeta nor the difference between an empty list and none.
func fromEtcd(obj api.Object) (api.Object, error) {
	message, ok := obj.(interface{ Marshal() ([]byte, error) })
	if !ok {
		return nil, fmt.Errorf("a %T has no encoding for etcd", obj)
	}
	data, err := message.Marshal()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", api.RefTo(obj), err)
	}
	back, ok := reflect.New(reflect.TypeOf(obj).Elem()).Interface().(interface {
		api.Object
		Unmarshal([]byte) error
	})
	if !ok {
		return nil, fmt.Errorf("a %T has no decoding from etcd", obj)
	}
	if err := back.Unmarshal(data); err != nil {
		return nil, fmt.Errorf("%s: %w", api.RefTo(obj), err)
	}
	return back, nil
}

func faultsOf(err error) []string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return []string{err.Error()}
	}
	s := status.Status()
	if apierrors.IsForbidden(err) {
		return []string{s.Message}
	}
	if !apierrors.IsInvalid(err) || s.Details == nil {
		return []string{string(s.Reason)}
	}
	var faults []string
	for _, cause := range s.Details.Causes {
		faults = append(faults, cause.Field+" "+string(cause.Type))
	}
	slices.Sort(faults)
	return slices.Compact(faults)
}
