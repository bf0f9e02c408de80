// Package attach attaches volumes to nodes and detaches them again. It simulates the attach/detach controller of
// kube-controller-manager, and the external-attacher of each CSI driver.
//
// The attach/detach controller computes from the pods which volumes should be attached to which nodes (the desired state), and remembers
// which ones it attached (the actual state). A reconciler compares both every 100 ms. It attaches a CSI volume by creating a
// VolumeAttachment, and waits until its status says attached. The external-attacher, a sidecar of the CSI driver, sees the
// VolumeAttachment, calls the driver, and writes the result into its status. The kubelet takes part through the status of its Node:
// volumesAttached lists the volumes that it may mount, and volumesInUse those that must not be detached yet. The three meet in the API
// only.
//
// [New] adds the controller, [NewAttacher] the external-attacher of a driver. Their decisions are
// functions of objects: [Wants], [DecideDetach].
//
// The reconciler and the populator skip passes that would find nothing to do; the others run on the ticks of the real loops. A crash loses
// the controller's memory; ATT-130 to ATT-135 say what a restarted controller rebuilds from the API.
//
// Not simulated: the random part of waits (ATT-145). A wait has its shortest length.
//
// The rules are ATT-001 to ATT-214 in docs/rules/attach.md. Start reading in reconcile.go, which has one pass of the reconciler;
// forcedetach.go decides when a mounted volume is detached by force after 6 minutes.
package attach
