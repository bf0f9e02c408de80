//go:build !js

package script

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/controllers/workload"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/tools/kubectl"
)

// describeRevision prints the template of a ReplicaSet or ControllerRevision.
func (r *runner) describeRevision(revision api.Object) error {
	var template *corev1.PodTemplateSpec
	if set, err := plain.As[*appsv1.ReplicaSet](revision); err == nil && api.KindOf(revision) == "ReplicaSet.apps" {
		template = set.Spec.Template.DeepCopy()
		if cause := set.Annotations[changeCause]; cause != "" {
			if template.Annotations == nil {
				template.Annotations = map[string]string{}
			}
			template.Annotations[changeCause] = cause
		}
	} else {
		earlier, err := plain.As[*appsv1.ControllerRevision](revision)
		if err != nil {
			return err
		}
		if template, err = workload.TemplateOf(earlier); err != nil {
			return err
		}
	}
	kubectl.PodTemplate(&r.printed, template)
	return nil
}
