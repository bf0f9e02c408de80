package binder

import (
	"maps"
	"slices"

	"github.com/volsim/volsim/internal/core/objects"
)

// Most claims and volumes have no annotations of their own. Those that a bind adds are one shared map, which, like all stored data, is
// never changed.
var (
	boundKeys     = []string{objects.AnnBoundByController}
	completedKeys = []string{objects.AnnBoundByController, objects.AnnBindCompleted}
	onlyBound     = map[string]string{objects.AnnBoundByController: objects.AnnYes}
	onlyCompleted = map[string]string{objects.AnnBoundByController: objects.AnnYes, objects.AnnBindCompleted: objects.AnnYes}
)

// withAnnotations returns a copy of the map with the keys set, or the map itself if it has them.
func withAnnotations(annotations map[string]string, keys ...string) map[string]string {
	missing := 0
	for _, key := range keys {
		if _, ok := annotations[key]; !ok {
			missing++
		}
	}
	switch {
	case missing == 0:
		return annotations
	case len(annotations) > 0:
	case slices.Equal(keys, boundKeys):
		return onlyBound
	case slices.Equal(keys, completedKeys):
		return onlyCompleted
	}
	next := make(map[string]string, len(annotations)+missing)
	maps.Copy(next, annotations)
	for _, key := range keys {
		if _, ok := next[key]; !ok {
			next[key] = objects.AnnYes
		}
	}
	return next
}

// sharedAnnotations are those of claims that one external provisioner provisions for, which most often have no others. They share the maps,
// which, like all stored data, are never changed, and the text of an Event. All are of the provisioner that was named last.
type sharedAnnotations struct {
	provisioner string
	named       map[string]string // the two that name it
	bound       map[string]string // these and those that a bind adds
	text        string            // of the Event about a claim that waits for it
}

// naming returns the annotations of a claim with those that name its provisioner.
func (s *sharedAnnotations) naming(annotations map[string]string, provisioner string) map[string]string {
	if len(annotations) == 0 && s.named != nil && s.provisioner == provisioner {
		return s.named
	}
	named := make(map[string]string, len(annotations)+2)
	maps.Copy(named, annotations)
	named[objects.AnnStorageProvisioner] = provisioner
	named[objects.AnnBetaStorageProvisioner] = provisioner
	if len(annotations) == 0 {
		*s = sharedAnnotations{provisioner, named, withAnnotations(named, completedKeys...), waitingText(provisioner)}
	}
	return named
}

// waiting returns the text of the Event about a claim that waits for a volume of the provisioner (PROV-032).
func (s *sharedAnnotations) waiting(provisioner string) string {
	if s.named != nil && s.provisioner == provisioner {
		return s.text
	}
	return waitingText(provisioner)
}

func waitingText(provisioner string) string {
	return "Waiting for a volume to be created either by the external provisioner '" + provisioner + "' or manually by the system " +
		"administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered."
}

// completed returns the annotations of a claim with those that a bind adds.
func (s *sharedAnnotations) completed(annotations map[string]string) map[string]string {
	if s.named != nil && maps.Equal(annotations, s.named) {
		return s.bound
	}
	return withAnnotations(annotations, completedKeys...)
}
