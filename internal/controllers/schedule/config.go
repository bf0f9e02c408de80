package schedule

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// component is the source of the scheduler's Events.
const component = "default-scheduler"

// Defaults of the fields of Config.
const (
	DefaultBindTimeout          = 600 * time.Second // SCHED-005
	DefaultRetryStart           = 1 * time.Second   // SCHED-007
	DefaultRetryMax             = 10 * time.Second  // SCHED-007
	DefaultUnschedulableTimeout = 5 * time.Minute   // SCHED-009
	DefaultParallelism          = 16                // SCHED-243
)

// Constants of kube-scheduler that cannot be configured.
const (
	bindPollInterval = time.Second      // SCHED-006
	backoffWindow    = time.Second      // SCHED-008
	flushPeriod      = 30 * time.Second // SCHED-009
	noteLimit        = 1024             // SCHED-012
	manyNodes        = 100              // SCHED-025
)

// Config configures the scheduler. The zero value has the defaults of Kubernetes.
type Config struct {
	// Profiles are the values of spec.schedulerName whose pods it schedules; empty: default-scheduler only.
	Profiles []string
	// BindTimeout limits how long a pod waits for its claims to be bound; zero is 10 minutes (SCHED-005).
	BindTimeout time.Duration
	// RetryStart is the pause after a pod's first failure; it doubles with each further failure up to RetryMax. Zero is 1 s, and 10 s
	// for RetryMax (SCHED-007).
	RetryStart, RetryMax time.Duration
	// UnschedulableTimeout is the time after which a pod that fits on no node is tried again although nothing has changed; zero is 5 minutes
	// (SCHED-009).
	UnschedulableTimeout time.Duration
	// Parallelism is the number of victims of a preemption that are evicted at the same time; zero is 16 (SCHED-243).
	Parallelism int
	// Score rates a node that a pod fits on. The highest score wins, ties are decided by name (SCHED-026). It must depend on its arguments
	// alone. Nil is the sum of the scores of the default plugins (SCHED-121).
	Score func(pod *corev1.Pod, node *corev1.Node) int64
}

func (cfg *Config) complete() error {
	for _, d := range []struct {
		field string
		value *time.Duration
		zero  time.Duration // the default
	}{
		{"BindTimeout", &cfg.BindTimeout, DefaultBindTimeout},
		{"RetryStart", &cfg.RetryStart, DefaultRetryStart},
		{"RetryMax", &cfg.RetryMax, DefaultRetryMax},
		{"UnschedulableTimeout", &cfg.UnschedulableTimeout, DefaultUnschedulableTimeout},
	} {
		if *d.value < 0 {
			return fmt.Errorf("schedule: %s is %v: set zero for the default of %v, or more", d.field, *d.value, d.zero)
		}
		if *d.value == 0 {
			*d.value = d.zero
		}
	}
	if cfg.RetryStart > cfg.RetryMax {
		return fmt.Errorf("schedule: RetryStart is %v and RetryMax %v: set a maximum that is not less", cfg.RetryStart, cfg.RetryMax)
	}
	if cfg.Parallelism < 0 {
		return fmt.Errorf("schedule: Parallelism is %d: set zero for the default of %d, or more", cfg.Parallelism, DefaultParallelism)
	}
	if cfg.Parallelism == 0 {
		cfg.Parallelism = DefaultParallelism
	}
	if slices.Contains(cfg.Profiles, "") {
		return fmt.Errorf("schedule: Profiles has an empty name: remove it, or name a scheduler")
	}
	if len(cfg.Profiles) == 0 {
		cfg.Profiles = []string{corev1.DefaultSchedulerName}
	}
	return nil
}

// responsible reports whether the pod names this scheduler.
func (cfg *Config) responsible(pod *corev1.Pod) bool {
	name := pod.Spec.SchedulerName
	if name == "" {
		name = corev1.DefaultSchedulerName
	}
	// SCHED-020: a scheduler ignores the pods of others.
	return slices.Contains(cfg.Profiles, name)
}
