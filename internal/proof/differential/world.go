package differential

import (
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
)

// World is where a scenario is played. What it is told to do it does at once; time passes only in Advance.
type World interface {
	// Create, Update, Patch and Delete are what a user asks the API server.
	Create(api.Object) (api.Object, error)
	Update(api.Object) error
	Patch(ref api.Ref, sub api.Subresource, patch string) error
	Delete(ref api.Ref, force bool) error
	// Storage is the backend of that name, nil for none.
	Storage(name string) *Backend
	// Fail has API requests of controllers fail.
	Fail(Rule) error
	// Machine has a machine or its kubelet stop or start. It is an error if there is no such machine.
	Machine(node string, what MachineOp) error
	Advance(time.Duration) error
	// Observe tells what there is, and what happened since it was asked last.
	Observe() (Observation, error)
}

// Play plays a scenario, and returns what was seen at the steps that settle. An error says that it cannot be played.
func Play(w World, s Scenario) ([]Observation, error) {
	p := player{World: w, claims: map[string]types.UID{}}
	if err := w.Advance(s.Lead); err != nil {
		return nil, err
	}
	if _, err := w.Observe(); err != nil {
		return nil, err
	}
	var seen []Observation
	var refused []string
	for i, step := range s.Steps {
		if err := p.do(step); err != nil {
			refused = append(refused, fmt.Sprintf("step %d: %s", i, reasonOf(err)))
		}
		wait := step.Wait
		if step.Settle {
			wait += SettleTime
		}
		// The next step may follow before anybody has noticed this one.
		if wait > 0 {
			if err := w.Advance(wait); err != nil {
				return seen, err
			}
		}
		if !step.Settle {
			continue
		}
		o, err := w.Observe()
		if err != nil {
			return seen, err
		}
		o.Step, o.Refused = i, refused
		refused = nil
		seen = append(seen, o)
	}
	return seen, nil
}

// reasonOf is what the API server says, without who asked.
func reasonOf(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return string(status.Status().Reason) + ": " + status.Status().Message
	}
	return err.Error()
}
