package conformance

import (
	"fmt"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/binder"
)

// MatchCase is one line of a table about the search for a volume.
type MatchCase struct {
	// Kind is findBestMatch, volumeModeMismatch, accessModesMatch or volumeSatisfiesClaim.
	Kind  string                        `json:"kind"`
	Group string                        `json:"group"`
	Name  string                        `json:"name"`
	Claim *corev1.PersistentVolumeClaim `json:"claim"`
	// Volume is the one volume that is asked about, Volumes those that are searched.
	Volume       *corev1.PersistentVolume   `json:"volume"`
	Volumes      []*corev1.PersistentVolume `json:"volumes"`
	DelayBinding bool                       `json:"delayBinding"`
	// Match is the name of the volume that is found, nil for none.
	Match *string `json:"match"`
	// Result is the answer of the other kinds.
	Result *bool `json:"result"`
}

// Play asks what the case asks, and tells how the answers differ from what is expected; nil is not at all. An error says that the
// case cannot be played.
func (c MatchCase) Play() ([]string, error) {
	if c.Kind == "findBestMatch" {
		return c.playMatch()
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

// matches asks whether the volume would be found for the claim if it were Available, large enough, and of the claim's class, and
// if access modes were those that the claim asks for where the volume says nothing about them.
func matches(claim *corev1.PersistentVolumeClaim, volume *corev1.PersistentVolume) bool {
	fitting := volume.DeepCopy()
	fitting.Name = "fitting"
	fitting.Status.Phase = corev1.VolumeAvailable
	fitting.Spec.Capacity = claim.Spec.Resources.Requests
	fitting.Spec.StorageClassName = binder.ClassOf(claim)
	if len(fitting.Spec.AccessModes) == 0 {
		fitting.Spec.AccessModes = claim.Spec.AccessModes
	}
	return binder.Match(claim, []*corev1.PersistentVolume{fitting}, binder.Options{}).Volume != nil
}

// playMatch asks both the plain search and the index.
func (c MatchCase) playMatch() ([]string, error) {
	if c.Claim == nil {
		return nil, fmt.Errorf("%s needs a claim", c.Kind)
	}
	decision := binder.Match(c.Claim, c.Volumes, binder.Options{Delayed: c.DelayBinding})
	if decision.Err != nil {
		return nil, decision.Err
	}
	index := binder.NewIndex()
	for _, pv := range c.Volumes {
		index.Put(pv)
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
