package binder_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/store"
)

// TestServerFacts: BIND-010 to BIND-017, what the controller relies on the API server for. Each row does something and returns what
// came of it, or the first line of the refusal.
func TestServerFacts(t *testing.T) {
	type (
		PV  = corev1.PersistentVolume
		PVC = corev1.PersistentVolumeClaim
	)
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(d time.Duration) *metav1.Time { return &metav1.Time{Time: start.Add(d)} }
	offset := func(pv *PV) string { return pv.Status.LastPhaseTransitionTime.Sub(start).String() }
	volumeStatus := func(s *store.Store, now *time.Time, change func(*PV)) string {
		pv := must(s.Volumes.Create(fake.Volume("pv", "1Gi")))
		*now = start.Add(time.Minute)
		next := pv.DeepCopy()
		change(next)
		pv, err := s.Volumes.UpdateStatus(next)
		if err != nil {
			return refusal(err)
		}
		return string(pv.Status.Phase) + " " + offset(pv)
	}
	claimUpdate := func(s *store.Store, before, change func(*PVC)) string {
		claim := edit(fake.Claim("c", "1Gi", fake.NoClass()), before)
		claim = must(s.Claims.Create(claim))
		if before != nil {
			status := claim.DeepCopy()
			before(status)
			claim = must(s.Claims.UpdateStatus(status))
		}
		next := claim.DeepCopy()
		change(next)
		if _, err := s.Claims.Update(next); err != nil {
			return refusal(err)
		}
		return "ok"
	}
	free := func(*PVC) {}
	isBound := func(c *PVC) { c.Status.Phase = corev1.ClaimBound; c.Status.Capacity = quantities("1Gi") }
	volumeUpdate := func(s *store.Store, change func(*PV)) string {
		pv := must(s.Volumes.Create(fake.Volume("pv", "1Gi"))).DeepCopy()
		change(pv)
		if _, err := s.Volumes.Update(pv); err != nil {
			return refusal(err)
		}
		return "ok"
	}
	tests := []struct {
		rule, name string
		do         func(s *store.Store, now *time.Time) string
		want       string
	}{
		{"BIND-010", "a new volume is Pending since now, whatever its author says", func(s *store.Store, now *time.Time) string {
			*now = start.Add(time.Hour)
			pv := must(s.Volumes.Create(fake.Volume("pv", "1Gi", fake.Phase("Bound"))))
			return string(pv.Status.Phase) + " " + offset(pv)
		}, "Pending 1h0m0s"},
		{"BIND-010", "defaults of a volume", func(s *store.Store, _ *time.Time) string {
			pv := must(s.Volumes.Create(edit(fake.Volume("pv", "1Gi", fake.Policy("")), func(pv *PV) { pv.Spec.VolumeMode = nil })))
			return string(pv.Spec.PersistentVolumeReclaimPolicy) + " " + string(*pv.Spec.VolumeMode)
		}, "Retain Filesystem"},
		{"BIND-011", "a new claim shows Pending at once, and nothing else", func(s *store.Store, _ *time.Time) string {
			claim := must(s.Claims.Create(edit(fake.Claim("c", "1Gi"), func(c *PVC) { isBound(c); c.Spec.VolumeMode = nil })))
			return claimStatus(claim) + " " + string(*claim.Spec.VolumeMode)
		}, "Pending Filesystem"},
		{"BIND-012", "defaults of a class", func(s *store.Store, _ *time.Time) string {
			class := must(s.Classes.Create(&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "gold"}, Provisioner: driver}))
			return string(*class.ReclaimPolicy) + " " + string(*class.VolumeBindingMode)
		}, "Delete Immediate"},
		{"BIND-013", "a main write leaves the status, a status write the spec; both take annotations", func(s *store.Store, _ *time.Time) string {
			pv := must(s.Volumes.Create(fake.Volume("pv", "1Gi"))).DeepCopy()
			pv.Status.Phase, pv.Annotations = corev1.VolumeBound, map[string]string{"main": ""}
			pv = must(s.Volumes.Update(pv)).DeepCopy()
			pv.Status.Phase, pv.Spec.StorageClassName = corev1.VolumeAvailable, "gold"
			pv.Annotations["status"] = ""
			pv = must(s.Volumes.UpdateStatus(pv))
			return strings.Join(append(keys(pv.Annotations), string(pv.Status.Phase), "class:"+pv.Spec.StorageClassName), " ")
		}, "main status Available class:"},
		{"BIND-013", "a main write that sends a phase changes none", func(s *store.Store, _ *time.Time) string {
			pv := must(s.Volumes.Create(fake.Volume("pv", "1Gi"))).DeepCopy()
			pv.Status.Phase = corev1.VolumeBound
			return string(must(s.Volumes.Update(pv)).Status.Phase)
		}, "Pending"},
		{"BIND-014", "volumeName is set once", func(s *store.Store, _ *time.Time) string {
			return claimUpdate(s, free, func(c *PVC) { c.Spec.VolumeName = "pv" })
		}, "ok"},
		{"BIND-014", "and not again", func(s *store.Store, _ *time.Time) string {
			return claimUpdate(s, func(c *PVC) { c.Spec.VolumeName = "pv" }, func(c *PVC) { c.Spec.VolumeName = "other" })
		}, "spec: Forbidden"},
		{"BIND-014", "storageClassName is set once", func(s *store.Store, _ *time.Time) string {
			return claimUpdate(s, free, func(c *PVC) { c.Spec.StorageClassName = new("gold") })
		}, "ok"},
		{"BIND-014", "and not again", func(s *store.Store, _ *time.Time) string {
			return claimUpdate(s, func(c *PVC) { c.Spec.StorageClassName = new("gold") }, func(c *PVC) { c.Spec.StorageClassName = new("lead") })
		}, "spec: Forbidden"},
		{"BIND-014", "an unbound claim keeps its request", func(s *store.Store, _ *time.Time) string {
			return claimUpdate(s, free, func(c *PVC) { c.Spec.Resources.Requests = quantities("2Gi") })
		}, "spec: Forbidden"},
		{"BIND-014", "a bound one may ask for more, as far as the server is concerned", func(s *store.Store, _ *time.Time) string {
			must(s.Classes.Create(fake.Class("gold", driver, fake.Expandable())))
			return claimUpdate(s, func(c *PVC) { isBound(c); c.Spec.StorageClassName = new("gold"); c.Spec.VolumeName = "pv" },
				func(c *PVC) { c.Spec.Resources.Requests = quantities("2Gi") })
		}, "ok"},
		{"BIND-014", "claimRef is anybody's", func(s *store.Store, _ *time.Time) string {
			return volumeUpdate(s, func(pv *PV) { pv.Spec.ClaimRef = fake.Volume("x", "1Gi", fake.ForClaim("c", "uc")).Spec.ClaimRef })
		}, "ok"},
		{"BIND-014", "the source is not", func(s *store.Store, _ *time.Time) string {
			return volumeUpdate(s, func(pv *PV) { pv.Spec.HostPath = &corev1.HostPathVolumeSource{Path: "/else"} })
		}, "spec.persistentvolumesource: Forbidden"},
		{"BIND-014", "nor the volume mode", func(s *store.Store, _ *time.Time) string {
			return volumeUpdate(s, func(pv *PV) { pv.Spec.VolumeMode = new(corev1.PersistentVolumeBlock) })
		}, "volumeMode: Invalid value"},
		{"BIND-015", "a new phase is stamped", func(s *store.Store, now *time.Time) string {
			return volumeStatus(s, now, func(pv *PV) { pv.Status.Phase = corev1.VolumeAvailable })
		}, "Available 1m0s"},
		{"BIND-015", "also without a stamp of the client's", func(s *store.Store, now *time.Time) string {
			return volumeStatus(s, now, func(pv *PV) { pv.Status.Phase, pv.Status.LastPhaseTransitionTime = corev1.VolumeAvailable, nil })
		}, "Available 1m0s"},
		{"BIND-015", "the same phase keeps its stamp", func(s *store.Store, now *time.Time) string {
			return volumeStatus(s, now, func(pv *PV) { pv.Status.LastPhaseTransitionTime = nil })
		}, "Pending 0s"},
		{"BIND-015", "a client's own stamp is honoured", func(s *store.Store, now *time.Time) string {
			return volumeStatus(s, now, func(pv *PV) {
				pv.Status.Phase, pv.Status.LastPhaseTransitionTime = corev1.VolumeAvailable, at(time.Second)
			})
		}, "Available 1s"},
		{"BIND-016", "an object with finalizers is marked, and goes with the last of them", func(s *store.Store, _ *time.Time) string {
			must(s.Volumes.Create(fake.Volume("pv", "1Gi")))
			pv := must(s.Volumes.Delete("pv", api.DeleteOptions{})).DeepCopy()
			if pv.DeletionTimestamp == nil {
				return "not marked"
			}
			pv.Finalizers = nil
			must(s.Volumes.Update(pv))
			_, err := s.Volumes.Get("pv")
			return refusal(err)
		}, `persistentvolumes "pv" not found`},
		{"BIND-016", "a marked object gets no new finalizer", func(s *store.Store, _ *time.Time) string {
			must(s.Volumes.Create(fake.Volume("pv", "1Gi")))
			pv := must(s.Volumes.Delete("pv", api.DeleteOptions{})).DeepCopy()
			pv.Finalizers = append(pv.Finalizers, "kubernetes.io/pv-controller")
			_, err := s.Volumes.Update(pv)
			return refusal(err)
		}, "metadata.finalizers: Forbidden"},
		{"BIND-017", "a claim without a class gets the default, and the finalizer", func(s *store.Store, _ *time.Time) string {
			must(s.Classes.Create(fake.Class("gold", driver, fake.Default())))
			claim := must(s.Claims.Create(fake.Claim("c", "1Gi", fake.NoClass())))
			return *claim.Spec.StorageClassName + " " + strings.Join(claim.Finalizers, " ")
		}, "gold kubernetes.io/pvc-protection"},
		{"BIND-017", "a volume gets its finalizer", func(s *store.Store, _ *time.Time) string {
			return strings.Join(must(s.Volumes.Create(fake.Volume("pv", "1Gi"))).Finalizers, " ")
		}, "kubernetes.io/pv-protection"},
	}
	for _, test := range tests {
		t.Run(test.rule+" "+test.name, func(t *testing.T) {
			now := start
			s := store.New(store.Config{Now: func() time.Time { return now }})
			if got := test.do(s, &now); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

func must[T any](obj T, err error) T {
	if err != nil {
		panic(err)
	}
	return obj
}

// refusal is the field and the kind of a refusal, or its text if there is no field in it.
func refusal(err error) string {
	if err == nil {
		return "no error"
	}
	_, text, invalid := strings.Cut(err.Error(), "is invalid: ")
	if !invalid {
		return err.Error()
	}
	parts := strings.SplitN(text, ": ", 3)
	return parts[0] + ": " + parts[1]
}
