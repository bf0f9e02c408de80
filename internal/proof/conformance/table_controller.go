package conformance

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/binder"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/trace"
)

// tableSettleLimit is the virtual time that a running controller may need after an action.
const tableSettleLimit = time.Hour

// runController starts the whole controller on the initial objects, and then carries out the actions.
func (p *tableRun) runController(cfg binder.Config) (*trace.Trace, *store.Store, error) {
	e, err := engine.New(engine.Config{Injector: &p.failing, Trace: &trace.Trace{}, AsGiven: true})
	if err != nil {
		return nil, nil, err
	}
	if p.tableCase.Call != "run" {
		return nil, nil, fmt.Errorf("call %q: there is no such call in mode controller", p.tableCase.Call)
	}
	for _, obj := range p.tableCase.Initial.objects() {
		if _, err := e.Store().Load(obj); err != nil {
			return nil, nil, err
		}
	}
	if _, err := binder.New(e, cfg); err != nil {
		return nil, nil, err
	}
	if err := e.Settle(tableSettleLimit); err != nil {
		return nil, nil, err
	}
	for _, action := range p.tableCase.Actions {
		if err := action.do(e.Store()); err != nil {
			return nil, nil, fmt.Errorf("%s %s: %w", action.Action, action.Name, err)
		}
		if err := e.Settle(tableSettleLimit); err != nil {
			return nil, nil, err
		}
	}
	return e.Trace(), e.Store(), nil
}

// do runs an action: deleteClaim, deleteVolume by name; addClaim, addVolume, modifyClaim, modifyVolume with an object.
func (a tableAction) do(s *store.Store) error {
	kind := api.PersistentVolume
	verb, ok := strings.CutSuffix(a.Action, "Volume")
	if !ok {
		kind = api.PersistentVolumeClaim
		verb, ok = strings.CutSuffix(a.Action, "Claim")
	}
	if !ok || !slices.Contains([]string{"add", "modify", "delete"}, verb) {
		return fmt.Errorf("there is no such action")
	}
	if verb == "delete" {
		for _, obj := range s.List(kind) {
			if obj.GetName() == a.Name {
				return removeNow(s, obj)
			}
		}
		return fmt.Errorf("there is no such object")
	}
	obj, err := newObject(string(kind))
	if err != nil {
		return err
	}
	if err := decodeStrictly(a.Object, obj); err != nil {
		return err
	}
	_, err = s.Load(obj)
	return err
}
