package conformance

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/binder"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/reclaim"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

// TableOutcome is how a case of a table went.
type TableOutcome struct {
	// Volumes and Claims are those in the API server, in the order of their keys.
	Volumes []*corev1.PersistentVolume
	Claims  []*corev1.PersistentVolumeClaim
	// Events are "Type Reason", in order.
	Events []string
	// Wrong says what happened that must not have: a sync that failed, a call to the plugin that was not expected.
	Wrong []string
}

// Play makes the call of a case. An error says that it cannot be played.
func (c TableCase) Play() (TableOutcome, error) {
	p := &tablePlay{tableCase: c, failing: c.ReactorErrors}
	if c.Plugin != nil {
		p.plugin = &scriptedPlugin{script: *c.Plugin}
	}
	log, state, err := p.run()
	if err != nil {
		return TableOutcome{}, err
	}
	if p.plugin != nil {
		p.wrong = append(p.wrong, p.plugin.wrong...)
	}
	outcome := TableOutcome{Volumes: state.Volumes.List(), Claims: state.Claims.List(), Wrong: p.wrong}
	for e := range log.Entries() {
		if e.Type == trace.Emitted {
			outcome.Events = append(outcome.Events, e.Verb+" "+e.Reason)
		}
	}
	return outcome, nil
}

// tablePlay is one play of a case.
type tablePlay struct {
	tableCase TableCase
	plugin    *scriptedPlugin
	failing   failingRequests
	trial     *binder.Trial
	writes    map[api.Ref]int // how often the controller has written to an object
	intruded  bool
	wrong     []string
}

// annSkipLocalStore marks an object that the API server holds and the controller's own caches do not.
const annSkipLocalStore = "pv-testing-skip-local-store"

func (p *tablePlay) config() (binder.Config, error) {
	var plugins []storage.Backend
	if p.plugin != nil {
		plugins = append(plugins, p.plugin)
	}
	backends, err := storage.NewSet(plugins...)
	if err != nil {
		return binder.Config{}, err
	}
	migration := binder.MigratedDriver
	if driver := p.tableCase.CSIMigration; driver != "" {
		// There is one plugin only, and the driver goes by any name.
		migration = func(string) (string, bool) { return driver, true }
	}
	return binder.Config{
		Backends:  backends,
		Migration: migration,
		NewReclaimer: func(c *binder.Controller) binder.Reclaimer {
			return reclaim.NewReclaimer(c, backends, reclaim.Config{Migrated: migration})
		},
	}, nil
}

func (p *tablePlay) run() (*trace.Trace, *store.Store, error) {
	cfg, err := p.config()
	if err != nil {
		return nil, nil, err
	}
	if p.tableCase.Mode == "controller" {
		return p.runController(cfg)
	}
	trial := binder.TrialConfig{Config: cfg, Injector: &p.failing, BeforeOperation: p.intrude, AsGiven: true}
	var unknown []api.Object
	known := slices.DeleteFunc(p.tableCase.Initial.objects(), func(obj api.Object) bool {
		_, skip := obj.GetAnnotations()[annSkipLocalStore]
		if skip {
			unknown = append(unknown, obj)
		}
		return skip
	})
	if p.trial, err = binder.NewTrial(trial, known...); err != nil {
		return nil, nil, err
	}
	for _, obj := range unknown {
		if _, err := p.trial.Store().Load(obj); err != nil {
			return nil, nil, err
		}
	}
	stop, err := p.countWrites()
	if err != nil {
		return nil, nil, err
	}
	defer stop()
	switch p.tableCase.Mode {
	case "sync":
		err = p.call()
	case "multisync":
		err = p.multisync()
	default:
		err = fmt.Errorf("there is no mode %q", p.tableCase.Mode)
	}
	if p.tableCase.StateBeforeOperation != nil && !p.intruded {
		p.wrong = append(p.wrong, "the operation did not begin before which the state was to change")
	}
	return p.trial.Trace(), p.trial.Store(), err
}

// call makes the call of the case once.
func (p *tablePlay) call() error {
	c := p.tableCase
	var err error
	switch {
	case c.Call == "syncVolume" && len(c.Initial.Volumes) > 0:
		err = p.trial.SyncVolume(c.Initial.Volumes[0].Name)
	case (c.Call == "syncClaim" || c.Call == "syncClaimError") && len(c.Initial.Claims) > 0:
		err = p.trial.SyncClaim(api.KeyOf(c.Initial.Claims[0]))
	default:
		return fmt.Errorf("call %q: there is no such call, or no object for it", c.Call)
	}
	if fails := c.Call == "syncClaimError"; fails && err == nil {
		p.wrong = append(p.wrong, "the sync succeeded and should have failed")
	} else if !fails && err != nil {
		p.wrong = append(p.wrong, "the sync failed: "+err.Error())
	}
	return nil
}
