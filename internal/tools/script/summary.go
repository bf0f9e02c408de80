package script

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/tools/kubectl"
)

func readSummary(_ *Script, args []string) (step, error) {
	if len(args) > 0 {
		return nil, usageOf("summary", "want no arguments")
	}
	return (*runner).summarize, nil
}

// summaryKinds are the kinds whose objects a summary prints, in this order.
var summaryKinds = []api.Kind{
	api.PersistentVolume, api.PersistentVolumeClaim, api.StorageClass,
	"StatefulSet.apps", "Deployment.apps", "DaemonSet.apps", "Job.batch",
	api.Pod, api.Node, api.VolumeAttachment,
}

func (r *runner) summarize() error {
	var objs []api.Object
	for _, kind := range summaryKinds {
		objs = append(objs, r.list(kind)...)
	}
	if err := kubectl.Print(&r.printed, r.cluster.Now(), summaryKinds, objs, kubectl.Options{Namespaces: true}); err != nil {
		return err
	}
	warnings := slices.DeleteFunc(r.cluster.Events(), func(e *corev1.Event) bool { return e.Type != corev1.EventTypeWarning })
	if len(warnings) > 0 {
		r.printf("\n")
		if err := kubectl.Print(&r.printed, r.cluster.Now(), []api.Kind{api.Event}, asObjects(kubectl.InTime(warnings)),
			kubectl.Options{Namespaces: true}); err != nil {
			return err
		}
	}
	for _, obj := range objs {
		if !waits(obj) {
			continue
		}
		text, err := r.explanation(api.RefTo(obj))
		if err != nil {
			return err
		}
		r.printf("\n%s\n", strings.TrimSuffix(text, "\n"))
	}
	return nil
}

// waits reports whether a claim or pod is not bound, not running or terminating.
func waits(obj api.Object) bool {
	switch obj := obj.(type) {
	case *corev1.PersistentVolumeClaim:
		return obj.Status.Phase != corev1.ClaimBound || obj.DeletionTimestamp != nil
	case *corev1.Pod:
		return obj.Status.Phase == corev1.PodPending || obj.DeletionTimestamp != nil
	}
	return false
}
