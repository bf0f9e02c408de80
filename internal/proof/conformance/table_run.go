package conformance

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/binder"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/options"
	"github.com/volsim/volsim/internal/core/pvcontroller"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/reclaim"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

// TableOutcome is the outcome of a table case.
type TableOutcome struct {
	// Volumes and Claims in the API server, in the order of their keys.
	Volumes []*corev1.PersistentVolume
	Claims  []*corev1.PersistentVolumeClaim
	// Events are "Type Reason", in order.
	Events []string
	// Wrong lists what must not happen: a failed sync, an unexpected plugin call.
	Wrong []string
}

// Run makes the call of a case. An error means that the case cannot run.
func (c TableCase) Run() (TableOutcome, error) {
	p := &tableRun{tableCase: c, failing: c.ReactorErrors}
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

// tableRun is one run of a case.
type tableRun struct {
	tableCase TableCase
	plugin    *scriptedPlugin
	failing   failingRequests
	trial     *binder.Trial
	writes    map[api.Ref]int // how often the controller has written an object
	intruded  bool
	wrong     []string
}

// annSkipLocalStore marks an object that the API server has and the controller's caches do not.
const annSkipLocalStore = "pv-testing-skip-local-store"

func (p *tableRun) config() (binder.Config, error) {
	var plugins []storage.Backend
	if p.plugin != nil {
		plugins = append(plugins, p.plugin)
	}
	backends, err := backends.NewSet(plugins...)
	if err != nil {
		return binder.Config{}, err
	}
	migration := objects.MigratedDriver
	if driver := p.tableCase.CSIMigration; driver != "" {
		// There is one plugin, and the driver may have any name.
		migration = func(string) (string, bool) { return driver, true }
	}
	return binder.Config{
		Backends:  backends,
		Migration: migration,
		NewReclaimer: func(c pvcontroller.Host) pvcontroller.Reclaimer {
			return reclaim.NewReclaimer(c, backends, options.Reclaimer{Migration: migration})
		},
	}, nil
}

func (p *tableRun) run() (*trace.Trace, *store.Store, error) {
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
func (p *tableRun) call() error {
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
