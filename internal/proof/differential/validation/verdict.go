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

// Verdict is the result of a request.
type Verdict struct {
	// Faults is the sorted set of invalid fields with their error types. A refusal for another reason is the only entry, with the message
	// of an admission plugin.
	Faults []string
	// Object is the object as it would be stored, as lines of YAML; nil if it is refused or removed.
	Object []string
	// Warnings are the warnings about an object that is accepted, sorted.
	Warnings []string
}

// warnings collects warnings.
type warnings []string

func (w *warnings) add(text string) { *w = append(*w, text) }

// AddWarning implements warning.Recorder.
func (w *warnings) AddWarning(_, text string) { w.add(text) }

// verdict returns the verdict of an error, or of an object and warnings without error.
func verdict(obj api.Object, err error, warned warnings) (Verdict, error) {
	if err != nil {
		return Verdict{Faults: faultsOf(err)}, nil
	}
	slices.Sort(warned)
	warned = slices.Compact(warned)
	if obj == nil {
		return Verdict{Warnings: warned}, nil
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
	return Verdict{Object: strings.Split(strings.TrimSpace(string(data)), "\n"), Warnings: warned}, nil
}

// fromEtcd returns the object as it is read back from etcd, which drops TypeMeta and does not distinguish an empty list from none.
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
