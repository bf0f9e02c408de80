package check_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

const (
	controller = "persistentvolume-controller"
	patience   = 15*time.Minute + time.Second
)

// phased is the object in a phase.
func phased[T api.Object](obj T, phase string) T {
	switch o := any(obj).(type) {
	case *corev1.PersistentVolume:
		o.Status.Phase = corev1.PersistentVolumePhase(phase)
	case *corev1.PersistentVolumeClaim:
		o.Status.Phase = corev1.PersistentVolumeClaimPhase(phase)
	case *corev1.Pod:
		o.Status.Phase = corev1.PodPhase(phase)
	}
	return obj
}

// pointing is a volume that points at the claim of that name.
func pointing(v *corev1.PersistentVolume, claim string) *corev1.PersistentVolume {
	// history.put makes uids of names.
	v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "default", Name: claim, UID: types.UID("uid-" + claim)}
	return v
}

// TestObjects checks histories of objects written by hand.
func TestObjects(t *testing.T) {
	start := engine.DefaultStart
	tests := []struct {
		invariant, name string
		run             func(h *history)
		want            string
	}{
		{"bound-one-to-one", "each to its own", func(h *history) {
			h.put(controller, pv("a"), claim("a"), pv("b"), claim("b"))
			h.after(time.Hour)
		}, ""},
		{"bound-one-to-one", "two claims to one volume", func(h *history) {
			second := claim("a")
			second.Name = "second"
			h.put(controller, pv("a"), claim("a"), second)
		}, `+0s bound-one-to-one: PersistentVolumeClaim/default/c-a and PersistentVolumeClaim/default/second are both Bound to PersistentVolume a
  +0s persistentvolume-controller: create PersistentVolumeClaim/default/c-a: created
  +0s persistentvolume-controller: create PersistentVolumeClaim/default/second: created`},
		{"bound-one-to-one", "two volumes to one claim, for a moment", func(h *history) {
			h.put(controller, pv("a"), pointing(pv("b"), "c-a"))
			h.after(30 * time.Second)
			h.put(controller, phased(fake.Volume("b", "1Gi"), "Available"))
			h.after(time.Hour)
		}, ""},
		{"bound-one-to-one", "two volumes to one claim, for good", func(h *history) {
			h.put(controller, pv("a"))
			h.put(controller, pointing(pv("b"), "c-a"))
			h.after(time.Minute)
			h.after(time.Minute)
		}, `+1m0s bound-one-to-one: PersistentVolume/a and PersistentVolume/b are both Bound to the claim with uid uid-c-a
  +0s persistentvolume-controller: create PersistentVolume/a: created
  +0s persistentvolume-controller: create PersistentVolume/b: created`},
		{"bound-both-ways", "both ways, and a claim whose volume is let go", func(h *history) {
			h.put(controller, pv("a"), claim("a"))
			h.put(controller, phased(pointing(pv("a"), "other"), "Released"))
		}, ""},
		{"bound-both-ways", "the volume points elsewhere", func(h *history) {
			h.put(controller, claim("a"))
			h.put(controller, pointing(pv("a"), "other"))
			h.put(controller, claim("a"))
		}, `+0s bound-both-ways: claim default/c-a is Bound to PersistentVolume a, which is Bound to a claim with uid "uid-other"
  +0s persistentvolume-controller: update PersistentVolumeClaim/default/c-a: only the version changed`},
		{"bound-both-ways", "a user turned it round", func(h *history) {
			h.put(controller, pv("a"), claim("a"))
			h.put("user", pointing(pv("a"), "other"))
			h.put(controller, fake.Claim("other", "1Gi"))
			h.put(controller, phased(claim("a"), "Bound"))
		},
			`+0s bound-both-ways: claim default/c-a is Bound to PersistentVolume a, which is Bound to a claim with uid "uid-other" (forced: a user edited PersistentVolume/a)
  +0s user: update PersistentVolume/a: spec.claimRef.name c-a -> other, spec.claimRef.uid uid-c-a -> uid-other
  +0s persistentvolume-controller: update PersistentVolumeClaim/default/c-a: only the version changed`},
		{"protected-while-used", "first the pod, then the claim, then the volume", func(h *history) {
			h.bound()
			h.remove("kubelet/n1", pod("p1", "v", "n1"))
			h.put("kubelet/n2", phased(pod("p2", "v", "n2"), "Succeeded"))
			h.remove("pvc-protection-controller", claim("v"))
			h.remove("pv-protection-controller", pv("v"))
		}, ""},
		{"protected-while-used", "a pod that came too late", func(h *history) {
			h.put("user", pv("v"), deleted(claim("v"), start))
			h.after(time.Second)
			h.put("user", pod("p1", "v", "n1"))
			h.remove("pvc-protection-controller", claim("v"))
		}, ""},
		{"protected-while-used", "a claim under a pod", func(h *history) {
			h.bound()
			h.remove("pvc-protection-controller", claim("v"))
		}, `+0s protected-while-used: claim default/c-v is gone while pod default/p1 uses it
  +0s user: create Pod/default/p1: created
  +0s pvc-protection-controller: delete PersistentVolumeClaim/default/c-v: gone`},
		{"protected-while-used", "a volume under a claim, by a user", func(h *history) {
			blocked := pv("v")
			blocked.Finalizers = []string{"kubernetes.io/pv-protection"}
			h.put(controller, blocked, claim("v"))
			h.remove("user", pv("v"))
		}, `+0s protected-while-used: PersistentVolume v is gone while claim default/c-v is bound to it (forced: a user edited PersistentVolume/v)
  +0s user: delete PersistentVolume/v: gone`},
		{"known-phase-changes", "the ways there are", func(h *history) {
			for _, phase := range []string{"", "Pending", "Available", "Bound", "Released", "Failed", "Available", "Released", "Bound"} {
				h.put(controller, phased(pv("v"), phase))
			}
			for _, phase := range []string{"", "Pending", "Bound", "Lost", "Bound"} {
				h.put(controller, phased(claim("v"), phase))
			}
			for _, phase := range []string{"Pending", "Running", "Failed"} {
				h.put("kubelet/n1", phased(pod("p1", "v", "n1"), phase))
			}
		}, ""},
		{"known-phase-changes", "what a user writes is the user's business", func(h *history) {
			h.put("user", phased(pv("v"), "Bound"))
			h.put("user", phased(pv("v"), "Pending"))
		}, ""},
		{"known-phase-changes", "a volume becomes Failed from Bound", func(h *history) {
			h.put(controller, pv("v"))
			h.put(controller, phased(pv("v"), "Failed"))
		}, `+0s known-phase-changes: PersistentVolume/v changes from phase "Bound" to phase "Failed"
  +0s persistentvolume-controller: update PersistentVolume/v: status.phase Bound -> Failed`},
		{"known-phase-changes", "a pod rises again, a claim is unbound", func(h *history) {
			h.put("kubelet/n1", phased(pod("p1", "v", "n1"), "Succeeded"))
			h.put("kubelet/n1", phased(pod("p1", "v", "n1"), "Running"))
			h.put(controller, claim("v"))
			h.put(controller, phased(claim("v"), "Pending"))
		}, `+0s known-phase-changes: Pod/default/p1 changes from phase "Succeeded" to phase "Running"
  +0s kubelet/n1: update Pod/default/p1: status.phase Succeeded -> Running
+0s known-phase-changes: PersistentVolumeClaim/default/c-v changes from phase "Bound" to phase "Pending"
  +0s persistentvolume-controller: update PersistentVolumeClaim/default/c-v: status.phase Bound -> Pending`},
		{"known-phase-changes", "the kubelet has not seen that pod GC failed the pod", func(h *history) {
			h.put("kubelet/n1", phased(pod("p1", "v", "n1"), "Pending"))
			h.put(actors.PodGC, phased(pod("p1", "v", "n1"), "Failed"))
			h.put("kubelet/n1", phased(pod("p1", "v", "n1"), "Running"))
		}, ""},
		{"known-phase-changes", "a pod that failed at its kubelet after pod GC had failed it", func(h *history) {
			h.put("kubelet/n1", phased(pod("p1", "v", "n1"), "Pending"))
			h.put(actors.PodGC, phased(pod("p1", "v", "n1"), "Failed"))
			h.put("kubelet/n1", phased(pod("p1", "v", "n1"), "Running"))
			h.put("kubelet/n1", phased(pod("p1", "v", "n1"), "Failed"))
			h.put("kubelet/n1", phased(pod("p1", "v", "n1"), "Running"))
		}, `+0s known-phase-changes: Pod/default/p1 changes from phase "Failed" to phase "Running"
  +0s kubelet/n1: update Pod/default/p1: status.phase Failed -> Running`},
		{"deleted-pods-go", "within the time", func(h *history) {
			h.put("user", deleted(pod("p1", "v", "n1"), start.Add(30*time.Second)))
			h.after(15 * time.Minute)
			h.remove("kubelet/n1", pod("p1", "v", "n1"))
			h.after(time.Hour)
		}, ""},
		{"deleted-pods-go", "kept by a finalizer", func(h *history) {
			blocked := deleted(pod("p1", "v", "n1"), start)
			blocked.Finalizers = []string{"example.com/wait"}
			h.put("user", blocked)
			h.after(time.Hour)
		}, ""},
		{"deleted-pods-go", "still there", func(h *history) {
			h.put("user", pod("p1", "v", "n1"))
			h.put("user", deleted(pod("p1", "v", "n1"), start.Add(30*time.Second)))
			h.after(15 * time.Minute)
			h.after(31 * time.Second)
			h.after(time.Hour)
		}, `+15m30s deleted-pods-go: pod default/p1 still exists, 15m0s after its grace period
  +0s user: update Pod/default/p1: metadata.deletionTimestamp none -> 2026-01-01T00:00:30Z`},
		{"nothing-left-behind", "wanted by pods", func(h *history) {
			h.bound()
			h.mounted("n1", "p1")
			h.after(time.Hour)
		}, ""},
		{"nothing-left-behind", "all of it goes in time", func(h *history) {
			h.bound()
			h.mounted("n1", "p1")
			h.remove("kubelet/n1", pod("p1", "v", "n1"))
			h.after(10 * time.Minute)
			h.call(storage.Unpublish, "v", "n1", "p1")
			h.after(10 * time.Minute)
			h.call(storage.Unstage, "v", "n1", "")
			h.after(10 * time.Minute)
			h.call(storage.Detach, "v", "n1", "")
			h.after(time.Hour)
		}, ""},
		{"nothing-left-behind", "published for a pod that has ended", func(h *history) {
			h.bound()
			h.mounted("n1", "p1")
			h.remove("kubelet/n1", pod("p1", "v", "n1"))
			h.after(patience)
			h.after(patience)
		}, `+15m0s nothing-left-behind: v of disk.example.com is still published on n1 for default/p1, 15m0s after the last pod needed it
  +0s kubelet/n1: disk.example.com Publish v on n1 for pod uid-p1
  +0s kubelet/n1: delete Pod/default/p1: gone`},
		{"nothing-left-behind", "staged, then attached", func(h *history) {
			h.bound()
			h.call(storage.Attach, "v", "n1", "")
			h.call(storage.Stage, "v", "n1", "")
			h.remove("user", pod("p1", "v", "n1"))
			h.after(patience)
			h.call(storage.Unstage, "v", "n1", "")
			h.after(patience)
		}, `+15m0s nothing-left-behind: v of disk.example.com is still staged on n1, 15m0s after the last pod needed it
  +0s kubelet/n1: disk.example.com Stage v on n1
+30m1s nothing-left-behind: v of disk.example.com is still attached to n1, 15m0s after the last pod needed it
  +0s sidecar: disk.example.com Attach v on n1`},
		{"nothing-left-behind", "MNT-901: wanted by a pod that ended before it was mounted", func(h *history) {
			h.bound()
			h.call(storage.Attach, "v", "n1", "")
			h.call(storage.Stage, "v", "n1", "")
			h.put("kubelet/n1", phased(pod("p1", "v", "n1"), "Failed"))
			h.after(patience)
			h.after(patience)
		}, ""},
		{"nothing-left-behind", "staged for a pod that ended after it was mounted", func(h *history) {
			h.bound()
			h.mounted("n1", "p1")
			h.put("kubelet/n1", phased(pod("p1", "v", "n1"), "Failed"))
			h.call(storage.Unpublish, "v", "n1", "p1")
			h.after(patience)
		}, `+15m0s nothing-left-behind: v of disk.example.com is still staged on n1, 15m0s after the last pod needed it
  +0s kubelet/n1: disk.example.com Stage v on n1`},
		{"nothing-left-behind", "faults stop the clock", func(h *history) {
			h.bound()
			h.mounted("n1", "p1")
			h.actor("csi-attacher", trace.Crashed)
			h.remove("user", pod("p1", "v", "n1"))
			h.after(time.Hour)
			h.actor("csi-attacher", trace.Started)
			h.after(10 * time.Minute)
			h.cutOff["n1"] = true
			h.after(time.Hour)
			h.cutOff["n1"] = false
			h.after(10 * time.Minute)
			h.actor("kubelet/n1", trace.Started)
			h.after(10 * time.Minute)
		}, ""},
		{"nothing-left-behind", "the kubelet got an error that hid the call", func(h *history) {
			h.put("user", pv("v", fake.NFSSource("nfs.example.com", "/v")), claim("v"), pod("p1", "v", "n1"))
			h.lose("kubernetes.io/nfs", storage.Publish, "v", "n1", "p1", storage.Errorf(storage.Internal, "gone"))
			h.callTo("kubernetes.io/nfs", storage.Publish, "v", "n1", "p1", nil)
			h.remove("user", pod("p1", "v", "n1"))
			h.after(patience)
		},
			`+15m0s nothing-left-behind: v of kubernetes.io/nfs is still published on n1 for default/p1, 15m0s after the last pod needed it (forced: a fault hid the success of the call from its caller, which treats the error as final)
  +0s kubelet/n1: fault at kubernetes.io/nfs Publish v: error (it took effect)
  +0s kubelet/n1: kubernetes.io/nfs Publish v on n1 for pod uid-p1
  +0s user: delete Pod/default/p1: gone`},
		{"no-leaked-volume", "a claim waits for it, then its volume is there, then it is deleted", func(h *history) {
			h.put("user", fake.Claim("c", "1Gi"))
			h.call(storage.Create, "pvc-uid-c", "", "")
			h.after(time.Hour)
			h.put("user", pv("pvc-uid-c", fake.Policy(corev1.PersistentVolumeReclaimDelete)))
			h.remove("user", fake.Claim("c", "1Gi"))
			h.after(time.Hour)
			h.call(storage.Delete, "pvc-uid-c", "", "")
			h.remove("sidecar", pv("pvc-uid-c"))
			h.after(time.Hour)
		}, ""},
		{"no-leaked-volume", "its volume has the policy Retain", func(h *history) {
			h.put("user", pv("pvc-uid-c"))
			h.call(storage.Create, "pvc-uid-c", "", "")
			h.remove("user", pv("pvc-uid-c"))
			h.after(time.Hour)
		}, ""},
		{"no-leaked-volume", "a driver with IDs of its own", func(h *history) {
			h.put("user", pv("pvc-uid-c", fake.CSISource(driver, "0815"), fake.Policy(corev1.PersistentVolumeReclaimDelete)))
			h.call(storage.Create, "pvc-uid-c", "", "")
			h.put(controller, pv("pvc-uid-c", fake.CSISource(driver, "0815"), fake.Policy(corev1.PersistentVolumeReclaimDelete)))
			h.call(storage.Delete, "0815", "", "")
			h.remove("sidecar", pv("pvc-uid-c"))
			h.after(time.Hour)
		}, ""},
		{"no-leaked-volume", "the claim is deleted, and its storage stays", func(h *history) {
			h.put("user", fake.Claim("c", "1Gi"))
			h.call(storage.Create, "pvc-uid-c", "", "")
			h.remove("user", fake.Claim("c", "1Gi"))
			h.after(patience)
		},
			`+15m0s no-leaked-volume: pvc-uid-c of disk.example.com was created, and for 15m0s there was neither a PersistentVolume nor a claim for it
  +0s sidecar: disk.example.com Create pvc-uid-c`},
		{"no-leaked-volume", "the provisioner forgot", func(h *history) {
			h.put("user", fake.Claim("c", "1Gi"))
			h.call(storage.Create, "pvc-uid-c", "", "")
			h.after(time.Second)
			h.actor("sidecar", trace.Crashed)
			h.remove("user", fake.Claim("c", "1Gi"))
			h.actor("sidecar", trace.Started)
			h.after(patience)
		},
			`+15m1s no-leaked-volume: pvc-uid-c of disk.example.com was created, and for 15m0s there was neither a PersistentVolume nor a claim for it (forced: sidecar crashed after it had created it)
  +0s sidecar: disk.example.com Create pvc-uid-c
  +1s sidecar: crashed`},
		{"no-leaked-volume", "a driver that reports a failure", func(h *history) {
			h.lose(driver, storage.Create, "pvc-uid-c", "", "", storage.Errorf(storage.Internal, "gone"))
			h.call(storage.Create, "pvc-uid-c", "", "")
			h.after(patience)
		},
			`+15m0s no-leaked-volume: pvc-uid-c of disk.example.com was created, and for 15m0s there was neither a PersistentVolume nor a claim for it (forced: a fault hid the success of the call from its caller, which treats the error as final)
  +0s sidecar: fault at disk.example.com Create pvc-uid-c: error (it took effect)
  +0s sidecar: disk.example.com Create pvc-uid-c`},
		{"no-leaked-volume", "the claim is bound to another volume", func(h *history) {
			waiting := fake.Claim("c", "1Gi")
			h.put("user", waiting)
			h.call(storage.Create, "pvc-uid-c", "", "")
			h.put(controller, fake.Claim("c", "1Gi", fake.VolumeName("other")))
			h.after(patience)
		},
			`+15m0s no-leaked-volume: pvc-uid-c of disk.example.com was created, and for 15m0s there was neither a PersistentVolume nor a claim for it (forced: its claim was bound to another volume meanwhile (XPROV-014))
  +0s sidecar: disk.example.com Create pvc-uid-c
  +0s persistentvolume-controller: update PersistentVolumeClaim/default/c: spec.volumeName none -> other`},
	}
	for _, tt := range tests {
		t.Run(tt.invariant+" "+tt.name, func(t *testing.T) {
			h := newHistory(t, tt.invariant)
			tt.run(h)
			require.Equal(t, tt.want, h.violations())
		})
	}
}
