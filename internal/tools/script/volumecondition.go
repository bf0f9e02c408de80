package script

import (
	"errors"
	"fmt"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/intree"
)

var volumeConditionCommand = &command{
	name: "volume-condition", group: breaking, usage: []string{"pvc/NAME|pv/NAME MESSAGE|none [NODE...]"},
	help: "Sets what the CSI driver of a volume says is wrong with it: everywhere, or only when the kubelets of these nodes ask. The volume still works. " +
		"Kubelets ask with `config feature-gates=CSIVolumeHealth=true`, and emit Events about pods. A sidecar asks with `config health-monitors=DRIVER`, " +
		"and emits Events about claims.",
	examples: []string{`volume-condition pvc/data "the disk is worn out"`, "volume-condition pvc/data none"},
	read:     readVolumeCondition,
}

func readVolumeCondition(s *Script, args []string) (step, error) {
	if len(args) < 2 {
		return nil, usageOf("volume-condition", "missing volume or message")
	}
	ref, err := s.refOf(args[0], "")
	if err != nil {
		return nil, err
	}
	if ref.Kind != api.PersistentVolumeClaim && ref.Kind != api.PersistentVolume {
		return nil, fmt.Errorf("%s is no volume: want pvc/NAME or pv/NAME", args[0])
	}
	message, nodes := args[1], args[2:]
	switch message {
	case "":
		return nil, errors.New("empty message; want none for a healthy volume")
	case "none":
		message = ""
	}
	if len(nodes) == 0 {
		nodes = []string{""}
	}
	return func(r *runner) error {
		b, handle, err := r.volumeOf(ref)
		if err != nil {
			return err
		}
		for _, node := range nodes {
			if err := b.SetCondition(handle, node, message); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// volumeOf returns the driver and the handle of a PersistentVolume, or of the one that a claim is bound to.
func (r *runner) volumeOf(ref api.Ref) (scriptBackend, string, error) {
	name := ref.Key
	if ref.Kind == api.PersistentVolumeClaim {
		claim, err := r.cluster.Claims.Get(ref.Key)
		if err != nil {
			return nil, "", err
		}
		if name = claim.Spec.VolumeName; name == "" {
			return nil, "", fmt.Errorf("claim %s has no volume yet", ref.Key)
		}
	}
	stored, err := r.cluster.Volumes.Get(name)
	if err != nil {
		return nil, "", err
	}
	translated, err := intree.Volume(stored)
	if err != nil || translated.Spec.CSI == nil {
		return nil, "", fmt.Errorf("volume %s has no CSI driver, and so no condition", name)
	}
	b, err := r.backendNamed(translated.Spec.CSI.Driver)
	return b, translated.Spec.CSI.VolumeHandle, err
}
