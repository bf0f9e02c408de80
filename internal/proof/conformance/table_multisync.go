package conformance

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/store"
)

// multisyncLimit is the number of syncs after which a case fails.
const multisyncLimit = 200

// multisync makes the call, then syncs changed objects until none is left, then all objects once more, until a full round changes
// nothing.
func (p *tableRun) multisync() error {
	var changed []api.Object
	s := p.trial.Store()
	note := func(obj api.Object) { changed = append(changed, obj) }
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
			for _, obj := range append(s.List(api.PersistentVolumeClaim), s.List(api.PersistentVolume)...) {
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
func watch[T api.Object](table store.Table[T], from uint64, fn func(api.Object)) (stop func(), err error) {
	w, err := table.Watch(store.WatchOptions[T]{From: from}, func(c api.Change[T]) {
		if c.Type != api.Deleted {
			fn(c.Object)
		}
	})
	if err != nil {
		return nil, err
	}
	return w.Stop, nil
}

// resync puts the newest version of an object into the controller's caches, and syncs it. A deleted object is skipped; after a conflict
// the conflicting object is synced next.
func (p *tableRun) resync(obj api.Object) {
	key := api.KeyOf(obj)
	newest, err := p.trial.Store().Get(api.KindOf(obj), key)
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
		p.wrong = append(p.wrong, fmt.Sprintf("the sync of %s failed: %v", api.RefTo(obj), err))
	}
}
