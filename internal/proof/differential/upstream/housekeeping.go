package upstream

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/internal/core/kubeletdefs"
	"github.com/volsim/volsim/internal/proof/differential/harness"
)

// keepHouse periodically ends containers of deleted pods, and removes what pods left behind (MNT-480).
func (k *kubelet) keepHouse(ctx context.Context, ready func() bool) {
	for sleepUntil(ctx, kubeletdefs.Housekeeping) == nil {
		if !ready() {
			continue
		}
		k.statuses.RemoveOrphanedStatuses(harness.Discard, k.pods.uids())
		for _, pod := range k.Containers() {
			if !k.pods.knows(pod) {
				k.removeContainers(pod)
			}
		}
		entries, err := os.ReadDir(k.podsDir())
		if err != nil {
			continue
		}
		for _, entry := range entries {
			if pod := types.UID(entry.Name()); !k.pods.knows(pod) && k.orphaned(pod) {
				_ = os.RemoveAll(k.podDir(pod))
			}
		}
	}
}

// orphaned reports whether the directory of an unknown pod may be removed: nothing is mounted there, and no file belongs to a volume.
func (k *kubelet) orphaned(pod types.UID) bool {
	// Containers that have exited do not keep it.
	if k.runs(pod) || k.mountsBelow(k.podDir(pod)) {
		return false
	}
	empty := true
	err := filepath.WalkDir(filepath.Join(k.podDir(pod), "volumes"), func(_ string, entry fs.DirEntry, err error) error {
		empty = empty && (err != nil || entry.IsDir())
		return err
	})
	return (err == nil || errors.Is(err, fs.ErrNotExist)) && empty
}
