package differential_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	robfig "github.com/robfig/cron/v3"

	"github.com/volsim/volsim/internal/core/cron"
)

// TestSchedules compares schedules with those of the library that the real controller uses: the error, or some instants after a random time.
func TestSchedules(t *testing.T) {
	r := rand.New(rand.NewPCG(*first, 48))
	valid := 0
	for range 20 * *objects {
		text := randomSchedule(r)
		theirs, wrong := robfig.ParseStandard(text)
		ours, err := cron.Parse(text)
		if fmt.Sprint(err) != fmt.Sprint(wrong) {
			t.Fatalf("JOB-112: %q: error %v, upstream %v", text, err, wrong)
		}
		if err != nil {
			continue
		}
		valid++
		at := time.Unix(r.Int64N(4_000_000_000), r.Int64N(2)*r.Int64N(1_000_000_000)).UTC()
		for range 4 {
			got, want := ours.Next(at), theirs.Next(at)
			if !got.Equal(want) {
				t.Fatalf("JOB-120: %q after %v: %v, upstream %v", text, at, got, want)
			}
			at = got
		}
	}
	if valid < 5**objects {
		t.Errorf("only %d of the schedules are valid", valid)
	}
}

// randomSchedule returns the text of a schedule, which may be invalid. Its time zones have had one rule since 1970.
func randomSchedule(r *rand.Rand) string {
	if r.IntN(12) == 0 {
		return choose(r, "@daily", "@hourly", "@weekly", "@monthly", "@yearly", "@annually", "@midnight", "@every 90s", "@every 1.5s", "@every 10ms", "@every x", "@never", "", "* * * *")
	}
	value := func(low, high int, names string) string {
		switch list := strings.Fields(names); r.IntN(12) {
		case 0:
			if len(list) > 0 {
				return list[r.IntN(len(list))]
			}
		case 1:
			return choose(r, "x", "-1", "70", "0", "7")
		}
		return fmt.Sprint(low + r.IntN(high-low+1))
	}
	field := func(low, high int, names string) string {
		if r.IntN(3) == 0 {
			return choose(r, "*", "*", "*", "?", "*/1")
		}
		var parts []string
		for range choose(r, 1, 1, 1, 2, 3) {
			part := value(low, high, names)
			if r.IntN(3) == 0 {
				part += "-" + value(low, high, names)
			}
			if r.IntN(8) == 0 {
				part = choose(r, "*", part, part+"-3")
			}
			if r.IntN(3) == 0 {
				part += fmt.Sprintf("/%d", r.IntN(8))
			}
			parts = append(parts, part)
		}
		return strings.Join(parts, ",")
	}
	zone := choose(r, "", "", "", "TZ=Asia/Kolkata ", "CRON_TZ=Etc/GMT+5 ", "TZ=UTC ", "TZ=Nowhere ", "TZ=Asia/Dubai  ")
	return zone + strings.Join([]string{field(0, 59, ""), field(0, 23, ""), field(1, 31, ""), field(1, 12, "JAN feb dec"), field(0, 6, "sun Fri")}, " ")
}
