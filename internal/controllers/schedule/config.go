package schedule

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// ActorName is the scheduler's name as an actor.
const ActorName = "kube-scheduler"

// component is the source of the scheduler's Events.
const component = "default-scheduler"

// Figures that a configuration may change.
const (
	DefaultBindTimeout          = 600 * time.Second // SCHED-005
	DefaultInitialBackoff       = 1 * time.Second   // SCHED-007
	DefaultMaxBackoff           = 10 * time.Second  // SCHED-007
	DefaultUnschedulableTimeout = 5 * time.Minute   // SCHED-009
)

// Figures that are fixed.
const (
	bindPollInterval = time.Second      // SCHED-006
	backoffWindow    = time.Second      // SCHED-008
	flushPeriod      = 30 * time.Second // SCHED-009
	noteLimit        = 1024             // SCHED-012
	manyNodes        = 100              // SCHED-025
)

// Config sets up the scheduler. The zero value is that of a new cluster.
type Config struct {
	// Profiles are the values of spec.schedulerName that this scheduler answers to; none is default-scheduler.
	Profiles []string
	// BindTimeout is how long a pod waits for its claims to be bound; zero is 10 minutes (SCHED-005).
	BindTimeout time.Duration
	// InitialBackoff is the pause after the first failure, doubled on each further one up to MaxBackoff; zero is 1 s and 10 s
	// (SCHED-007).
	InitialBackoff, MaxBackoff time.Duration
	// UnschedulableTimeout is how long a pod that fits nowhere waits until it is tried again although nothing has happened; zero
	// is 5 minutes (SCHED-009).
	UnschedulableTimeout time.Duration
	// Score says how well a pod is placed on a node that it fits on: the highest wins, ties go by name. It must depend on its
	// arguments alone. Nil holds all nodes equal (SCHED-026, SCHED-120).
	Score func(pod *corev1.Pod, node *corev1.Node) int64
}

func (cfg *Config) complete() error {
	for _, d := range []struct {
		field    string
		value    *time.Duration
		standard time.Duration
	}{
		{"BindTimeout", &cfg.BindTimeout, DefaultBindTimeout},
		{"InitialBackoff", &cfg.InitialBackoff, DefaultInitialBackoff},
		{"MaxBackoff", &cfg.MaxBackoff, DefaultMaxBackoff},
		{"UnschedulableTimeout", &cfg.UnschedulableTimeout, DefaultUnschedulableTimeout},
	} {
		if *d.value < 0 {
			return fmt.Errorf("schedule: %s is %v: give zero for the default of %v, or more", d.field, *d.value, d.standard)
		}
		if *d.value == 0 {
			*d.value = d.standard
		}
	}
	if cfg.InitialBackoff > cfg.MaxBackoff {
		return fmt.Errorf("schedule: InitialBackoff is %v and MaxBackoff %v: give a maximum that is not less", cfg.InitialBackoff, cfg.MaxBackoff)
	}
	if slices.Contains(cfg.Profiles, "") {
		return fmt.Errorf("schedule: Profiles has an empty name: leave it out, or name a scheduler")
	}
	if len(cfg.Profiles) == 0 {
		cfg.Profiles = []string{corev1.DefaultSchedulerName}
	}
	return nil
}

// responsible reports whether the pod asks for this scheduler.
func (cfg *Config) responsible(pod *corev1.Pod) bool {
	name := pod.Spec.SchedulerName
	if name == "" {
		name = corev1.DefaultSchedulerName
	}
	// SCHED-020
	return slices.Contains(cfg.Profiles, name)
}
