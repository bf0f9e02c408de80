package check_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

// TestInvariants checks the exact violations that each invariant reports for histories written by hand; "" is none.
func TestInvariants(t *testing.T) {
	internal := storage.Errorf(storage.Internal, "gone")
	released := func(volume *corev1.PersistentVolume) *corev1.PersistentVolume {
		volume.Status.Phase = corev1.VolumeReleased
		return volume
	}
	tests := []struct {
		invariant, name string
		run             func(h *history)
		want            string
	}{
		{"one-writer", "one after the other", func(h *history) {
			h.bound()
			h.mounted("n1", "p1")
			h.call(storage.Unpublish, "v", "n1", "p1")
			h.mounted("n2", "p2")
		}, ""},
		{"one-writer", "two nodes may", func(h *history) {
			h.bound(fake.Modes("RWX"))
			h.mounted("n1", "p1")
			h.mounted("n2", "p2")
		}, ""},
		{"one-writer", "what is not attached goes anywhere", func(h *history) {
			h.bound(fake.NFSSource("nfs.example.com", "/v"))
			h.callTo("kubernetes.io/nfs", storage.Publish, "v", "n1", "p1", nil)
			h.callTo("kubernetes.io/nfs", storage.Publish, "v", "n2", "p2", nil)
		}, ""},
		{"one-writer", "two nodes at the same time", func(h *history) {
			h.bound()
			h.mounted("n1", "p1")
			h.mounted("n2", "p2")
			h.call(storage.Publish, "v", "n2", "p2")
		}, `+0s one-writer: v of disk.example.com is published on n1 and on n2, and its access modes are [ReadWriteOnce]
  +0s kubelet/n1: disk.example.com Publish v on n1 for pod uid-p1
  +0s kubelet/n2: disk.example.com Publish v on n2 for pod uid-p2`},
		{"one-writer", "after a forced detachment", func(h *history) {
			h.bound()
			h.mounted("n1", "p1")
			h.forceDetach("v", "n1")
			h.call(storage.Detach, "v", "n1", "")
			h.mounted("n2", "p2")
		},
			`+0s one-writer: v of disk.example.com is published on n1 and on n2, and its access modes are [ReadWriteOnce] (forced: no pod on the node has wanted the volume for more than 6 minutes, and the node is not ready: it is detached by force)
  +0s kubelet/n1: disk.example.com Publish v on n1 for pod uid-p1
  +0s attachdetach-controller: ATT-064 detach kubernetes.io/csi/disk.example.com^v from node n1: no pod on the node has wanted the volume for more than 6 minutes, and the node is not ready: it is detached by force
  +0s kubelet/n2: disk.example.com Publish v on n2 for pod uid-p2`},
		{"one-pod-per-identity", "after the volume is unpublished", func(h *history) {
			h.bound()
			h.put("statefulset-controller", member("first", "n1"))
			h.mounted("n1", "first")
			h.call(storage.Unpublish, "v", "n1", "first")
			h.remove("kubelet/n1", member("first", "n1"))
			h.put("kubelet/n2", member("second", "n2"))
		}, ""},
		{"one-pod-per-identity", "the machine of the earlier one has stopped", func(h *history) {
			h.bound()
			h.put("statefulset-controller", member("first", "n1"))
			h.mounted("n1", "first")
			h.remove("user/admin", member("first", "n1"))
			h.actor("machine/n1", trace.Crashed)
			h.put("kubelet/n2", member("second", "n2"))
		}, ""},
		{"one-pod-per-identity", "a kubelet that does not wait", func(h *history) {
			h.bound()
			h.put("statefulset-controller", member("first", "n1"))
			h.mounted("n1", "first")
			h.remove("kubelet/n1", member("first", "n1"))
			h.put("kubelet/n2", member("second", "n2"))
		}, `+0s one-pod-per-identity: pod default/db-0 runs on n2 while an earlier pod of StatefulSet db with this name has v of disk.example.com on n1
  +0s kubelet/n1: disk.example.com Publish v on n1 for pod uid-first
  +0s kubelet/n2: create Pod/default/db-0: created`},
		{"one-pod-per-identity", "after a forced deletion", func(h *history) {
			h.bound()
			h.put("statefulset-controller", member("first", "n1"))
			h.mounted("n1", "first")
			h.remove("user/admin", member("first", "n1"))
			h.put("kubelet/n2", member("second", "n2"))
		}, `+0s one-pod-per-identity: pod default/db-0 runs on n2 while an earlier pod of StatefulSet db with this name has v of disk.example.com on n1 (forced: pod default/db-0 was deleted by user/admin without waiting for its node)
  +0s kubelet/n1: disk.example.com Publish v on n1 for pod uid-first
  +0s user/admin: delete Pod/default/db-0: gone
  +0s kubelet/n2: create Pod/default/db-0: created`},
		{"one-attachment", "moves", func(h *history) {
			h.bound()
			h.call(storage.Attach, "v", "n1", "")
			h.call(storage.Detach, "v", "", "")
			h.call(storage.Attach, "v", "n2", "")
		}, ""},
		{"one-attachment", "a driver that allows two", func(h *history) {
			h.bound()
			h.call(storage.Attach, "v", "n1", "")
			h.after(time.Second)
			h.call(storage.Attach, "v", "n2", "")
		}, `+1s one-attachment: v of disk.example.com is attached on n1 and on n2, and its access modes are [ReadWriteOnce]
  +0s sidecar: disk.example.com Attach v on n1
  +1s sidecar: disk.example.com Attach v on n2`},
		{"attach-before-mount", "in order", func(h *history) { h.bound(); h.mounted("n1", "p1") }, ""},
		{"attach-before-mount", "staged too early", func(h *history) {
			h.bound()
			h.call(storage.Attach, "v", "n2", "")
			h.call(storage.Stage, "v", "n1", "")
		}, `+0s attach-before-mount: v of disk.example.com: Stage on n1, where it is not attached
  +0s kubelet/n1: disk.example.com Stage v on n1`},
		{"stage-before-publish", "after a reboot, staging starts again", func(h *history) {
			h.bound()
			h.mounted("n1", "p1")
			h.actor("machine/n1", trace.Crashed)
			h.call(storage.Stage, "v", "n1", "")
			h.call(storage.Publish, "v", "n1", "p1")
		}, ""},
		{"stage-before-publish", "not staged again after a reboot", func(h *history) {
			h.bound()
			h.mounted("n1", "p1")
			h.actor("machine/n1", trace.Crashed)
			h.call(storage.Publish, "v", "n1", "p1")
		}, `+0s stage-before-publish: v of disk.example.com is published on n1, where it is not staged
  +0s kubelet/n1: disk.example.com Publish v on n1 for pod uid-p1`},
		{"unpublish-before-unstage", "in order", func(h *history) {
			h.bound()
			h.mounted("n1", "p1")
			h.call(storage.Unpublish, "v", "n1", "p1")
			h.call(storage.Unstage, "v", "n1", "")
		}, ""},
		{"unpublish-before-unstage", "the wrong way round", func(h *history) {
			h.bound()
			h.mounted("n1", "p1")
			h.call(storage.Unstage, "v", "n1", "")
		}, `+0s unpublish-before-unstage: v of disk.example.com is unstaged on n1 while published to default/p1
  +0s kubelet/n1: disk.example.com Publish v on n1 for pod uid-p1
  +0s kubelet/n1: disk.example.com Unstage v on n1`},
		{"unmount-before-detach", "in order", func(h *history) {
			h.bound()
			h.mounted("n1", "p1")
			h.call(storage.Unpublish, "v", "n1", "p1")
			h.call(storage.Unstage, "v", "n1", "")
			h.call(storage.Detach, "v", "n1", "")
		}, ""},
		{"unmount-before-detach", "under a mount", func(h *history) {
			h.bound()
			h.mounted("n1", "p1")
			h.call(storage.Detach, "v", "n1", "")
		}, `+0s unmount-before-detach: v of disk.example.com is detached from n1 while published to default/p1
  +0s kubelet/n1: disk.example.com Publish v on n1 for pod uid-p1
  +0s sidecar: disk.example.com Detach v on n1`},
		{"unmount-before-detach", "from every node, staged on one", func(h *history) {
			h.bound()
			h.call(storage.Attach, "v", "n1", "")
			h.call(storage.Stage, "v", "n1", "")
			h.call(storage.Detach, "v", "", "")
		}, `+0s unmount-before-detach: v of disk.example.com is detached from n1 while staged
  +0s kubelet/n1: disk.example.com Stage v on n1
  +0s sidecar: disk.example.com Detach v`},
		{"unmount-before-detach", "staged without a pod when the kubelet was started", func(h *history) {
			h.bound()
			h.mounted("n1", "p1")
			h.call(storage.Unpublish, "v", "n1", "p1")
			h.actor("kubelet/n1", trace.Started)
			h.call(storage.Detach, "v", "n1", "")
			h.call(storage.Attach, "v", "n1", "")
			h.call(storage.Stage, "v", "n1", "")
			h.after(time.Second)
			h.call(storage.Detach, "v", "n1", "")
		},
			`+0s unmount-before-detach: v of disk.example.com is detached from n1 while staged (forced: the kubelet was started when no pod had the volume, and does not know that it is staged (MNT-450))
  +0s kubelet/n1: disk.example.com Stage v on n1
  +0s kubelet/n1: started
  +0s sidecar: disk.example.com Detach v on n1
+1s unmount-before-detach: v of disk.example.com is detached from n1 while staged
  +0s kubelet/n1: disk.example.com Stage v on n1
  +1s sidecar: disk.example.com Detach v on n1`},
		{"in-use-before-mount", "reported", func(h *history) {
			h.bound()
			node := fake.Node("n1")
			node.Status.VolumesInUse = []corev1.UniqueVolumeName{"kubernetes.io/csi/disk.example.com^v"}
			h.put("kubelet/n1", node)
			h.mounted("n1", "p1")
		}, ""},
		{"in-use-before-mount", "not reported", func(h *history) {
			h.bound()
			h.call(storage.Attach, "v", "n1", "")
			h.call(storage.Stage, "v", "n1", "")
		}, `+0s in-use-before-mount: v of disk.example.com: Stage on n1, whose status.volumesInUse does not list it
  +0s kubelet/n1: disk.example.com Stage v on n1`},
		{"in-use-before-mount", "not reported, and its directories found after a reboot", func(h *history) {
			h.bound()
			node := fake.Node("n1")
			node.Status.VolumesInUse = []corev1.UniqueVolumeName{"kubernetes.io/csi/disk.example.com^v"}
			h.put("kubelet/n1", node)
			h.mounted("n1", "p1")
			h.actor("machine/n1", trace.Crashed)
			h.actor("kubelet/n1", trace.Started)
			h.put("kubelet/n1", fake.Node("n1"))
			h.call(storage.Unpublish, "v", "n1", "p1")
			h.call(storage.Detach, "v", "n1", "")
			h.call(storage.Attach, "v", "n1", "")
			h.call(storage.Stage, "v", "n1", "")
			h.call(storage.Unstage, "v", "n1", "")
			h.after(time.Second)
			h.actor("kubelet/n1", trace.Started)
			h.call(storage.Stage, "v", "n1", "")
		},
			`+0s in-use-before-mount: v of disk.example.com: Stage on n1, whose status.volumesInUse does not list it (forced: the kubelet was started and found it on its disk (MNT-928))
  +0s kubelet/n1: started
  +0s kubelet/n1: disk.example.com Stage v on n1
+1s in-use-before-mount: v of disk.example.com: Stage on n1, whose status.volumesInUse does not list it
  +1s kubelet/n1: disk.example.com Stage v on n1`},
		{"in-use-before-mount", "not reported, and found on the disk", func(h *history) {
			h.bound()
			h.mounted("n1", "p1")
			h.after(time.Second)
			h.actor("kubelet/n1", trace.Started)
			h.call(storage.Stage, "v", "n1", "")
			h.call(storage.Unstage, "v", "n1", "")
			h.call(storage.Unpublish, "v", "n1", "p1")
			h.after(time.Second)
			h.call(storage.Stage, "v", "n1", "")
		}, `+0s in-use-before-mount: v of disk.example.com: Stage on n1, whose status.volumesInUse does not list it
  +0s kubelet/n1: disk.example.com Stage v on n1
+0s in-use-before-mount: v of disk.example.com: Publish on n1, whose status.volumesInUse does not list it
  +0s kubelet/n1: disk.example.com Publish v on n1 for pod uid-p1
+1s in-use-before-mount: v of disk.example.com: Stage on n1, whose status.volumesInUse does not list it (forced: the kubelet was started and found it on its disk (MNT-928))
  +1s kubelet/n1: started
  +1s kubelet/n1: disk.example.com Stage v on n1
+2s in-use-before-mount: v of disk.example.com: Stage on n1, whose status.volumesInUse does not list it
  +2s kubelet/n1: disk.example.com Stage v on n1`},
		{"publish-to-owner", "its own pods, one of them gone by then", func(h *history) {
			h.bound()
			h.mounted("n1", "p1")
			h.remove("user", pod("p2", "v", "n2"))
			h.call(storage.Publish, "v", "n2", "p2")
		}, ""},
		{"publish-to-owner", "its own pod, and both it and the PersistentVolume are gone by then", func(h *history) {
			h.bound()
			h.remove("user", pod("p1", "v", "n1"))
			h.remove("user", pv("v"))
			h.call(storage.Publish, "v", "n1", "p1")
		}, ""},
		{"publish-to-owner", "another's pod", func(h *history) {
			h.bound()
			h.put("user", pv("w"), claim("w"))
			h.call(storage.Publish, "w", "n1", "p1")
		},
			`+0s publish-to-owner: w of disk.example.com is published to default/p1 on n1: the pod's claims are ["default/c-v"], and none is bound to it
  +0s kubelet/n1: disk.example.com Publish w on n1 for pod uid-p1`},
		{"publish-to-owner", "a volume that points at a claim of another uid", func(h *history) {
			other := pv("v")
			other.Spec.ClaimRef.UID = "another"
			h.put("user", other, claim("v"), pod("p1", "v", "n1"))
			h.call(storage.Publish, "v", "n1", "p1")
		},
			`+0s publish-to-owner: v of disk.example.com is published to default/p1 on n1: the pod's claims are ["default/c-v"], and none is bound to it
  +0s kubelet/n1: disk.example.com Publish v on n1 for pod uid-p1`},
		{"publish-to-owner", "the wrong node, and no such pod", func(h *history) {
			h.bound()
			h.call(storage.Publish, "v", "n2", "p1")
			h.call(storage.Publish, "v", "n1", "p9")
		}, `+0s publish-to-owner: v of disk.example.com is published to default/p1 on n2: the pod is on node "n1"
  +0s kubelet/n2: disk.example.com Publish v on n2 for pod uid-p1
+0s publish-to-owner: v of disk.example.com is published to a pod with uid uid-p9 on n1: no such pod ever existed
  +0s kubelet/n1: disk.example.com Publish v on n1 for pod uid-p9`},
		{"expanded-before-reported", "in order", func(h *history) {
			h.bound()
			h.put("external-resizer", grown(pv("v"), "2Gi"))
			h.put("external-resizer", shown(claim("v"), "2Gi"))
		}, ""},
		{"expanded-before-reported", "by the claim first", func(h *history) {
			h.bound()
			h.put("external-resizer", shown(claim("v"), "2Gi"))
		}, `+0s expanded-before-reported: claim default/c-v has capacity 2Gi, but PersistentVolume v has 1Gi
  +0s external-resizer: update PersistentVolumeClaim/default/c-v: status.capacity.storage none -> 2Gi`},
		{"expanded-before-reported", "by the PersistentVolume before the backend", func(h *history) {
			h.bound()
			h.expand("v", 2<<30)
			h.put("external-resizer", grown(pv("v"), "2Gi"))
			h.put("external-resizer", grown(pv("v"), "3Gi"))
		}, `+0s expanded-before-reported: PersistentVolume v has capacity 3Gi, but v of disk.example.com has 2147483648 bytes
  +0s external-resizer: update PersistentVolume/v: spec.capacity.storage 2Gi -> 3Gi`},
		{"allocated-covers-capacity", "in order", func(h *history) {
			h.bound()
			h.put("user", asking(claim("v"), "2Gi"))
			h.put("external-resizer", allocated(asking(claim("v"), "2Gi"), "2Gi", corev1.PersistentVolumeClaimControllerResizeInProgress))
			h.put("user", allocated(asking(claim("v"), "3Gi"), "2Gi", corev1.PersistentVolumeClaimControllerResizeInProgress))
			h.put("kubelet/n1", shown(allocated(asking(claim("v"), "3Gi"), "2Gi", ""), "2Gi"))
		}, ""},
		{"allocated-covers-capacity", "never requested", func(h *history) {
			h.bound()
			h.put("external-resizer", allocated(asking(claim("v"), "2Gi"), "3Gi", corev1.PersistentVolumeClaimControllerResizeInProgress))
		}, `+0s allocated-covers-capacity: claim default/c-v: 3Gi is allocated but was never requested
  +0s external-resizer: update PersistentVolumeClaim/default/c-v: spec.resources.requests.storage 1Gi -> 2Gi, status.allocatedResourceStatuses.storage none -> ControllerResizeInProgress, status.allocatedResources.storage none -> 3Gi`},
		{"allocated-covers-capacity", "for nothing", func(h *history) {
			h.bound()
			h.put("external-resizer", allocated(shown(asking(claim("v"), "2Gi"), "2Gi"), "2Gi", corev1.PersistentVolumeClaimNodeResizePending))
		}, `+0s allocated-covers-capacity: claim default/c-v: an expansion has allocated 2Gi, but its capacity is 2Gi
  +0s external-resizer: update PersistentVolumeClaim/default/c-v: spec.resources.requests.storage 1Gi -> 2Gi, status.allocatedResourceStatuses.storage none -> NodeResizePending, status.allocatedResources.storage none -> 2Gi, status.capacity.storage none -> 2Gi`},
		{"used-data-stays", "not in use", func(h *history) { h.bound(); h.call(storage.Delete, "v", "", "") }, ""},
		{"used-data-stays", "by a pod", func(h *history) {
			h.bound()
			h.mounted("n1", "p1")
			h.call(storage.Delete, "v", "", "")
		}, `+0s used-data-stays: v of disk.example.com: delete while published on n1 for default/p1
  +0s kubelet/n1: disk.example.com Publish v on n1 for pod uid-p1
  +0s sidecar: disk.example.com Delete v`},
		{"used-data-stays", "by a pod that was deleted by force", func(h *history) {
			h.bound()
			h.mounted("n1", "p1")
			h.remove("user", pod("p1", "v", "n1"))
			h.call(storage.Recycle, "v", "", "")
		},
			`+0s used-data-stays: v of disk.example.com: recycle while published on n1 for default/p1 (forced: pod default/p1 was deleted by user without waiting for its node)
  +0s kubelet/n1: disk.example.com Publish v on n1 for pod uid-p1
  +0s user: delete Pod/default/p1: gone
  +0s sidecar: disk.example.com Recycle v`},
		{"used-data-stays", "by a pod that its node has let go, with nothing to unpublish", func(h *history) {
			v := fake.Volume("v", "1Gi", fake.Policy(corev1.PersistentVolumeReclaimRecycle))
			h.put("user", fake.Node("n1"), v, pod("p1", "v", "n1"))
			h.callTo(inTree, storage.Publish, "v", "n1", "p1", nil)
			h.callTo(inTree, storage.Recycle, "v", "", "", nil)
			h.after(time.Second)
			h.remove("kubelet/n1", pod("p1", "v", "n1"))
			h.callTo(inTree, storage.Recycle, "v", "", "", nil)
		}, `+0s used-data-stays: v of kubernetes.io/mock-storage: recycle while published on n1 for default/p1
  +0s kubelet/n1: kubernetes.io/mock-storage Publish v on n1 for pod uid-p1
  +0s sidecar: kubernetes.io/mock-storage Recycle v`},
		{"wanted-data-stays", "no claim is bound to it", func(h *history) {
			h.put("user", released(pv("v", fake.Policy(corev1.PersistentVolumeReclaimDelete))))
			h.call(storage.Delete, "v", "", "")
		}, ""},
		{"wanted-data-stays", "the policy changes at the last moment", func(h *history) {
			h.put("user", released(pv("v", fake.Policy(corev1.PersistentVolumeReclaimDelete))))
			h.put("user", released(pv("v")))
			h.after(time.Minute)
			h.call(storage.Delete, "v", "", "")
		}, ""},
		{"wanted-data-stays", "it has had the policy Retain for long", func(h *history) {
			h.put("user", released(pv("v")))
			h.after(time.Minute + time.Second)
			h.call(storage.Delete, "v", "", "")
		}, `+1m1s wanted-data-stays: v of disk.example.com: delete although PersistentVolume v has the policy Retain
  +0s user: create PersistentVolume/v: created
  +1m1s sidecar: disk.example.com Delete v`},
		{"wanted-data-stays", "a claim is bound to it; a deletion that fails is harmless", func(h *history) {
			h.bound()
			h.callTo(driver, storage.Delete, "v", "", "", internal)
			h.call(storage.Delete, "v", "", "")
		}, `+0s wanted-data-stays: v of disk.example.com: delete while claim default/c-v is bound to PersistentVolume v
  +0s sidecar: disk.example.com Delete v`},
		{"one-volume-per-claim", "repeated, and again after a deletion", func(h *history) {
			h.call(storage.Create, "pvc-1", "", "")
			h.call(storage.Create, "pvc-1", "", "")
			h.call(storage.Delete, "pvc-1", "", "")
			h.callTo(inTree, storage.Create, "pvc-1", "", "", nil)
		}, ""},
		{"one-volume-per-claim", "at two backends", func(h *history) {
			h.call(storage.Create, "pvc-1", "", "")
			h.callTo(inTree, storage.Create, "pvc-1", "", "", nil)
		}, `+0s one-volume-per-claim: pvc-1 of kubernetes.io/mock-storage is created although pvc-1 of disk.example.com exists for the same claim
  +0s sidecar: disk.example.com Create pvc-1
  +0s sidecar: kubernetes.io/mock-storage Create pvc-1`},
		{"one-volume-per-claim", "with other properties", func(h *history) {
			h.call(storage.Create, "pvc-1", "", "")
			h.callTo(driver, storage.Create, "pvc-1", "", "", storage.Errorf(storage.AlreadyExists, "another size"))
		}, `+0s one-volume-per-claim: pvc-1 of disk.example.com is requested again with other properties
  +0s sidecar: disk.example.com Create pvc-1
  +0s sidecar: disk.example.com Create pvc-1 failed: rpc error: code = AlreadyExists desc = another size`},
	}
	for _, tt := range tests {
		t.Run(tt.invariant+" "+tt.name, func(t *testing.T) {
			h := newHistory(t, tt.invariant)
			tt.run(h)
			require.Equal(t, tt.want, h.violations())
		})
	}
}
