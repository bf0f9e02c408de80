// Package cronjob is the CronJob controller of kube-controller-manager.
//
// A CronJob creates a Job for each instant of its schedule, at most one for each, also after a crash: the name of the Job contains the instant. It
// names the Jobs that have not ended in its status, and deletes old ones that have.
//
// The rules are JOB-120 to JOB-141 in docs/rules/workloads.md. Start reading in controller.go.
package cronjob
