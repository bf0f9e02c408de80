// Package store is the API server of a simulated cluster: it stores objects, and applies to every write the rules of a real API server.
//
// In Kubernetes this is kube-apiserver in front of etcd: it decodes a request, sets defaults, runs admission, resets fields, validates,
// stores the result with the next resourceVersion, and notifies watches.
//
// A [Store] does the same. Eleven kinds are stored as their Go types: PersistentVolume, PersistentVolumeClaim, StorageClass,
// VolumeAttributesClass, Pod, Node, VolumeAttachment, CSIDriver, CSINode, CSIStorageCapacity and Event. All other kinds are stored as
// plain.Object, see [Store.Other]. Of these, namespaces, workloads, quotas, limits, Services, PodDisruptionBudgets, PriorityClasses,
// RuntimeClasses and CustomResourceDefinitions have rules of their own; the rest has those of all kinds (API-300). Package apiserver adds
// rules with [Store.UseKindRules].
//
// Each kind has a [Table] with Create, Update, UpdateStatus, Patch (JSON merge patch), Delete, Get, List and Watch. [Store.Bind] is the
// binding subresource of pods. Defaults, admission (default class, protection finalizers, resizing,
// topology labels), validation, finalizers, grace periods, conflicts and the texts of errors are those of v1.36.3 with default feature
// gates, or those of Config.Gates.
//
// The store differs from a server in details that clients cannot observe, or that make runs reproducible. It has one thread, so writes
// never race. Uids and generated names look random, but depend on earlier writes only. A new claim is stored as Pending at once (API-015).
// Quantities with an exponent beyond 999 are rejected, because their arithmetic would not end. Errors of failed preconditions do not
// contain the etcd key.
//
// Not simulated: authentication, and the admission that API-257 in docs/rules/left-out.md lists. Package apiserver has admission webhooks and
// policies, strategic merge patches, JSON patches and server-side apply.
// [Config].AsGiven and SkipValidation disable rules, for studies of objects that should not exist.
//
// Where to look:
//
//   - create.go, update.go, patch.go, delete.go, binding.go: the steps of each write;
//   - conflict.go: resourceVersions and preconditions; finalizers.go: what keeps a deleted object; admission.go; errors.go;
//   - package strategy: what differs between kinds: defaults, resets and validation of spec and status;
//   - the file of a kind, such as namespace.go, and package services: rules of kinds that need the rest of the cluster;
//   - metadata_validate.go: metadata;
//   - table.go, index.go, watch.go, history.go: storage, lookups and watches;
//   - package manifests reads objects from YAML and JSON; package decode decodes them.
//
// Rules: API-001 to API-262 and API-300 to API-377 of docs/rules/api.md, except those in docs/rules/left-out.md and those about requests, which
// package apiserver has. The garbage collector, API-270 to API-276, is in internal/controllers/garbagecollector.
package store
