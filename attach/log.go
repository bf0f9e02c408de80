package attach

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/klog"
	"github.com/volsim/volsim/internal/core/objects"
)

// loggerName is the name that kube-controller-manager gives the loggers of this controller.
const loggerName = "persistentvolume-attach-detach-controller"

// loggers are the loggers of the controller's source files.
type loggers struct {
	controller, reconciler, actual, nodes, populator *klog.Logger
	operations                                       *klog.Logger // of package operationexecutor, which has no name
}

func newLoggers(a *engine.Actor) loggers {
	return loggers{
		controller: a.Logger("attach_detach_controller", loggerName),
		reconciler: a.Logger("reconciler", loggerName),
		actual:     a.Logger("actual_state_of_world", loggerName),
		nodes:      a.Logger("node_status_updater", loggerName),
		populator:  a.Logger("desired_state_of_world_populator", loggerName),
		operations: a.Logger("operation_generator", ""),
	}
}

func nodeName(name string) klog.Attr { return klog.String("node", name) }

func volumeName(at pair) klog.Attr { return klog.String("volumeName", at.volume) }

// podNames are pods, as klog.KObjSlice writes them.
func podNames(key string, pods []*corev1.Pod) klog.Attr { return klog.JSON(key, keysOf(pods)) }

func keysOf(pods []*corev1.Pod) (keys []string) {
	for _, pod := range pods {
		keys = append(keys, api.KeyOf(pod))
	}
	return keys
}

// logDetachStarted logs that a detachment began, and why it is forced, if it is.
func (c *controller) logDetachStarted(at pair, facts DetachFacts, verify bool) {
	switch {
	case verify:
		c.log.reconciler.Info(0, "attacherDetacher.DetachVolume started", nodeName(at.node), volumeName(at))
	case facts.Expired:
		c.log.reconciler.Info(0, "attacherDetacher.DetachVolume started: this volume is not safe to detach, but maxWaitForUnmountDuration "+
			"expired, force detaching", klog.Duration("duration", forceDetachAfter), nodeName(at.node), volumeName(at))
	default:
		c.log.reconciler.Info(0, "attacherDetacher.DetachVolume started: node has out-of-service taint, force detaching",
			nodeName(at.node), volumeName(at))
	}
}

// logWaiting logs why a volume is not detached yet.
func (c *controller) logWaiting(at pair, elapsed time.Duration) {
	if elapsed > forceDetachAfter && c.cfg.DisableForceDetach {
		c.log.reconciler.Info(5, "Drain timeout expired for volume but disableForceDetachOnTimeout was set", nodeName(at.node), volumeName(at))
	}
	c.log.reconciler.Info(5, "Cannot detach volume because it is still mounted", nodeName(at.node), volumeName(at))
}

// message is the text of operationexecutor about a volume; from is "from" for attachments and "on" for detachments.
func message(prefix string, spec objects.VolumeSpec, at pair, from string) string {
	name := "nil"
	if spec.Known() {
		name = spec.Name()
	}
	return fmt.Sprintf("%s for volume %q (UniqueName: %q) %s node %q ", prefix, name, at.volume, from, at.node)
}
