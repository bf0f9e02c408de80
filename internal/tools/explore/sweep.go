package explore

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Sweep is what came of playing a script with many seeds, or with a share of them.
type Sweep struct {
	// Script is the name of the script, Sum stands for its text: shards of one sweep have the same.
	Script string `json:"script"`
	Sum    string `json:"sum"`
	// From and To are the first and the last seed of the whole sweep.
	From int64 `json:"from"`
	To   int64 `json:"to"`
	// Shards is into how many shares the seeds are dealt, Done which of them were played, counted from 0.
	Shards int   `json:"shards"`
	Done   []int `json:"done"`
	// Some and Chosen are those of the Script.
	Some   bool `json:"some,omitempty"`
	Chosen bool `json:"chosen,omitempty"`
	// Played is how many seeds were played.
	Played int64 `json:"played"`
	Report `json:"-"`
}

// Seeds calls yield with each seed of one shard, in order: every Shards-th, so that no shard is late because hard seeds lie together.
func (s *Sweep) Seeds(shard int, yield func(seed int64) bool) {
	for offset := int64(shard); offset <= s.To-s.From; offset += int64(s.Shards) {
		if !yield(s.From+offset) || offset > s.To-s.From-int64(s.Shards) {
			return
		}
	}
}

// Count is the number of seeds of one shard.
func (s *Sweep) Count(shard int) int64 {
	n := s.To - s.From + 1
	each, more := n/int64(s.Shards), n%int64(s.Shards)
	if int64(shard) < more {
		each++
	}
	return each
}

// Complete reports whether all seeds were played.
func (s *Sweep) Complete() bool { return len(s.Done) == s.Shards }

// Missing are the shards that were not played.
func (s *Sweep) Missing() []int {
	var missing []int
	for i := range s.Shards {
		if !slices.Contains(s.Done, i) {
			missing = append(missing, i)
		}
	}
	return missing
}

// record is a line of a sweep written as JSON. Type says which of the others it is about.
type record struct {
	Type      string    `json:"type"` // sweep, outcome, violation, failed, some, end
	Sweep     *Sweep    `json:"sweep,omitempty"`
	Outcome   *Found    `json:"outcome,omitempty"`
	Violation *Violated `json:"violation,omitempty"`
	Line      *Line     `json:"line,omitempty"`
	Lines     int       `json:"lines,omitempty"` // of an end: how many there are before it
}

func (s *Sweep) records() []record {
	records := []record{{Type: "sweep", Sweep: s}}
	for i := range s.Outcomes {
		records = append(records, record{Type: "outcome", Outcome: &s.Outcomes[i]})
	}
	for i := range s.Violated {
		records = append(records, record{Type: "violation", Violation: &s.Violated[i]})
	}
	for i := range s.Failed {
		records = append(records, record{Type: "failed", Line: &s.Failed[i]})
	}
	for i := range s.Report.Some {
		records = append(records, record{Type: "some", Line: &s.Report.Some[i]})
	}
	return append(records, record{Type: "end", Lines: len(records)})
}

// WriteJSON writes the sweep as JSON, an object to a line: first the sweep, then what was found, then an end, by which Merge knows that nothing
// is missing.
func (s *Sweep) WriteJSON(w io.Writer) error {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	for _, r := range s.records() {
		if err := encoder.Encode(r); err != nil {
			return fmt.Errorf("explore: %w", err)
		}
	}
	_, err := out.WriteTo(w)
	return err
}

