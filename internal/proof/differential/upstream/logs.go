package upstream

import "github.com/volsim/volsim/internal/core/actors"

// loggerNames are the names of loggers in kube-controller-manager.
var loggerNames = map[string]string{
	actors.PersistentVolume: "persistentvolume-binder-controller",
	actors.PVProtection:     "persistentvolume-protection-controller",
	actors.PVCProtection:    "persistentvolumeclaim-protection-controller",
	actors.AttachDetach:     "persistentvolume-attach-detach-controller",
	actors.Expander:         "persistentvolume-expander-controller",
	actors.Ephemeral:        "ephemeral-volume-controller",
}
