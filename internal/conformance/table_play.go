package conformance

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/volsim/volsim/binder"
	"github.com/volsim/volsim/engine"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/reclaim"
	"github.com/volsim/volsim/store"
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
	trace, state, err := p.run()
	if err != nil {
		return TableOutcome{}, err
	}
	if p.plugin != nil {
		p.wrong = append(p.wrong, p.plugin.wrong...)
	}
	outcome := TableOutcome{Volumes: state.Volumes.List(), Claims: state.Claims.List(), Wrong: p.wrong}
	for e := range trace.Entries() {
		if e.Type == engine.Emitted {
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
	writes    map[store.Ref]int // how often the controller has written to an object
	intruded  bool
	wrong     []string
}

// annSkipLocalStore marks an object that the API server holds and the controller's own caches do not.
const annSkipLocalStore = "pv-testing-skip-local-store"

func (p *tablePlay) config() (binder.Config, error) {
	var plugins []fake.Backend
	if p.plugin != nil {
		plugins = append(plugins, p.plugin)
	}
	backends, err := fake.NewSet(plugins...)
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

func (p *tablePlay) run() (*engine.Trace, *store.Store, error) {
	cfg, err := p.config()
	if err != nil {
		return nil, nil, err
	}
	if p.tableCase.Mode == "controller" {
		return p.runController(cfg)
	}
	trial := binder.TrialConfig{Config: cfg, Injector: &p.failing, BeforeOperation: p.intrude, AsGiven: true}
	var unknown []store.Object
	known := slices.DeleteFunc(p.tableCase.Initial.objects(), func(obj store.Object) bool {
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

// countWrites keeps writes from now on.
func (p *tablePlay) countWrites() (stop func(), err error) {
	p.writes = map[store.Ref]int{}
	s := p.trial.Store()
	note := func(obj store.Object) { p.writes[store.RefTo(obj)]++ }
	stopVolumes, err := watch(s.Volumes, s.Version(), note)
	if err != nil {
		return nil, err
	}
	stopClaims, err := watch(s.Claims, s.Version(), note)
	if err != nil {
		return nil, err
	}
	return func() { stopVolumes(); stopClaims() }, nil
}

// call makes the call of the case once.
func (p *tablePlay) call() error {
	c := p.tableCase
	var err error
	switch {
	case c.Call == "syncVolume" && len(c.Initial.Volumes) > 0:
		err = p.trial.SyncVolume(c.Initial.Volumes[0].Name)
	case (c.Call == "syncClaim" || c.Call == "syncClaimError") && len(c.Initial.Claims) > 0:
		err = p.trial.SyncClaim(store.KeyOf(c.Initial.Claims[0]))
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

// multisyncLimit is the number of syncs after which a case without end is given up.
const multisyncLimit = 200

// multisync makes the call, and then syncs whatever changed, and when nothing is left everything once more, until a full round
// changes nothing.
func (p *tablePlay) multisync() error {
	var changed []store.Object
	s := p.trial.Store()
	note := func(obj store.Object) { changed = append(changed, obj) }
	stopVolumes, err := watch(s.Volumes, s.Version(), note)
	if err != nil {
		return err
	}
	defer stopVolumes()
	stopClaims, err := watch(s.Claims, s.Version(), note)
	if err != nil {
		return err
	}
	defer stopClaims()
	if err := p.call(); err != nil {
		return err
	}
	for round, syncs := false, 0; ; {
		if len(changed) == 0 {
			if round {
				return nil
			}
			round = true
			for _, obj := range append(s.List(store.PersistentVolumeClaim), s.List(store.PersistentVolume)...) {
				p.resync(obj)
			}
			continue
		}
		round = false
		next := changed[0]
		changed = changed[1:]
		p.resync(next)
		if syncs++; syncs > multisyncLimit {
			p.wrong = append(p.wrong, fmt.Sprintf("%d syncs, and still something changes", syncs))
			return nil
		}
	}
}

// watch calls fn with each object that changes from now on.
func watch[T store.Object](table *store.Table[T], from uint64, fn func(store.Object)) (stop func(), err error) {
	w, err := table.Watch(store.WatchOptions[T]{From: from}, func(c store.Change[T]) {
		if c.Type != store.Deleted {
			fn(c.Object)
		}
	})
	if err != nil {
		return nil, err
	}
	return w.Stop, nil
}

// resync tells the controller's caches of the newest version of an object, and syncs it. An object that is gone meanwhile is left
// alone, and a conflict makes way for the sync of what it conflicts with.
func (p *tablePlay) resync(obj store.Object) {
	key := store.KeyOf(obj)
	newest, err := p.trial.Store().Get(store.KindOf(obj), key)
	if err != nil {
		return
	}
	p.trial.Remember(newest)
	switch newest.(type) {
	case *corev1.PersistentVolume:
		err = p.trial.SyncVolume(key)
	case *corev1.PersistentVolumeClaim:
		err = p.trial.SyncClaim(key)
	}
	if err != nil && !apierrors.IsConflict(err) {
		p.wrong = append(p.wrong, fmt.Sprintf("the sync of %s failed: %v", store.RefTo(obj), err))
	}
}

// intrude puts the hidden state of the case in place as an operation begins: the first one by which the controller has written to
// every object as often as the versions in that state say.
func (p *tablePlay) intrude(string) {
	hidden := p.tableCase.StateBeforeOperation
	if hidden == nil || p.intruded || !p.written(hidden) {
		return
	}
	p.intruded = true
	s := p.trial.Store()
	var objs []store.Object
	objs = appendObjects(objs, hidden.Nodes)
	objs = appendObjects(objs, hidden.APIVolumes)
	objs = appendObjects(objs, hidden.APIClaims)
	listed := map[store.Ref]bool{}
	for _, obj := range objs {
		listed[store.RefTo(obj)] = true
		if err := loadChanged(s, obj); err != nil {
			p.wrong = append(p.wrong, err.Error())
		}
	}
	for _, obj := range append(s.List(store.PersistentVolume), s.List(store.PersistentVolumeClaim)...) {
		if listed[store.RefTo(obj)] {
			continue
		}
		if err := removeNow(s, obj); err != nil {
			p.wrong = append(p.wrong, err.Error())
		}
	}
	p.trial.Forget()
	var cached []store.Object
	cached = appendObjects(cached, hidden.CachedVolumes)
	p.trial.Remember(appendObjects(cached, hidden.CachedClaims)...)
}

// written reports whether the objects that are there have come to the versions of the hidden state. Every object begins with
// version 1, and each write adds one.
func (p *tablePlay) written(hidden *hiddenState) bool {
	var objs []store.Object
	objs = appendObjects(objs, hidden.APIVolumes)
	for _, obj := range appendObjects(objs, hidden.APIClaims) {
		_, err := p.trial.Store().Get(store.KindOf(obj), store.KeyOf(obj))
		if err == nil && obj.GetResourceVersion() != strconv.Itoa(1+p.writes[store.RefTo(obj)]) {
			return false
		}
	}
	return true
}

// loadChanged stores an object, unless that is how it is stored already: then its version has to stay as well.
func loadChanged(s *store.Store, obj store.Object) error {
	stored, err := s.Get(store.KindOf(obj), store.KeyOf(obj))
	if err == nil && diffObjects(obj, stored) == "" {
		return nil
	}
	_, err = s.Load(obj)
	return err
}

// removeNow deletes an object without regard to its finalizers.
func removeNow(s *store.Store, obj store.Object) error {
	if len(obj.GetFinalizers()) > 0 {
		free := obj.DeepCopyObject().(store.Object)
		free.SetFinalizers(nil)
		if _, err := s.Load(free); err != nil {
			return err
		}
	}
	_, err := s.Delete(store.KindOf(obj), store.KeyOf(obj), store.DeleteOptions{})
	return err
}

// tableSettleLimit is the virtual time that a running controller may need after an action.
const tableSettleLimit = time.Hour

// runController starts the whole controller on the initial objects, and then carries out the actions.
func (p *tablePlay) runController(cfg binder.Config) (*engine.Trace, *store.Store, error) {
	e, err := engine.New(engine.Config{Injector: &p.failing, Trace: &engine.Trace{}, AsGiven: true})
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

// do carries out an action: deleteClaim, deleteVolume by name; addClaim, addVolume, modifyClaim, modifyVolume with an object.
func (a tableAction) do(s *store.Store) error {
	kind := store.PersistentVolume
	verb, ok := strings.CutSuffix(a.Action, "Volume")
	if !ok {
		kind = store.PersistentVolumeClaim
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
