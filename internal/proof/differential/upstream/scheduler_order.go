package upstream

import (
	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/core"
	corev1 "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/volsim/volsim/internal/proof/differential/harness"
)

// Among equally good volumes the scheduler takes the first in its list, which an informer builds from a map. The informers of this
// factory list volumes by name: a legal order, and ours (SCHED-086).
type sortedFactory struct {
	informers.SharedInformerFactory
}

func (f sortedFactory) Core() core.Interface { return sortedCore{f.SharedInformerFactory.Core()} }

type sortedCore struct{ core.Interface }

func (c sortedCore) V1() corev1.Interface { return sortedV1{c.Interface.V1()} }

type sortedV1 struct{ corev1.Interface }

func (v sortedV1) PersistentVolumes() corev1.PersistentVolumeInformer {
	return sortedVolumeInformer{v.Interface.PersistentVolumes()}
}

type sortedVolumeInformer struct {
	corev1.PersistentVolumeInformer
}

func (v sortedVolumeInformer) Informer() cache.SharedIndexInformer {
	return sortedInformer{v.PersistentVolumeInformer.Informer()}
}

type sortedInformer struct{ cache.SharedIndexInformer }

func (i sortedInformer) GetIndexer() cache.Indexer {
	return harness.Ordered(i.SharedIndexInformer.GetIndexer())
}
