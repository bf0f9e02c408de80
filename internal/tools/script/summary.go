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
		return nil, usageOf("summary", "it takes nothing")
	}
	return (*player).summarize, nil
}

// summaryKinds are the kinds whose objects a summary shows, in the order in which people ask for them.
var summaryKinds = []api.Kind{
	api.PersistentVolume, api.PersistentVolumeClaim, api.StorageClass, api.Pod, api.Node, api.VolumeAttachment,
}

func (p *player) summarize() error {
	var objs []api.Object
	for _, kind := range summaryKinds {
		objs = append(objs, p.list(kind)...)
	}
	if err := kubectl.Print(&p.printed, p.cluster.Now(), summaryKinds, objs, kubectl.Options{Namespaces: true}); err != nil {
		return err
	}
	warnings := slices.DeleteFunc(p.cluster.Events(), func(e *corev1.Event) bool { return e.Type != corev1.EventTypeWarning })
	if len(warnings) > 0 {
		p.printf("\n")
		if err := kubectl.Print(&p.printed, p.cluster.Now(), []api.Kind{api.Event}, asObjects(warnings), kubectl.Options{Namespaces: true}); err != nil {
			return err
		}
	}
	for _, obj := range objs {
		if !waits(obj) {
			continue
		}
		text, err := p.explanation(api.RefTo(obj))
		if err != nil {
			return err
		}
		p.printf("\n%s\n", strings.TrimSuffix(text, "\n"))
	}
	return nil
}

// waits reports whether an object is not what somebody wanted it to be.
func waits(obj api.Object) bool {
	switch obj := obj.(type) {
	case *corev1.PersistentVolumeClaim:
		return obj.Status.Phase != corev1.ClaimBound || obj.DeletionTimestamp != nil
	case *corev1.Pod:
		return obj.Status.Phase == corev1.PodPending || obj.DeletionTimestamp != nil
	}
	return false
}
