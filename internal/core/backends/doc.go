// Package backends calls storage on behalf of controllers. It finds the backend of a volume, asks for its capabilities, turns its panics
// into errors, and decides which errors leave the outcome unknown. Package storage has the contract of CSI drivers; the parts that only
// in-tree plugins and the backends of package fake implement are here ([InTreePlugin], [Recycler], [Preparer], [Delayer]).
//
// Rules: PROV-024, RECL-030, RECL-032, RECL-035, RECL-064 (the plugin that a controller finds), PROV-043 (mount options), RECL-027 (volume
// in use), XPROV-032, EXP-025, MNT-240, MNT-416, MNT-422, VAC-012 (classes of errors).
package backends
