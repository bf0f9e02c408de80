// Package options holds settings of controllers that comparisons, recordings, scripts and tests need. Users do not set them, so the
// public Config structs do not have them. The zero value of each is the behavior of the real component.
package options

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/leases"
)

// Options are those of a cluster. See package internals.
type Options struct {
	// Choose takes the place of volsim.Config.Seed: it returns the index, from 0 to n-1, of the one of n due events that runs next.
	// engine.Replay repeats a recorded run. Nil, the default, leaves it to the seed.
	Choose func(n int) int
	// NoSkipping is engine.Config.NoSkipping.
	NoSkipping bool
	// AssumeFiles is engine.Config.AssumeFiles, for dumps, which often have neither Secrets nor ConfigMaps.
	AssumeFiles func(kind api.Kind, namespace string) bool
	// Continues: the cluster goes on from a dump, whose controllers ran before. The NoExecute taints of
	// nodes that are not ready stay, and tolerations count from the taint.
	Continues bool
	// CountedNames is store.Config.CountedNames.
	CountedNames bool
	// NoControllers is a cluster without controllers and kubelets: a bare API server.
	NoControllers bool
	// Remains is engine.Config.Remains.
	Remains     *engine.Remains
	Attach      Attach
	Attacher    Attacher
	Kubelet     Kubelet
	Provisioner Provisioner
	Resizer     Resizer
}

// Attach is for the attach/detach controller.
type Attach struct {
	// PollStretch lengthens each wait between two reads of a VolumeAttachment by this fraction, from 0 to 1. Kubernetes chooses it at
	// random between 0 and 0.1; zero, the default, is none (ATT-145).
	PollStretch float64
	// CacheWait is the time from the start of the controller to the first check whether its caches are filled. Zero is 100 ms, negative
	// is none (ATT-130).
	CacheWait time.Duration
}

// Attacher is for the external-attacher.
type Attacher struct {
	// Workers is the number of VolumeAttachments, and of PersistentVolumes, that are synced side by side. Zero is 10, negative is no limit.
	Workers int
	// Finalizer is put on PersistentVolumes and VolumeAttachments; "" is objects.AttacherFinalizer of the driver (ATT-004).
	Finalizer string
	// PublishReadOnly: the driver has the capability PUBLISH_READONLY (ATT-180).
	PublishReadOnly bool
	// SingleNodeMultiWriter: the driver has the capability SINGLE_NODE_MULTI_WRITER (ATT-176).
	SingleNodeMultiWriter bool
	// Plain selects a simpler attacher, that of the recordings and the differential tests. It reads neither PersistentVolumes, which get
	// no finalizer, nor CSINodes. It syncs a VolumeAttachment when it is created, when its deletion begins, when its status.attached
	// changes and when a retry is due; the begin of a deletion replaces a pending retry.
	Plain bool
}

// Reclaimer is for the reclaiming half of the PersistentVolume controller.
type Reclaimer struct {
	// Migration returns the CSI driver that took over from an in-tree plugin (PROV-051); nil: no plugin is migrated.
	Migration func(plugin string) (driver string, ok bool)
	// RecyclerNamespace is the namespace of recycler pods (RECL-070); "" is "default".
	RecyclerNamespace string
	// RecyclerScheduler is the schedulerName of recycler pods; "" is the default scheduler. actors.RecyclerPodRunner leaves them to the
	// pod runner.
	RecyclerScheduler string
}

// Provisioner is for the external-provisioner.
type Provisioner struct {
	// Library selects the defaults of sig-storage-lib-external-provisioner, without what the CSI sidecar sets (XPROV-001): 4 workers, retries
	// from 15 s to 1000 s, limited to 10 per second after a burst of 100, given up after 15 failures; no timeout of calls; BlockingSave,
	// NoFinalizer, NoSecretAnnotations and AnySource.
	Library bool
	// Workers is the number of claims, and of volumes, that are synced side by side. Zero is 100, negative is no limit.
	Workers int
	// AdditionalNames are more names that the provisioner answers to, such as that of the in-tree plugin that its driver took over from.
	AdditionalNames []string
	// GiveUpAfter is the number of failures in a row that are retried. Zero is no limit. After that the next event causes one attempt.
	GiveUpAfter int
	// BlockingSave makes the sync of a claim wait until its volume is saved: 5 attempts, 10 s apart, and the asset is deleted if all fail.
	// Without it volumes are saved in the background, with retries until that succeeds (XPROV-040).
	BlockingSave bool
	// NoFinalizer never adds the external finalizer to a volume, and removes it where it is (XPROV-051).
	NoFinalizer bool
	// NoSecretAnnotations omits the annotations that name the secret for the deletion, which only the CSI sidecar writes (XPROV-030).
	NoSecretAnnotations bool
	// AnySource deletes volumes of any source, as provisioners of other storage than CSI do. The CSI sidecar rejects volumes that are
	// neither of CSI nor of an in-tree plugin that a CSI driver took over from (XPROV-053).
	AnySource bool
}

// Kubelet is for the kubelets of all nodes.
type Kubelet struct {
	// EveryReport makes every unchanged status report that is due. Exploration needs that, and no more: whether a report is skipped depends
	// on the API server's objects, which the state of a kubelet does not include.
	EveryReport bool
	// Holds reports whether a kubelet neither starts the containers of a pod nor, if the pod is being deleted, stops them, although it works: a
	// dump shows such pods. Nil: no pod.
	Holds func(pod *corev1.Pod) bool
	// StartDelay returns how long after its start the kubelet of a node begins to work, which shifts its periods. Nil is no delay.
	StartDelay func(node string) time.Duration
	// Recorded makes kubelets like those of the recordings, which do not contain that part of a kubelet: their Nodes are registered before they
	// work, they report soon after that, more than five minutes after an unchanged report, and emit no Events about it.
	Recorded bool
	// StatsPeriod returns how long the kubelet waits after so many checks of the volumes of a pod. Kubernetes chooses it at random between one
	// and two minutes. Nil is one minute (MNT-344).
	StatsPeriod func(pod *corev1.Pod, checks int) time.Duration
	// Leases records when the kubelet renews the lease of its node. Nil: it does not.
	Leases *leases.Book
}

// Resizer is for the external-resizer.
type Resizer struct {
	// Migration returns the CSI driver that took over from an in-tree plugin (PROV-051). Nil means that no plugin is migrated.
	Migration func(plugin string) (driver string, ok bool)
	// Workers is the number of claims that are expanded, and of those that are modified, side by side. Zero is 10, negative is no limit.
	Workers int
	// IgnoreUse retries a claim while a pod uses it, although the driver has rejected the expansion of a volume in use (EXP-025).
	IgnoreUse bool
	// ExtraMetadata adds the names of claim and volume to the parameters of a modification (VAC-010).
	ExtraMetadata bool
}
