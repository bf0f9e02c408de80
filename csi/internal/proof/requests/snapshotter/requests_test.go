package snapshotter

import (
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/volsim/volsim/csi/internal/proof/requests"
)

// TestRequests compares the requests of the csi-snapshotter in a snapshot's life with those of the real one.
func TestRequests(t *testing.T) {
	klog.SetLogger(logr.Discard())
	t.Setenv("KUBE_FEATURE_WatchListClient", "false") // the fake client of the snapshotter has no bookmarks
	for _, tt := range requests.SnapshotCases {
		t.Run(tt.Name, func(t *testing.T) {
			ours, objects := requests.SimulateSnapshot(t, &tt)
			r := &real{t: t, driver: requests.NewDriver(t, &requests.Case{}), objects: objects}
			methods := []string{"CreateSnapshot", "DeleteSnapshot"}
			r.take()
			if tt.Imported {
				r.list()
				methods = append(methods, "ListSnapshots")
			}
			r.remove()
			requests.Compare(t, r.driver, ours, "", methods...)
		})
	}
}
