package sidecars

import (
	"context"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/klog/v2"

	"github.com/volsim/volsim/csi/internal/proof/requests"
)

// TestRequests compares the requests of the sidecars in a volume's life with those of the real ones.
func TestRequests(t *testing.T) {
	klog.SetLogger(logr.Discard())
	ctx := klog.NewContext(context.Background(), logr.Discard())
	for _, tt := range requests.Cases {
		if tt.Inline {
			continue // no sidecar makes a call for it
		}
		t.Run(tt.Name, func(t *testing.T) {
			ours, objects := requests.Simulate(t, &tt)
			r := &real{t: t, driver: requests.NewDriver(t, &tt), objects: objects}
			methods := []string{"CreateVolume", "ControllerPublishVolume", "ControllerUnpublishVolume", "DeleteVolume"}
			r.provision(ctx)
			r.attach(ctx, false)
			if !tt.Fixed {
				r.expand(ctx, resource.MustParse("2Gi"))
				methods = append(methods, "ControllerExpandVolume")
			}
			if tt.Attributes {
				methods = append(methods, "ControllerModifyVolume")
			}
			r.attach(ctx, true)
			r.remove(ctx)
			requests.Compare(t, r.driver, ours, "", methods...)
		})
	}
}