// Merge joins what shards of one sweep wrote, in any order and in one stream or several. A shard that is there twice counts once, and one that
// breaks off before its end does not count, as when a pod was lost and its work done again. With all shards the result is that of the whole
// sweep, byte for byte; [Sweep.Missing] tells of the others. Shards of different sweeps are refused, and so are lines that are none of a sweep.
func Merge(streams ...io.Reader) (*Sweep, error) {
	var whole *Sweep
	for _, stream := range streams {
		sweeps, err := readSweeps(stream)
		if err != nil {
			return nil, err
		}
		for _, part := range sweeps {
			if whole == nil {
				whole = part
				continue
			}
			if err := whole.join(part); err != nil {
				return nil, err
			}
		}
	}
	if whole == nil {
		return nil, errors.New("there is no whole shard of a sweep in it: give what volsim sweep -o json wrote")
	}
	slices.Sort(whole.Done)
	if whole.Complete() {
		whole.Shards, whole.Done = 1, []int{0}
	}
	return whole, nil
}

// join adds a shard.
func (s *Sweep) join(part *Sweep) error {
	same := s.Sum == part.Sum && s.From == part.From && s.To == part.To && s.Shards == part.Shards
	if !same {
		return fmt.Errorf("these are shards of different sweeps: %s and %s", s, part)
	}
	fresh := slices.DeleteFunc(slices.Clone(part.Done), func(i int) bool { return slices.Contains(s.Done, i) })
	switch {
	case len(fresh) == 0:
		return nil
	case len(fresh) < len(part.Done):
		return fmt.Errorf("shards %v were merged before, in part with others: merge what the shards wrote themselves", part.Done)
	}
	s.Done = append(s.Done, part.Done...)
	s.Played += part.Played
	s.Add(part.Report)
	return nil
}

// String tells one sweep from another.
func (s *Sweep) String() string {
	return fmt.Sprintf("%s (%s) with seeds %d..%d in %d shards", s.Script, s.Sum, s.From, s.To, s.Shards)
}

// maxLine bounds a line: an outcome of a large cluster is long.
const maxLine = 64 << 20

// readSweeps reads all sweeps that came to their end.
func readSweeps(r io.Reader) ([]*Sweep, error) {
	var sweeps []*Sweep
	var at *Sweep
	lines := 0
	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, maxLine)
	for n := 1; scanner.Scan(); n++ {
		if len(bytes.TrimSpace(scanner.Bytes())) == 0 {
			continue
		}
		var rec record
		if err := json.Unmarshal(scanner.Bytes(), &rec); err != nil {
			return nil, fmt.Errorf("line %d is no line of volsim sweep -o json: %w", n, err)
		}
		lines++
		switch {
		case rec.Type == "sweep" && rec.Sweep != nil:
			if err := rec.Sweep.check(); err != nil {
				return nil, fmt.Errorf("line %d: %w", n, err)
			}
			at, lines = rec.Sweep, 1
		case at == nil:
			return nil, fmt.Errorf("line %d: %q stands before the line that begins a sweep", n, rec.Type)
		case rec.Type == "outcome" && rec.Outcome != nil:
			at.Outcomes = append(at.Outcomes, *rec.Outcome)
		case rec.Type == "violation" && rec.Violation != nil:
			at.Violated = append(at.Violated, *rec.Violation)
		case rec.Type == "failed" && rec.Line != nil:
			at.Failed = append(at.Failed, *rec.Line)
		case rec.Type == "some" && rec.Line != nil:
			at.Report.Some = append(at.Report.Some, *rec.Line)
		case rec.Type == "end":
			if rec.Lines == lines-1 {
				sweeps = append(sweeps, at)
			}
			at = nil
		default:
			return nil, fmt.Errorf("line %d: %q is no line of a sweep", n, rec.Type)
		}
	}
	if err := scanner.Err(); err != nil {
		return nil, err
	}
	return sweeps, nil
}

// check refuses a sweep that cannot be.
func (s *Sweep) check() error {
	if s.Shards < 1 || s.To < s.From || s.From < 0 {
		return fmt.Errorf("a sweep of seeds %d..%d in %d shards cannot be", s.From, s.To, s.Shards)
	}
	for _, i := range s.Done {
		if i < 0 || i >= s.Shards {
			return fmt.Errorf("there is no shard %d of %d: they count from 0", i, s.Shards)
		}
	}
	return nil
}
