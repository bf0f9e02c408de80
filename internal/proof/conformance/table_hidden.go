package conformance

import (
	"strconv"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/store"
)

// countWrites counts writes from now on.
func (p *tableRun) countWrites() (stop func(), err error) {
	p.writes = map[api.Ref]int{}
	s := p.trial.Store()
	note := func(obj api.Object) { p.writes[api.RefTo(obj)]++ }
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

// intrude stores the hidden state when an operation begins: the first one at which the controller has written each object as often as the
// versions in that state say.
func (p *tableRun) intrude(string) {
	hidden := p.tableCase.StateBeforeOperation
	if hidden == nil || p.intruded || !p.written(hidden) {
		return
	}
	p.intruded = true
	s := p.trial.Store()
	var objs []api.Object
	objs = appendObjects(objs, hidden.Nodes)
	objs = appendObjects(objs, hidden.APIVolumes)
	objs = appendObjects(objs, hidden.APIClaims)
	listed := map[api.Ref]bool{}
	for _, obj := range objs {
		listed[api.RefTo(obj)] = true
		if err := loadChanged(s, obj); err != nil {
			p.wrong = append(p.wrong, err.Error())
		}
	}
	for _, obj := range append(s.List(api.PersistentVolume), s.List(api.PersistentVolumeClaim)...) {
		if listed[api.RefTo(obj)] {
			continue
		}
		if err := removeNow(s, obj); err != nil {
			p.wrong = append(p.wrong, err.Error())
		}
	}
	p.trial.Forget()
	var cached []api.Object
	cached = appendObjects(cached, hidden.CachedVolumes)
	p.trial.Remember(appendObjects(cached, hidden.CachedClaims)...)
}

// written reports whether the stored objects have the versions of the hidden state. Versions start at 1, and each write adds one.
func (p *tableRun) written(hidden *hiddenState) bool {
	var objs []api.Object
	objs = appendObjects(objs, hidden.APIVolumes)
	for _, obj := range appendObjects(objs, hidden.APIClaims) {
		_, err := p.trial.Store().Get(api.KindOf(obj), api.KeyOf(obj))
		if err == nil && obj.GetResourceVersion() != strconv.Itoa(1+p.writes[api.RefTo(obj)]) {
			return false
		}
	}
	return true
}

// loadChanged stores an object unless it is stored already: then its version must stay.
func loadChanged(s *store.Store, obj api.Object) error {
	stored, err := s.Get(api.KindOf(obj), api.KeyOf(obj))
	if err == nil && diffObjects(obj, stored) == "" {
		return nil
	}
	_, err = s.Load(obj)
	return err
}

// removeNow deletes an object regardless of its finalizers.
func removeNow(s *store.Store, obj api.Object) error {
	if len(obj.GetFinalizers()) > 0 {
		free := obj.DeepCopyObject().(api.Object)
		free.SetFinalizers(nil)
		if _, err := s.Load(free); err != nil {
			return err
		}
	}
	_, err := s.Delete(api.KindOf(obj), api.KeyOf(obj), api.DeleteOptions{})
	return err
}
