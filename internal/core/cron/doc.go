// Package cron has the schedules of CronJobs, and the time zones in which they are read.
//
// Schedules are those of the library that Kubernetes uses: what it accepts, in which words it refuses, and which instants it finds, also around
// changes of the clock (JOB-112, JOB-120). The package reads neither the clock nor the disk.
package cron
