// Package attach is what makes volumes available at nodes, and takes them away again.
//
// In Kubernetes two components do this together. The attach/detach controller of kube-controller-manager knows from the pods which
// volumes should be attached where, and from its own doings what is attached; a loop that passes every 100 ms brings the one to the
// other. It attaches a CSI volume by creating a VolumeAttachment, and waits. The external attacher, a sidecar of each CSI driver, sees
// the VolumeAttachment, asks the driver, and writes down what came of it. In between stands the kubelet: the controller tells it by
// volumesAttached in the status of the node what it may mount, and it tells the controller by volumesInUse what must not be detached.
//
// New adds the controller, NewAttachers the external attachers, NewPodGC the part of the pod garbage collector that ends pods on nodes
// out of service. They meet in the API only. The decisions are functions over objects: [Action], [DecideDetach], [Attached],
// [PublishMode].
//
// The controller's loops pass only when there is something to do, and then on the grid that upstream's loops have. Its memory is lost
// in a crash; what it makes of the API afterwards is ATT-130 to ATT-135.
//
// Left out: the translation of in-tree volumes to CSI (ATT-200) with VolumeAttachments of inline volumes, the secrets of drivers, and
// the random stretching of waits (ATT-145), which are all taken as they are at least.
//
// The rules are those of docs/rules/attach.md, ATT-001 to ATT-214.
package attach
