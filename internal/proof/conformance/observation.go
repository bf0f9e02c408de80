package conformance

import (
	"slices"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Observation holds the observed state after a step.
type Observation struct {
	Step int `json:"step"`
	// Error is the reason if the API server refused the step.
	Error   string        `json:"error"`
	Objects []ObjectState `json:"objects"`
	// Events is a sorted set of kind, namespace/name, type, reason.
	Events [][]string `json:"events"`
	// Writes are the controllers' writes in order. Nil means not recorded, which is not the same as none.
	Writes []string `json:"writes"`
	// ObjectWrites are the writes per object. Nil means not recorded.
	ObjectWrites map[string][]string `json:"objectWrites"`
}

// ObjectState is the observed state of a volume or claim. Empty fields were not set.
type ObjectState struct {
	Kind        string            `json:"kind"`
	Namespace   string            `json:"namespace"`
	Name        string            `json:"name"`
	UID         string            `json:"uid"`
	Phase       string            `json:"phase"`
	HasMessage  bool              `json:"hasMessage"`
	HasReason   bool              `json:"hasReason"`
	ClaimRef    *ClaimRef         `json:"claimRef"`
	VolumeName  string            `json:"volumeName"`
	Annotations map[string]string `json:"annotations"`
	Finalizers  []string          `json:"finalizers"`
	Deleting    bool              `json:"deleting"`
	Capacity    Quantity          `json:"capacity"`
	Request     Quantity          `json:"request"`
	AccessModes []string          `json:"accessModes"`
	// StorageClassName nil is unset, which is not "".
	StorageClassName          *string `json:"storageClassName"`
	ReclaimPolicy             string  `json:"reclaimPolicy"`
	VolumeMode                string  `json:"volumeMode"`
	VolumeAttributesClassName string  `json:"volumeAttributesClassName"`
}

// ClaimRef is a volume's reference to its claim.
type ClaimRef struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
}

// Quantity is an amount of storage, compared by value; "" is none.
type Quantity string

// Equal reports whether both are the same amount.
func (q Quantity) Equal(other Quantity) bool {
	a, errA := resource.ParseQuantity(string(q))
	b, errB := resource.ParseQuantity(string(other))
	if errA != nil || errB != nil {
		return q == other
	}
	return a.Cmp(b) == 0
}

// Compare returns the differences between observed and recorded, step by step; nil if there is none. Writes are compared as far as they
// were recorded, everything else always.
func Compare(want, got []Observation) []string {
	var diffs []string
	for i := range max(len(want), len(got)) {
		switch {
		case i >= len(want):
			diffs = append(diffs, cmp.Diff(nil, any(got[i])))
		case i >= len(got):
			diffs = append(diffs, cmp.Diff(any(want[i]), nil))
		default:
			if diff := cmp.Diff(want[i], got[i].as(want[i]), cmpopts.EquateEmpty()); diff != "" {
				diffs = append(diffs, diff)
			}
		}
	}
	return diffs
}

// as returns the writes of o in the form of the other observation.
func (o Observation) as(recorded Observation) Observation {
	all := o.Writes
	if recorded.Writes == nil {
		o.Writes = nil
	}
	o.ObjectWrites = nil
	if recorded.ObjectWrites != nil {
		o.ObjectWrites = map[string][]string{}
		for _, w := range all {
			object, what := splitWrite(w)
			o.ObjectWrites[object] = append(o.ObjectWrites[object], what)
		}
	}
	return o
}

// WithoutWrites returns the observations without recorded writes, which Compare then ignores.
func WithoutWrites(recorded []Observation) []Observation {
	states := slices.Clone(recorded)
	for i := range states {
		states[i].Writes, states[i].ObjectWrites = nil, nil
	}
	return states
}

// isOutcome reports whether the observation equals the recorded one.
func isOutcome(outcome Outcome, got []Observation) bool {
	return len(Compare(outcome.Observations, got)) == 0
}

// Check returns the differences between observed and recorded. The observation of a racy scenario must be one of its outcomes.
func (s Scenario) Check(got []Observation) []string {
	if !s.Racy {
		return Compare(s.Observations, got)
	}
	if slices.ContainsFunc(s.Outcomes, func(o Outcome) bool { return isOutcome(o, got) }) {
		return nil
	}
	var diffs []string
	for _, o := range s.Outcomes {
		diffs = append(diffs, Compare(o.Observations, got)...)
	}
	return append(diffs, "none of the recorded outcomes")
}
