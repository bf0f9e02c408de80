package predict

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
)

// threatened returns the volumes whose deletion is only delayed: Released ones, and those whose claim is being deleted.
func (r *run) threatened() []Data {
	snapshot := r.Snapshot()
	claims := map[string]*corev1.PersistentVolumeClaim{}
	for _, claim := range snapshot.Claims {
		claims[api.KeyOf(claim)] = claim
	}
	var losses []Data
	for _, pv := range snapshot.Volumes {
		if pv.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRetain || pv.Spec.ClaimRef == nil {
			continue
		}
		loss := dataOf(pv)
		claim := claims[loss.Claim]
		switch {
		case pv.Status.Phase == corev1.VolumeReleased:
			loss.When = "it is Released; it will be deleted once its deletion succeeds"
		case claim != nil && claim.DeletionTimestamp != nil && claim.Spec.VolumeName == pv.Name:
			loss.When = "its claim is being deleted; the data will be deleted once " + released(claim)
		default:
			continue
		}
		losses = append(losses, loss)
	}
	return losses
}

// released says what has to happen before a claim that is being deleted is gone (PROT-026, BIND-016).
func released(claim *corev1.PersistentVolumeClaim) string {
	if slices.Contains(claim.Finalizers, objects.ClaimProtectionFinalizer) || len(claim.Finalizers) == 0 {
		return "no pod uses the claim"
	}
	return "the claim has no finalizer " + strings.Join(claim.Finalizers, ", ") + " any more"
}

// retained returns the volumes without a claim, or without their object, whose data stays.
func (r *run) retained() []Data {
	var all []Data
	for _, name := range sortedKeys(r.volumes) {
		pv := r.volumes[name]
		data := dataOf(pv)
		now, err := r.Volumes.Get(name)
		if pv.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimRetain {
			if err != nil && !r.deleted[name] {
				data.When = fmt.Sprintf("its object is gone, and nothing deletes the storage: %s stays", location(pv))
				all = append(all, data)
			}
			continue
		}
		switch {
		case err != nil:
			data.When = fmt.Sprintf("the data stays: %s; create a PersistentVolume for it to use it again", location(pv))
		case now.Status.Phase == corev1.VolumeReleased:
			data.When = fmt.Sprintf(`the data stays: %s; kubectl patch pv %s -p '{"spec":{"claimRef":null}}' offers it to other claims`, location(pv), name)
		default:
			continue
		}
		all = append(all, data)
	}
	return all
}

// location returns where the data of a volume is.
func location(pv *corev1.PersistentVolume) string {
	switch source := pv.Spec.PersistentVolumeSource; {
	case source.NFS != nil:
		return fmt.Sprintf("directory %s of NFS server %s", source.NFS.Path, source.NFS.Server)
	case source.HostPath != nil:
		return fmt.Sprintf("directory %s of the node", source.HostPath.Path)
	case source.Local != nil:
		return fmt.Sprintf("%s on the node that the node affinity of the volume names", source.Local.Path)
	}
	return fmt.Sprintf("volume %s in %s", handleOf(pv), backendOf(pv))
}

func dataOf(pv *corev1.PersistentVolume) Data {
	loss := Data{Volume: pv.Name, Handle: handleOf(pv), Backend: backendOf(pv)}
	if ref := pv.Spec.ClaimRef; ref != nil {
		loss.Claim = api.Key(ref.Namespace, ref.Name)
	}
	if size, ok := pv.Spec.Capacity[corev1.ResourceStorage]; ok {
		loss.Size = size.String()
	}
	return loss
}
