package cron

import "time"

// Schedule says when something happens.
type Schedule struct {
	// period is that of "@every", 0 for a schedule with fields.
	period                                 time.Duration
	minutes, hours, days, months, weekdays values
	// anyDay and anyWeekday are set if the field is "*": then the other one decides alone.
	anyDay, anyWeekday bool
	// zone is the time zone that the schedule names; nil if it names none.
	zone *time.Location
}

// yearsAhead is how many years after the current one Next looks.
const yearsAhead = 5

// Next returns the first instant of the schedule after t, in the location of t. It is the zero time if there is none in the next five years.
// A schedule without a time zone is read in the location of t.
func (s *Schedule) Next(t time.Time) time.Time {
	if s.period > 0 {
		return t.Add(s.period - time.Duration(t.Nanosecond()))
	}
	zone := t.Location()
	if s.zone != nil {
		t = t.In(s.zone)
	}
	next := search{Schedule: s, Time: t.Truncate(time.Second).Add(time.Second), exact: true}
	if !next.find() {
		return time.Time{}
	}
	return next.In(zone)
}

// dayMatches reports whether the day matches: by both fields if one of them is "*", else by one of them (JOB-120).
func (s *Schedule) dayMatches(t time.Time) bool {
	day, weekday := s.days.has(t.Day()), s.weekdays.has(int(t.Weekday()))
	if s.anyDay || s.anyWeekday {
		return day && weekday
	}
	return day || weekday
}

// search is a candidate that moves towards the next instant of a schedule, from the largest unit to the smallest. While it is exact no unit was moved.
type search struct {
	*Schedule
	time.Time
	exact bool
}

// find moves the candidate to the next instant. It reports false if there is none.
func (c *search) find() bool {
	last := c.Year() + yearsAhead
	for c.Year() <= last {
		// Each step reports false if it reached the beginning of a larger unit, which has to match again.
		if c.toMonth() && c.toDay() && c.toHour() && c.toMinute() && c.toSecond() {
			return true
		}
	}
	return false
}

// begin moves the candidate to the beginning of a unit, unless it is at one.
func (c *search) begin(start func() time.Time) {
	if c.exact {
		c.exact, c.Time = false, start()
	}
}

func (c *search) toMonth() bool {
	for !c.months.has(int(c.Month())) {
		c.begin(func() time.Time { return time.Date(c.Year(), c.Month(), 1, 0, 0, 0, 0, c.Location()) })
		if c.Time = c.AddDate(0, 1, 0); c.Month() == time.January {
			return false
		}
	}
	return true
}

func (c *search) toDay() bool {
	for !c.dayMatches(c.Time) {
		c.begin(func() time.Time { return time.Date(c.Year(), c.Month(), c.Day(), 0, 0, 0, 0, c.Location()) })
		c.Time = c.AddDate(0, 0, 1)
		// JOB-120: where the clock changes at midnight, the day begins an hour early or late.
		switch h := c.Hour(); {
		case h > 12:
			c.Time = c.Add(time.Duration(24-h) * time.Hour)
		case h > 0:
			c.Time = c.Add(-time.Duration(h) * time.Hour)
		}
		if c.Day() == 1 {
			return false
		}
	}
	return true
}

// toHour moves by hours that pass, not by those that the clock shows: an hour that the clock skips is skipped, and one that it repeats comes twice
// (JOB-120).
func (c *search) toHour() bool {
	for !c.hours.has(c.Hour()) {
		c.begin(func() time.Time { return time.Date(c.Year(), c.Month(), c.Day(), c.Hour(), 0, 0, 0, c.Location()) })
		if c.Time = c.Add(time.Hour); c.Hour() == 0 {
			return false
		}
	}
	return true
}

func (c *search) toMinute() bool {
	for !c.minutes.has(c.Minute()) {
		c.begin(func() time.Time { return c.Truncate(time.Minute) })
		if c.Time = c.Add(time.Minute); c.Minute() == 0 {
			return false
		}
	}
	return true
}

// toSecond moves to the beginning of a minute.
func (c *search) toSecond() bool {
	for c.Second() != 0 {
		c.begin(func() time.Time { return c.Truncate(time.Second) })
		if c.Time = c.Add(time.Second); c.Second() == 0 {
			return false
		}
	}
	return true
}
