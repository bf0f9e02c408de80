package script

import (
	"errors"
	"maps"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/internal/core/store"
)

// readCreateJob reads create job NAME --from=cronjob/NAME, and create job NAME --image=IMAGE [-- COMMAND...].
func readCreateJob(s *Script, args []string) (step, error) {
	a, err := readArguments(args, namespaceOption, option{long: "from", value: true}, option{long: "image", value: true})
	if err != nil {
		return nil, err
	}
	if len(a.rest) == 0 || len(a.rest) > 1 && a.has("from") {
		return nil, usageOf("create", "want one name of the job")
	}
	if a.has("from") == a.has("image") {
		return nil, usageOf("create", "want one of --from=cronjob/NAME and --image=IMAGE")
	}
	meta := metav1.ObjectMeta{Namespace: a.get("namespace", s.inNamespace()), Name: a.rest[0]}
	if a.has("image") {
		return func(r *runner) error {
			job := &batchv1.Job{ObjectMeta: meta}
			job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
			job.Spec.Template.Spec.Containers = []corev1.Container{{Name: meta.Name, Image: a.get("image", ""), Command: a.rest[1:]}}
			return r.create(job, store.CreateOptions{})
		}, nil
	}
	refs, err := s.refsOf([]string{a.get("from", "")}, meta.Namespace)
	if err != nil {
		return nil, err
	}
	if refs[0].Kind != "CronJob.batch" {
		return nil, errors.New("from must be an existing cronjob")
	}
	return func(r *runner) error {
		source, err := volsim.Get[*batchv1.CronJob](r.cluster, refs[0].Key)
		if err != nil {
			return err
		}
		return r.create(jobFrom(source, meta), store.CreateOptions{})
	}, nil
}

// jobFrom returns the Job that a CronJob would create, as kubectl does.
func jobFrom(source *batchv1.CronJob, meta metav1.ObjectMeta) *batchv1.Job {
	template := source.Spec.JobTemplate.DeepCopy()
	job := &batchv1.Job{ObjectMeta: meta, Spec: template.Spec}
	job.Labels = template.Labels
	job.Annotations = map[string]string{"cronjob.kubernetes.io/instantiate": "manual"}
	maps.Copy(job.Annotations, template.Annotations)
	job.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "CronJob", Name: source.Name, UID: source.UID, Controller: new(true)}}
	return job
}
