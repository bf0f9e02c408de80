package mount

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/kubeletstatus"
)

// The pause after the first attempt to register, and the longest one; each is twice the one before (MNT-365).
const (
	firstRegisterPause = 200 * time.Millisecond
	lastRegisterPause  = 7 * time.Second
)

// registerAtOnce is the first attempt of a kubelet whose Node object exists when it starts. [SIM] MNT-365: whoever made the Node stands for the
// kubelet, so the attach/detach controller can deal with pods that come together with it.
func (sr *statusReporter) registerAtOnce(p *engine.Process) {
	_, exists := p.Engine().Store().Nodes.Lookup(sr.k.node.name)
	if exists || sr.k.opts.Recorded {
		sr.last.registered = sr.last.registered || sr.tryRegister(p) == nil
	}
}

// register registers the Node, if that is still to be done. It does not return before it has succeeded, so no status is reported until then
// (MNT-365).
func (sr *statusReporter) register(p *engine.Process) {
	for pause := firstRegisterPause; !sr.last.registered; pause = min(2*pause, lastRegisterPause) {
		if sr.tryRegister(p) == nil {
			sr.last.registered = true
			return
		}
		sr.k.rest(p, pause)
	}
}

// tryRegister creates the Node object, or adds to the existing one what a kubelet is responsible for (MNT-363).
func (sr *statusReporter) tryRegister(p *engine.Process) error {
	_, err := reach(sr.k, func() (*corev1.Node, error) {
		return p.API().Nodes.Add(p, kubeletstatus.NewNode(sr.k.node.name, sr.bootID(), p.Now()))
	})
	// MNT-365: the Node is read only if it cannot be created because it exists, or because that is forbidden.
	if !apierrors.IsAlreadyExists(err) && !apierrors.IsForbidden(err) {
		return err
	}
	node, err := sr.k.getNode(p)
	if err != nil || kubeletstatus.Registered(node) {
		return err
	}
	_, err = reach(sr.k, func() (*corev1.Node, error) {
		return p.API().Nodes.PatchWith(p, sr.k.node.name, func(newest *corev1.Node) error {
			kubeletstatus.Register(newest)
			return nil
		}, api.Status)
	})
	return err
}
