package predict

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/objname"
)

// parseSet reads set image OBJECT CONTAINER=IMAGE...; * is every container.
func parseSet(namespace string, args []string) (func(*run) error, error) {
	if len(args) == 0 || args[0] != "image" {
		return nil, errors.New("want set image")
	}
	args = args[1:]
	if len(args) > 1 && !strings.Contains(args[0], "/") {
		args = append([]string{args[0] + "/" + args[1]}, args[2:]...)
	}
	if len(args) < 2 {
		return nil, errors.New("want an object, and CONTAINER=IMAGE")
	}
	ref, err := objname.ParseIn(namespace, args[0])
	if err != nil {
		return nil, err
	}
	images := map[string]string{}
	for _, arg := range args[1:] {
		container, image, found := strings.Cut(arg, "=")
		if !found || container == "" || image == "" {
			return nil, fmt.Errorf("%q is not CONTAINER=IMAGE", arg)
		}
		images[container] = image
	}
	return func(r *run) error {
		obj, err := r.Cluster.Objects(ref.Kind).Get(ref.Key)
		if err != nil {
			return err
		}
		data, err := json.Marshal(obj)
		if err != nil {
			return err
		}
		var workload struct {
			Spec struct{ Template corev1.PodTemplateSpec }
		}
		if err := json.Unmarshal(data, &workload); err != nil {
			return err
		}
		containers, found := workload.Spec.Template.Spec.Containers, map[string]bool{}
		for i := range containers {
			c := &containers[i]
			for _, key := range []string{"*", c.Name} {
				if image, ok := images[key]; ok {
					c.Image, found[key] = image, true
				}
			}
		}
		for _, arg := range args[1:] {
			if container, _, _ := strings.Cut(arg, "="); !found[container] {
				return fmt.Errorf("unable to find container named %q", container)
			}
		}
		patch, err := json.Marshal(map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"containers": containers}}}})
		if err != nil {
			return err
		}
		r.touched = append(r.touched, ref)
		return r.Patch(obj, string(patch))
	}, nil
}
