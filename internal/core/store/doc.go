// Package store is the API server of a simulated cluster: it holds the objects of the storage control plane, and admits to them
// what a real API server would admit.
//
// In Kubernetes this is kube-apiserver in front of etcd: requests are decoded, defaulted, admitted, prepared, validated and
// stored under the next revision, and everybody who watches is told.
//
// A [Store] does the same for eleven kinds: PersistentVolume, PersistentVolumeClaim, StorageClass, VolumeAttributesClass, Pod,
// Node, VolumeAttachment, CSIDriver, CSINode, CSIStorageCapacity and Event. Each kind has a [Table]: Create, Update,
// UpdateStatus, Patch (JSON merge patch), Delete, Get, List, and Watch with or without a history; [Store.Bind] is the binding
// subresource of pods. Defaults, the reset of what a client may not set, admission (default class, protection finalizers,
// resizing, topology labels), validation on create and on update, finalizers, the grace of pods, conflicts and the texts of errors
// are those of v1.36.3 with default feature gates. Manifests are read by [ReadManifests].
//
// A store differs from a server where the difference cannot be seen, or makes runs repeatable. There is one thread, so no write
// ever races another. Uids and generated names look random but follow from what happened before. A fresh claim is stored as
// Pending at once (API-015). Quantities with an exponent beyond 999 are refused when they are read, since their arithmetic would
// not end. Preconditions of an update that fail say so without the key in etcd.
//
// Left out: namespaces as objects (API-010), authentication, quota, webhooks and custom resources, server-side apply, strategic
// merge patches and JSON patches, managedFields, the validation of pods as far as it has nothing to do with volumes, dry runs
// other than of a create, propagation policies other than Background (API-059), and what admission adds to nodes and pods without
// regard to volumes (API-257). [Config].AsGiven and SkipValidation switch rules off for studies of what should not exist.
//
// Rules: API-001 to API-262 of docs/rules/api.md, save those in docs/rules/left-out.md. The garbage collector, API-270 to API-276,
// is in package reclaim.
package store
