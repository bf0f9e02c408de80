package evidence

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
)

// MissingFile is a Secret or a ConfigMap that does not exist, or a key that one lacks, of which a volume (MNT-316) or the environment of a container
// (MNT-378) is made.
type MissingFile struct {
	Kind      api.Kind
	Name, Key string
	// Volume is the name of the volume in the pod, "" for an environment. A volume whose object lacks a key has no Name: the message does not say it.
	Volume string
}

// fileErrors are how the errors begin of a Secret or a ConfigMap that is absent, or lacks a key: the kubelet's watches of these objects and
// MakePayload of their plugins write them.
var fileErrors = []struct {
	kind          api.Kind
	absent, lacks string
}{
	{objects.SecretKind, `secret "`, "references non-existent secret key: "},
	{objects.ConfigMapKind, `configmap "`, "configmap references non-existent config key: "},
}

// MissingFilesOf reads the message of a FailedMount Event: all that is missing for one volume (MNT-317).
func MissingFilesOf(message string) (all []MissingFile) {
	step, causes, ok := strings.Cut(message, " : ")
	if !ok {
		return nil
	}
	_, volume, _ := strings.Cut(step, ` for volume "`)
	volume = strings.TrimSuffix(volume, `"`)
	for cause := range strings.SplitSeq(strings.Trim(causes, "[]"), ", ") {
		for _, f := range fileErrors {
			if name, ok := absentIn(cause, f.absent); ok {
				all = append(all, MissingFile{Kind: f.kind, Name: name, Volume: volume})
			} else if key, ok := strings.CutPrefix(cause, f.lacks); ok {
				all = append(all, MissingFile{Kind: f.kind, Key: key, Volume: volume})
			}
		}
	}
	return all
}

// absentIn returns the name of the object that an error says is absent.
func absentIn(message, begin string) (name string, ok bool) {
	rest, ok := strings.CutPrefix(message, begin)
	if !ok {
		return "", false
	}
	name, ok = strings.CutSuffix(rest, `" not found`)
	if !ok {
		return "", false
	}
	return name, true
}

// MissingVariableOf reads the message of a container that cannot be created.
func MissingVariableOf(message string) (missing MissingFile, ok bool) {
	for _, f := range fileErrors {
		missing.Kind = f.kind
		if missing.Name, ok = absentIn(message, f.absent); ok {
			return missing, true
		}
	}
	rest, ok := strings.CutPrefix(message, "couldn't find key ")
	if !ok {
		return missing, false
	}
	key, object, _ := strings.Cut(rest, " in ")
	kind, name, _ := strings.Cut(object, " ")
	_, name, ok = strings.Cut(name, "/")
	return MissingFile{Kind: api.Kind(kind), Name: name, Key: key}, ok
}

// WaitsForFile returns the container of a pod that cannot be created because a Secret, a ConfigMap or a key is missing (MNT-378); ok is false if
// there is none.
func WaitsForFile(pod *corev1.Pod) (container *corev1.ContainerStatus, missing MissingFile, ok bool) {
	if container = Waiting(pod); container == nil {
		return nil, missing, false
	}
	missing, ok = MissingVariableOf(container.State.Waiting.Message)
	return container, missing, ok
}
