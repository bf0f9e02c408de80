package csitest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// shard returns which shard of the stories runs, from 0, and the number of shards.
func (c *Config) shard() (index, shards int, err error) {
	if c.Shard == "" {
		return 0, 1, nil
	}
	if index, shards, err = parseShard(c.Shard); err != nil {
		return 0, 0, fmt.Errorf("test a CSI driver: Config.Shard %w", err)
	}
	return index, shards, nil
}

// parseShard reads I/N.
func parseShard(text string) (index, shards int, err error) {
	first, last, _ := strings.Cut(text, "/")
	index, err1 := strconv.Atoi(first)
	shards, err2 := strconv.Atoi(last)
	if err1 != nil || err2 != nil || index < 0 || index >= shards {
		return 0, 0, fmt.Errorf("%q; use I/N with I from 0 to N-1, such as 0/4", text)
	}
	return index, shards, nil
}

// selected returns the stories that run, in order.
func (c *Config) selected() ([]*story, error) {
	index, shards, err := c.shard()
	if err != nil {
		return nil, err
	}
	var all []*story
	n := 0
	for i := range stories {
		if len(c.Stories) > 0 && !slices.Contains(c.Stories, stories[i].name) {
			continue
		}
		if n%shards == index {
			all = append(all, &stories[i])
		}
		n++
	}
	return all, nil
}

// Merge joins the reports of the shards of one test, in any order. A shard that occurs twice counts once. It returns an error if a shard is
// missing, or if the reports are of different drivers or different tests; and with the report, if no shard ran a story.
func Merge(reports ...*Report) (*Report, error) {
	if len(reports) == 0 {
		return nil, errors.New("merge reports: no report; give those of all shards")
	}
	var shards []*Report
	driver := "" // a shard whose driver did not start has none
	for _, r := range reports {
		index, n, err := parseShard(r.Shard)
		switch {
		case err != nil:
			return nil, fmt.Errorf("merge reports: shard %w", err)
		case shards == nil:
			shards = make([]*Report, n)
		case n != len(shards):
			return nil, fmt.Errorf("merge reports: shard %s is of another test; the first one has %d shards", r.Shard, len(shards))
		case r.Driver != "" && driver != "" && r.Driver != driver:
			return nil, fmt.Errorf("merge reports: shard %s is of driver %q, the first one of %q", r.Shard, r.Driver, driver)
		}
		driver = orElse(driver, r.Driver)
		shards[index] = r
	}
	merged := &Report{Driver: driver}
	var missing []string
	for i, r := range shards {
		if r == nil {
			missing = append(missing, fmt.Sprintf("%d/%d", i, len(shards)))
			continue
		}
		merged.join(r)
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("merge reports: missing shards %s; run them and merge again", strings.Join(missing, ", "))
	}
	merged.finish()
	if err := merged.unasked(); err != nil {
		return merged, fmt.Errorf("merge reports: %w", err)
	}
	return merged, nil
}

// join adds the results of a shard.
func (r *Report) join(shard *Report) {
	for _, f := range shard.Findings {
		f.recall()
		at := slices.IndexFunc(r.Findings, func(g Finding) bool { return g.Kind == f.Kind && g.Method == f.Method && g.about == f.about })
		if at < 0 {
			r.Findings = append(r.Findings, f)
			continue
		}
		known := &r.Findings[at]
		runs := known.Runs + f.Runs
		if caused, was := len(f.causes) > 0, len(known.causes) > 0; was && !caused || was == caused && len(f.Calls) < len(known.Calls) {
			*known = f
		}
		known.Runs = runs
	}
	for _, text := range shard.Kubernetes {
		if !slices.Contains(r.Kubernetes, text) {
			r.Kubernetes = append(r.Kubernetes, text)
		}
	}
	r.Stories, r.Skipped = append(r.Stories, shard.Stories...), append(r.Skipped, shard.Skipped...)
	slices.SortStableFunc(r.Stories, func(a, b StoryResult) int { return position(a.Story) - position(b.Story) })
	slices.SortStableFunc(r.Skipped, func(a, b Skipped) int { return position(a.Story) - position(b.Story) })
	r.Runs, r.Calls = r.Runs+shard.Runs, r.Calls+shard.Calls
}

// recall sets what a report in JSON does not have: it evaluates the recorded replies again.
func (f *Finding) recall() {
	if f.trace != nil || f.Recorded == "" {
		return
	}
	if _, found, err := readRecorded(f.Recorded); err == nil && found != nil {
		f.about, f.causes = found.about, causes(*found)
	}
}

// position returns the position of a story among all.
func position(name string) int {
	return slices.IndexFunc(stories, func(s story) bool { return s.name == name })
}
