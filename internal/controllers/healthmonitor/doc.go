// Package healthmonitor is the external-health-monitor v0.18.0, a sidecar that a CSI driver may have: it asks the driver for the condition
// of its volumes, and emits Events about the claims of those that are abnormal. Nothing else reads these Events.
//
// A driver with LIST_VOLUMES is asked about all volumes at once, every five minutes (HEALTH-003). Otherwise ten workers ask about one volume
// a minute each (HEALTH-006). The node watcher, which is off by default, emits Events about claims whose pods are on a node that is not
// ready (HEALTH-010 to HEALTH-014).
//
// Not simulated: leader election, and the flags that change its intervals.
package healthmonitor
