package evidence

import (
	"strings"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
)

// MissingFile is a Secret or a ConfigMap that does not exist, or a key that one lacks (MNT-316). With a key, Name is empty: the message does not
// say it.
type MissingFile struct {
	Kind      api.Kind
	Name, Key string
	// Volume is the name of the volume in the pod.
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

// MissingFileOf reads the message of a FailedMount Event. Of several things that are missing it returns the first (MNT-317).
func MissingFileOf(message string) (missing MissingFile, ok bool) {
	step, causes, ok := strings.Cut(message, " : ")
	if !ok {
		return missing, false
	}
	_, volume, _ := strings.Cut(step, ` for volume "`)
	missing.Volume = strings.TrimSuffix(volume, `"`)
	for cause := range strings.SplitSeq(strings.Trim(causes, "[]"), ", ") {
		for _, f := range fileErrors {
			missing.Kind = f.kind
			if rest, found := strings.CutPrefix(cause, f.absent); found {
				if missing.Name, ok = strings.CutSuffix(rest, `" not found`); ok {
					return missing, true
				}
			}
			if missing.Key, ok = strings.CutPrefix(cause, f.lacks); ok {
				return missing, true
			}
		}
	}
	return missing, false
}
