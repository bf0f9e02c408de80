package cron_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/core/cron"
)

// TestNext: the first instant of a schedule after another one.
func TestNext(t *testing.T) {
	const format = "2006-01-02 15:04:05"
	for _, tt := range []struct{ rule, schedule, after, want string }{
		{"JOB-120", "*/5 * * * *", "2026-03-01 10:02:30", "2026-03-01 10:05:00"},
		{"JOB-120", "*/5 * * * *", "2026-03-01 10:05:00", "2026-03-01 10:10:00"},
		{"JOB-120", "0 2 * * *", "2026-02-28 02:00:00", "2026-03-01 02:00:00"},
		{"JOB-120", "30 6-16/4 * * mon-fri", "2026-03-06 14:30:00", "2026-03-09 06:30:00"},
		{"JOB-120", "0 0 1,15 * *", "2026-12-15 00:00:00", "2027-01-01 00:00:00"},
		// Both fields: the first of a month, or a Monday.
		{"JOB-120", "0 0 1 * 1", "2026-03-01 00:00:00", "2026-03-02 00:00:00"},
		// "*/1" is a "*", "*/2" is not.
		{"JOB-120", "0 0 */1 * 1", "2026-03-03 00:00:00", "2026-03-09 00:00:00"},
		{"JOB-120", "0 0 */2 * 1", "2026-03-03 00:00:00", "2026-03-05 00:00:00"},
		{"JOB-120", "0 0 29 2 *", "2026-01-01 00:00:00", "2028-02-29 00:00:00"},
		{"JOB-120", "0 0 31 2 *", "2026-01-01 00:00:00", ""},
		{"JOB-112", "@hourly", "2026-03-01 10:02:30", "2026-03-01 11:00:00"},
		{"JOB-112", "@weekly", "2026-03-01 10:02:30", "2026-03-08 00:00:00"},
		{"JOB-112", "@every 90s", "2026-03-01 10:02:30", "2026-03-01 10:04:00"},
		{"JOB-112", "@every 10ms", "2026-03-01 10:02:30", "2026-03-01 10:02:31"},
		{"JOB-120", "TZ=Europe/Berlin 0 2 * * *", "2026-03-01 10:00:00", "2026-03-02 01:00:00"},
		{"JOB-120", "CRON_TZ=Asia/Kolkata 0 9 * * *", "2026-03-01 10:00:00", "2026-03-02 03:30:00"},
		// On 29 March 2026 there is no 02:30 in Berlin, and on 25 October there are two.
		{"JOB-120", "TZ=Europe/Berlin 30 2 * * *", "2026-03-28 02:00:00", "2026-03-30 00:30:00"},
		{"JOB-120", "TZ=Europe/Berlin 30 2 * * *", "2026-10-25 00:00:00", "2026-10-25 00:30:00"},
		{"JOB-120", "TZ=Europe/Berlin 30 2 * * *", "2026-10-25 00:30:00", "2026-10-25 01:30:00"},
	} {
		t.Run(tt.schedule, func(t *testing.T) {
			s, err := cron.Parse(tt.schedule)
			require.NoError(t, err, tt.rule)
			after, err := time.Parse(format, tt.after)
			require.NoError(t, err)
			got := ""
			if next := s.Next(after); !next.IsZero() {
				got = next.Format(format)
			}
			assert.Equal(t, tt.want, got, tt.rule)
		})
	}
}

// TestZones: our time zones show the time of those of the machine, hour by hour. The zones here have not changed their rules for years.
func TestZones(t *testing.T) {
	for _, name := range []string{"UTC", "Europe/Berlin", "Europe/Dublin", "America/New_York", "America/Sao_Paulo", "Asia/Kolkata", "Australia/Lord_Howe",
		"Pacific/Chatham", "Asia/Tokyo", "Etc/GMT+5"} {
		t.Run(name, func(t *testing.T) {
			ours, err := cron.Zone(name)
			require.NoError(t, err)
			want, err := time.LoadLocation(name)
			require.NoError(t, err)
			assert.Equal(t, name, ours.String())
			for at := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC); at.Year() < 2028; at = at.Add(time.Hour) {
				if got, want := at.In(ours).Format(time.RFC1123Z), at.In(want).Format(time.RFC1123Z); got != want {
					t.Fatalf("JOB-113: %s, want %s", got, want)
				}
			}
		})
	}
	for _, name := range []string{"", "Local", "UTC"} {
		zone, err := cron.Zone(name)
		require.NoError(t, err)
		assert.Equal(t, time.UTC, zone, "JOB-113: %q", name)
	}
	_, err := cron.Zone("europe/berlin")
	assert.EqualError(t, err, "unknown time zone europe/berlin", "JOB-113")
}
