package upstream

import (
	"context"
	"fmt"
	"math/rand"
	"sync/atomic"
	"time"
	_ "unsafe" // for go:linkname

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/volume/attachdetach"
	"k8s.io/kubernetes/pkg/volume/csi"

	"github.com/volsim/volsim/internal/core/actors"
)

// startAttachDetach runs the attach/detach controller with the CSI plugin and the settings of kube-controller-manager.
func (c *Cluster) startAttachDetach(ctx context.Context, client kubernetes.Interface, shared informers.SharedInformerFactory) error {
	logged := klog.NewContext(ctx, c.EventLogger(actors.AttachDetach))
	adc, err := attachdetach.NewAttachDetachController(logged, client,
		shared.Core().V1().Pods(), shared.Core().V1().Nodes(), shared.Core().V1().PersistentVolumeClaims(),
		shared.Core().V1().PersistentVolumes(),
		shared.Storage().V1().CSINodes(), shared.Storage().V1().CSIDrivers(), shared.Storage().V1().VolumeAttachments(),
		csi.ProbeVolumePlugins(), nil, false, time.Minute, false, attachdetach.DefaultTimerConfig)
	if err != nil {
		return fmt.Errorf("attach/detach controller: %w", err)
	}
	if c.Sequencer != nil {
		sortReported(adc)
	}
	if c.cfg.Sorted {
		sortPasses(adc)
	}
	c.Running.Go(func() { adc.Run(logged) })
	return nil
}

// jitterRand chooses the random part of a wait: of those for a VolumeAttachment, and of all others that are stretched at random.
//
//go:linkname jitterRand k8s.io/apimachinery/pkg/util/wait.jitterRand
var jitterRand func() float64

// middling says that random parts are half of the longest, as on our side (ATT-145). A sequencer follows our order, which says nothing about
// them.
var middling atomic.Bool

func init() {
	const half = 0.5
	jitterRand = func() float64 {
		if middling.Load() {
			return half
		}
		return rand.Float64()
	}
}
