// Package backends is how controllers call storage: it finds the backend for a volume, asks what it can do, turns its panics into
// errors, and says which errors leave the outcome open. Package storage has the contract that backends implement.
//
// Rules: PROV-024, RECL-030, RECL-032, RECL-035, RECL-064 (which plugin a controller finds), PROV-043 (mount options), XPROV-032,
// EXP-025, MNT-240, MNT-416, MNT-422, VAC-012 (classes of errors).
package backends
