package evidence

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/storage"
)

// The plugins of kube-controller-manager that recycle, by the names of their backends.
const (
	hostPath = backends.InTreePrefix + "host-path"
	nfs      = backends.InTreePrefix + "nfs"
)

// recyclerOf returns the backend that recycles a volume.
func recyclerOf(pv *corev1.PersistentVolume) string {
	if pv.Spec.NFS != nil {
		return nfs
	}
	return hostPath
}

// Recycles returns the assumption that the recycler pod of a volume succeeds. Nothing in a dump can show that.
func (s *Set) Recycles(pv *corev1.PersistentVolume) Assumption {
	name := recyclerOf(pv)
	about := func(a *Assumption) bool {
		return a.Subject == "driver/"+name && (a.Requested || a.key == "" || a.key == backends.Handle(pv))
	}
	if s != nil {
		for i := range s.all {
			if a := &s.all[i]; about(a) {
				return *a
			}
		}
	}
	return Assumption{Subject: "driver/" + name, Behaviour: Healthy, Object: "pv/" + pv.Name, Operation: storage.Recycle,
		Evidence: fmt.Sprintf("the recycler pod of volume %s has to start and to empty it", pv.Name)}
}
