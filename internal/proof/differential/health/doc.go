// Package health runs the kubelet's real statistics of volumes, with the real CSI client behind them, beside ours.
//
// The resource analyzer of pkg/kubelet/server/stats and the metrics of pkg/volume/csi run unmodified in a bubble of testing/synctest, with
// the feature gate CSIVolumeHealth. Ours is a whole cluster. A scenario says when pods come and go, what is wrong with which volume, when
// drivers fail and how long they take.
//
// The real side gets from ours when a volume is mounted for a pod; a kubelet decides that elsewhere. Ours gets from the real side how long
// each pause between two checks was, because Kubernetes chooses it at random. Both report calls and Events with their times. Calls and
// Events of one pod at one instant have no order, because upstream takes it from a map.
package health
