package binder

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/klog"
	"github.com/volsim/volsim/internal/core/objects"
)

// loggerName is the name that kube-controller-manager gives the loggers of this controller.
const loggerName = "persistentvolume-binder-controller"

// The values of storageClassName in lines about the own cache are, as upstream, the kind of the object.
const (
	aVolume = "volume"
	aClaim  = "claim"
)

func pvc(claim *corev1.PersistentVolumeClaim) klog.Attr { return klog.Object("PVC", claim) }

func volumeName(pv *corev1.PersistentVolume) klog.Attr { return klog.String("volumeName", pv.Name) }

// claimOfRef is the claim that the claimRef of a volume names.
func claimOfRef(pv *corev1.PersistentVolume) klog.Attr { return klog.Value("PVC", reference{pv}) }

// Each of these types holds one pointer, so that an attribute of it needs no memory.
type (
	reference      struct{ *corev1.PersistentVolume }
	statusOfVolume struct{ *corev1.PersistentVolume }
	statusOfClaim  struct{ *corev1.PersistentVolumeClaim }
)

func (r reference) String() string {
	if ref := r.Spec.ClaimRef; ref != nil {
		return api.Key(ref.Namespace, ref.Name)
	}
	return ""
}

func (s statusOfVolume) String() string {
	claim := ""
	if ref := s.Spec.ClaimRef; ref != nil {
		claim = fmt.Sprintf("%s/%s (uid: %s)", ref.Namespace, ref.Name, ref.UID)
	}
	_, byController := s.Annotations[objects.AnnBoundByController]
	return fmt.Sprintf("phase: %s, bound to: %q, boundByController: %v", s.Status.Phase, claim, byController)
}

func (s statusOfClaim) String() string {
	_, completed := s.Annotations[objects.AnnBindCompleted]
	_, byController := s.Annotations[objects.AnnBoundByController]
	return fmt.Sprintf("phase: %s, bound to: %q, bindCompleted: %v, boundByController: %v",
		s.Status.Phase, s.Spec.VolumeName, completed, byController)
}

// failure is an attribute with the error as upstream logs it; see cause.
func failure(err error) klog.Attr { return klog.Err(cause(err)) }

// cause is the error of the API server, without what our functions add to it; another error stays as it is.
func cause(err error) error {
	var status *apierrors.StatusError
	if errors.As(err, &status) {
		return status
	}
	return err
}

// logClaimFailure logs a failed sync of a claim.
func (c *controller) logClaimFailure(claim *corev1.PersistentVolumeClaim, err error) {
	switch {
	case err == nil:
	case apierrors.IsConflict(err):
		c.base.Info(3, "Could not sync claim", pvc(claim), failure(err))
	default:
		c.base.Error(cause(err), "Could not sync claim", pvc(claim))
	}
}

// logVolumeFailure logs a failed sync of a volume.
func (c *controller) logVolumeFailure(pv *corev1.PersistentVolume, err error) {
	switch {
	case err == nil:
	case apierrors.IsConflict(err):
		c.base.Info(3, "Could not sync volume", volumeName(pv), failure(err))
	default:
		c.base.Error(cause(err), "Could not sync volume", volumeName(pv))
	}
}
