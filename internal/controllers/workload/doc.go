// Package workload has what the controllers of workloads share: the pods of a controller, pods from templates, revisions, and the check that
// an informer has delivered a controller's own writes.
package workload
