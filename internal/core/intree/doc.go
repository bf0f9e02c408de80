// Package intree translates volumes and classes of the in-tree cloud plugins into those of the CSI drivers that replaced them, and back.
// Kubernetes v1.36 has no code of its own for these plugins: controllers, sidecars and kubelets translate what they read, and the API
// keeps what the user wrote.
//
// Start with plugins.go, which lists the plugins; volume.go translates PersistentVolumes and sources in pods, class.go StorageClasses,
// back.go new volumes, topology.go where volumes can be used. Rules: docs/rules/migration.md.
package intree
