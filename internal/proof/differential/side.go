package differential

import (
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
)

// Side is a cluster that runs scenarios. All methods take effect immediately; time passes only in Advance.
type Side interface {
	// Create, Update, Patch and Delete are requests of the user.
	Create(api.Object) (api.Object, error)
	Update(api.Object) error
	Patch(ref api.Ref, sub api.Subresource, patch string) error
	Delete(ref api.Ref, opts api.DeleteOptions) error
	// Storage returns the backend of that name, nil for none.
	Storage(name string) *Backend
	// Fail adds a rule for failing requests of controllers.
	Fail(Rule) error
	// Machine stops or starts a node or its kubelet. It fails if there is no such node.
	Machine(node string, what MachineOp) error
	// Objects returns the objects of a kind in the order of their keys.
	Objects(kind api.Kind) []api.Object
	// Bind gives a pod a node.
	Bind(pod, node string) error
	// Evict evicts a pod.
	Evict(pod string) error
	// Restart lets a controller of Scenario.Controllers crash and start again.
	Restart(actor string) error
	Advance(time.Duration) error
	// Observe returns the state, and what happened since the last call.
	Observe() (Observation, error)
}

// Run runs a scenario, and returns the observations of the steps that settle. An error means that the scenario cannot run.
func Run(w Side, s Scenario) ([]Observation, error) {
	p := runner{Side: w, claims: map[string]types.UID{}}
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
		// The next step may follow before any controller has noticed this one.
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

// reasonOf returns the API server's message without the name of the client.
func reasonOf(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return string(status.Status().Reason) + ": " + status.Status().Message
	}
	return err.Error()
}
