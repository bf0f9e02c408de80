// Package job is the Job controller of kube-controller-manager, and the controller that deletes finished Jobs (ttl-after-finished).
//
// A Job creates pods until enough of them have succeeded. A finalizer keeps each pod until its end is counted: first the status names the pod
// as uncounted, then the finalizer goes, then the counter grows. So no pod is counted twice, also if the controller crashes in between.
//
// Containers do not run here: the annotations volsim.dev/run-for and volsim.dev/exit-phase in the template say when and how a pod ends.
//
// The rules are JOB-001 to JOB-108 in docs/rules/workloads.md. Start reading in controller.go.
package job
