package main

import (
	"fmt"
	"os"
)

func Example() {
	if err := run(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// == 1. The user asks
	// For 10Gi of class fast, and for a pod that mounts it, in zone west.
	//       0s  user                         created PersistentVolumeClaim data
	//       0s  user                         created Pod web
	//
	// == 2. The scheduler finds a node that can have the volume
	// There is no volume yet. It says on the claim where one is wanted, and binds the pod once the claim is bound.
	//       0s  kube-scheduler               Pod web: nominatedNodeName=n2
	//       0s  kube-scheduler               PersistentVolumeClaim data: annotations[selected-node]=n2
	//       5s  kube-scheduler               Pod web: labels[zone]=west, nodeName=n2, conditions, …
	//
	// == 3. The provisioner has the driver make it
	// It has waited for a node to be named, and asks for a volume that can be reached from there.
	//       4s  external-provisioner         the driver's Create
	//       4s  external-provisioner         created PersistentVolume pvc-f2884db9…
	//
	// == 4. The PersistentVolume controller binds claim and volume
	// Before that it has assigned the claim to the provisioner.
	//       0s  persistentvolume-controller  PersistentVolumeClaim data: annotations[storage-provisioner]=disk.example.com, annotations[storage-provisioner]=disk.example.com
	//       4s  persistentvolume-controller  PersistentVolume pvc-f2884db9…: phase=Bound
	//       4s  persistentvolume-controller  PersistentVolumeClaim data: annotations[bind-completed]=yes, annotations[bound-by-controller]=yes, volumeName=pvc-f2884db9…
	//       4s  persistentvolume-controller  PersistentVolumeClaim data: phase=Bound, accessModes, capacity.storage=10Gi
	//
	// == 5. The volume is attached to the node
	// The attach/detach controller asks for it with a VolumeAttachment, the attacher carries it out.
	//     5.1s  attachdetach-controller      created VolumeAttachment csi-77ad40ae…
	//     5.1s  external-attacher            PersistentVolume pvc-f2884db9…: finalizers
	//     5.1s  external-attacher            VolumeAttachment csi-77ad40ae…: annotations[node-id]=n2, finalizers
	//     7.1s  external-attacher            the driver's Attach at n2
	//     7.1s  external-attacher            VolumeAttachment csi-77ad40ae…: attached=true
	//     7.3s  attachdetach-controller      Node n2: volumesAttached
	//
	// == 6. The kubelet mounts it and starts the container
	// It reports the volume as in use before it stages it on the node and publishes it to the pod.
	//       5s  kubelet                      Pod web: conditions, containerStatuses, hostIP=192.0.2.2, …
	//    10.1s  kubelet                      Node n2: volumesInUse
	//    11.3s  kubelet                      the driver's Stage at n2
	//    11.3s  kubelet                      the driver's Publish at n2
	//    11.3s  kubelet                      Pod web: phase=Running, conditions[0].status=True, conditions[2].message is gone, …
	//
	// == It grows
	// The claim requests 20Gi. The driver expands the volume, then the node expands the file system, while the pod runs.
	//    11.3s  user                         PersistentVolumeClaim data: resources.requests.storage=20Gi
	//    11.3s  external-resizer             PersistentVolumeClaim data: allocatedResourceStatuses.storage=ControllerResizeInProgress, allocatedResources.storage=20Gi, conditions
	//    14.3s  external-resizer             the driver's Expand
	//    14.3s  external-resizer             PersistentVolume pvc-f2884db9…: annotations[pre-resize-capacity]=10Gi, capacity.storage=20Gi
	//    14.3s  external-resizer             PersistentVolumeClaim data: allocatedResourceStatuses.storage=NodeResizePending, conditions
	//  1m11.3s  kubelet                      PersistentVolumeClaim data: allocatedResourceStatuses.storage=NodeResizeInProgress
	//  1m12.3s  kubelet                      the driver's NodeExpand at n2
	//  1m12.3s  kubelet                      PersistentVolumeClaim data: allocatedResourceStatuses.storage is gone, capacity.storage=20Gi, conditions is gone
	//  1m12.3s  external-resizer             PersistentVolume pvc-f2884db9…: annotations[pre-resize-capacity] is gone
	//
	// == It is deleted
	// The pod and the claim are deleted. The claim stays until the pod is gone. The volume is detached from the node and, by the
	// reclaim policy of the class, deleted.
	//  5m11.3s  user                         Pod web: marked for deletion
	//  5m11.3s  user                         PersistentVolumeClaim data: marked for deletion
	//  5m11.3s  kubelet                      Pod web: phase=Succeeded, conditions[0].observedGeneration=2, conditions[0].status=False, …
	//  5m11.4s  kubelet                      the driver's Unpublish at n2
	//  5m11.5s  kubelet                      the driver's Unstage at n2
	//  5m11.6s  kubelet                      Pod web is gone
	//  5m11.6s  pvc-protection-controller    PersistentVolumeClaim data is gone
	//  5m11.6s  persistentvolume-controller  PersistentVolume pvc-f2884db9…: phase=Released
	//  5m20.1s  kubelet                      Node n2: volumesInUse is gone
	//  5m20.2s  attachdetach-controller      Node n2: volumesAttached is gone
	//  5m20.2s  attachdetach-controller      VolumeAttachment csi-77ad40ae…: marked for deletion
	//  5m20.2s  external-attacher            the driver's Detach at n2
	//  5m20.2s  external-attacher            VolumeAttachment csi-77ad40ae… is gone
	//  5m28.6s  external-provisioner         the driver's Delete
	//  5m28.6s  external-provisioner         PersistentVolume pvc-f2884db9…: marked for deletion
	//  5m28.6s  external-provisioner         PersistentVolume pvc-f2884db9…: finalizers
	//  5m28.6s  pv-protection-controller     PersistentVolume pvc-f2884db9…: finalizers
	//  5m28.6s  external-attacher            PersistentVolume pvc-f2884db9… is gone
	//
	// Left: 0 claims, 0 volumes, 0 pods; 0 volumes in the storage. It reports 0 problems.
}
