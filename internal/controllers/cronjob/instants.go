package cronjob

import (
	"errors"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/volsim/volsim/internal/core/cron"
)

const (
	// padding is how long after an instant a CronJob is synced (JOB-121).
	padding = 100 * time.Millisecond
	// manyMissed is the number of missed instants above which a Warning is emitted (JOB-122).
	manyMissed = 100
)

// missed says which instants of a schedule have passed.
type missed struct {
	// since is the time after which instants count: that of the last Job, or else of the creation.
	since time.Time
	// last is the last instant that has passed. It is zero if there is none.
	last time.Time
	// number is about how many have passed; 0 if at most one has.
	number int64
}

// errTooFrequent is upstream's error for a schedule without instants, such as 31 February.
var errTooFrequent = errors.New("time difference between two schedules is less than 1 second")

// findMissed finds the instants that have passed (JOB-122). With deadline those that startingDeadlineSeconds excludes do not count.
func findMissed(c *batchv1.CronJob, now time.Time, schedule *cron.Schedule, deadline bool) (missed, error) {
	m := missed{since: c.CreationTimestamp.Time}
	if c.Status.LastScheduleTime != nil {
		m.since = c.Status.LastScheduleTime.Time
	}
	if deadline && c.Spec.StartingDeadlineSeconds != nil {
		if earliest := now.Add(-time.Duration(*c.Spec.StartingDeadlineSeconds) * time.Second); earliest.After(m.since) {
			m.since = earliest
		}
	}
	first := schedule.Next(m.since)
	second := schedule.Next(first)
	switch {
	case now.Before(first):
		return m, nil
	case now.Before(second):
		m.last = first
		return m, nil
	}
	pause := int64(second.Sub(first).Round(time.Second).Seconds())
	if pause < 1 {
		return m, errTooFrequent
	}
	// The number is that of a schedule whose instants are equally far apart. The search for the last one begins one pause before its estimate.
	m.number = int64(now.Sub(first).Seconds())/pause + 1
	from := first.Add(time.Duration((m.number-2)*pause) * time.Second)
	for t := schedule.Next(from); !t.After(now); t = schedule.Next(t) {
		m.last = t
	}
	return m, nil
}

// untilNext is the time until the next sync of a CronJob: the first instant after the last one that has passed, with some padding.
func untilNext(c *batchv1.CronJob, now time.Time, schedule *cron.Schedule) time.Duration {
	from := now
	switch m, err := findMissed(c, now, schedule, false); {
	case err != nil:
	case !m.last.IsZero():
		from = m.last
	case m.number == 0:
		from = m.since
	}
	return schedule.Next(from).Add(padding).Sub(now)
}
