package apiserver

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/apiserver/resources"
)

// podLog answers a request for the log of a container. It is empty as long as the pod has no node; then there would be one, but no containers
// run.
func (s *Server) podLog(r *request) ([]byte, int, error) {
	if errs, err := validateLogParameters(r.query); err != nil {
		return nil, 0, apierrors.NewBadRequest(err.Error())
	} else if len(errs) > 0 {
		return nil, 0, apierrors.NewInvalid(resources.CoreGroup.WithKind("PodLogOptions").GroupKind(), r.name, errs)
	}
	obj, err := s.store.Get(api.Pod, r.key())
	if err != nil {
		return nil, 0, err
	}
	pod := obj.(*corev1.Pod)
	if err := checkContainer(pod, r.query.Get("container")); err != nil {
		return nil, 0, err
	}
	if pod.Spec.NodeName == "" {
		return nil, http.StatusNoContent, nil
	}
	return nil, 0, errRefused(r, obj, resources.NoContainers)
}

// validateLogParameters validates the parameters of a request for a log. The error is that of a parameter that is no number.
func validateLogParameters(query url.Values) (errs fieldErrors, err error) {
	for _, p := range []struct {
		name  string
		least int64
		fault string
	}{
		{"tailLines", 0, "must be greater than or equal to 0"}, {"limitBytes", 1, "must be greater than 0"}, {"sinceSeconds", 1, "must be greater than 0"},
	} {
		values := query[p.name]
		if len(values) == 0 {
			continue
		}
		if p.name == "sinceSeconds" && query.Has("sinceTime") {
			errs = append(errs, field.Forbidden(field.NewPath(""), "at most one of `sinceTime` or `sinceSeconds` may be specified"))
			continue
		}
		var n int64
		if err := runtime.Convert_Slice_string_To_int64(&values, &n, nil); err != nil {
			return nil, err
		}
		if n < p.least {
			errs = append(errs, field.Invalid(field.NewPath(p.name), n, p.fault))
		}
	}
	return errs, nil
}

// checkContainer requires the name of a container of the pod. It may be omitted if there is one container.
func checkContainer(pod *corev1.Pod, name string) error {
	var names []string
	for _, c := range pod.Spec.InitContainers {
		names = append(names, c.Name)
	}
	for _, c := range pod.Spec.Containers {
		names = append(names, c.Name)
	}
	for _, c := range pod.Spec.EphemeralContainers {
		names = append(names, c.Name)
	}
	switch {
	case name == "" && len(pod.Spec.Containers) > 1:
		return apierrors.NewBadRequest(fmt.Sprintf("a container name must be specified for pod %s, choose one of: %s", pod.Name, names))
	case name != "" && !slices.Contains(names, name):
		return apierrors.NewBadRequest(fmt.Sprintf("container %s is not valid for pod %s", name, pod.Name))
	}
	return nil
}
