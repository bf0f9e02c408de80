package conformance

import (
	"fmt"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/binder"
	"github.com/volsim/volsim/internal/core/match"
	"github.com/volsim/volsim/internal/core/objects"
)

// MatchCase is one line of a table of volume matching.
type MatchCase struct {
	// Kind is findBestMatch, volumeModeMismatch, accessModesMatch or volumeSatisfiesClaim.
	Kind  string                        `json:"kind"`
	Group string                        `json:"group"`
	Name  string                        `json:"name"`
	Claim *corev1.PersistentVolumeClaim `json:"claim"`
	// Volume is the volume of the other kinds, Volumes those that are searched.
	Volume       *corev1.PersistentVolume   `json:"volume"`
	Volumes      []*corev1.PersistentVolume `json:"volumes"`
	DelayBinding bool                       `json:"delayBinding"`
	// Match is the name of the matching volume, nil for none.
	Match *string `json:"match"`
	// Result is the answer of the other kinds.
	Result *bool `json:"result"`
}

// Run makes the call of the case, and returns the differences from the expected result; nil if there is none. An error means that the case
// cannot run.
func (c MatchCase) Run() ([]string, error) {
	if c.Kind == "findBestMatch" {
		return c.runMatch()
	}
	if c.Claim == nil || c.Volume == nil || c.Result == nil {
		return nil, fmt.Errorf("%s needs a claim, a volume and a result", c.Kind)
	}
	var got bool
	switch c.Kind {
	case "volumeSatisfiesClaim":
		got, _ = binder.Satisfies(c.Claim, c.Volume)
	case "accessModesMatch":
		got = matches(c.Claim, c.Volume)
	case "volumeModeMismatch":
		got = !matches(c.Claim, c.Volume)
	default:
		return nil, fmt.Errorf("there is no kind %q", c.Kind)
	}
	if got != *c.Result {
		return []string{fmt.Sprintf("got %v, want %v", got, *c.Result)}, nil
	}
	return nil, nil
}

// matches reports whether the claim would find the volume if the volume were Available, large enough, and of the claim's class, and if a
// volume without access modes had those of the claim.
func matches(claim *corev1.PersistentVolumeClaim, volume *corev1.PersistentVolume) bool {
	fitting := volume.DeepCopy()
	fitting.Name = "fitting"
	fitting.Status.Phase = corev1.VolumeAvailable
	fitting.Spec.Capacity = claim.Spec.Resources.Requests
	fitting.Spec.StorageClassName = objects.ClassOf(claim)
	if len(fitting.Spec.AccessModes) == 0 {
		fitting.Spec.AccessModes = claim.Spec.AccessModes
	}
	return binder.Match(claim, []*corev1.PersistentVolume{fitting}, binder.Options{}).Volume != nil
}

// runMatch uses both Match and the index.
func (c MatchCase) runMatch() ([]string, error) {
	if c.Claim == nil {
		return nil, fmt.Errorf("%s needs a claim", c.Kind)
	}
	decision := binder.Match(c.Claim, c.Volumes, binder.Options{Delayed: c.DelayBinding})
	if decision.Err != nil {
		return nil, decision.Err
	}
	index := match.NewIndex()
	for _, pv := range c.Volumes {
		index.PutVolume(pv)
	}
	indexed, _, err := index.Match(c.Claim, c.DelayBinding)
	if err != nil {
		return nil, err
	}
	var diffs []string
	for _, pv := range []*corev1.PersistentVolume{decision.Volume, indexed} {
		var got *string
		if pv != nil {
			got = &pv.Name
		}
		if diff := cmp.Diff(c.Match, got); diff != "" {
			diffs = append(diffs, diff)
		}
	}
	return diffs, nil
}
