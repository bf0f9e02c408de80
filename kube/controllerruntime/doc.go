// Package controllerruntime connects controller-runtime to a simulated cluster.
//
//   - [Wrap] puts volsim behind the fake client that a test already has: PersistentVolumes, claims, pods, nodes and storage objects belong
//     to a cluster whose controllers run; all other kinds stay with the fake. It is the cheapest path for an existing test.
//   - [NewClient] returns a client of a cluster.
//   - [Add] runs a manager, with its caches, queues and reconcilers unmodified, as a controller of the cluster: in virtual time, in an
//     order that the seed chooses, with latency, lag, faults and crashes. With one seed two runs are identical.
//
// How [Add] works: operator.go has one life of a manager, manager.go what the manager of a life does otherwise, request.go its requests and
// watch events, pump.go turns them into tasks of the engine, sorted.go removes the random order of client-go's caches,
// errors.go keeps what a failed test reports.
//
// Limits of [Add]: a goroutine that waits for a mutex, while another makes a request with that mutex locked, hangs the test; the bubble
// knows no such waits. Leader election, webhooks and metrics servers do not run.
package controllerruntime
