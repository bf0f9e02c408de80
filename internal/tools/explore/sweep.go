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

// Sweep is the result of running a script with many seeds, or with one shard of them.
type Sweep struct {
	// Script is the name of the script, Sum a hash of its text. All shards of a sweep have the same.
	Script string `json:"script"`
	Sum    string `json:"sum"`
	// From and To are the first and last seed of the whole sweep.
	From int64 `json:"from"`
	To   int64 `json:"to"`
	// Shards is the number of shards, Done the indexes of those that were run, from 0 on.
	Shards int   `json:"shards"`
	Done   []int `json:"done"`
	// Some and Chosen are those of the Script.
	Some   bool `json:"some,omitempty"`
	Chosen bool `json:"chosen,omitempty"`
	// Runs is the number of seeds that were run.
	Runs   int64 `json:"runs"`
	Report `json:"-"`
}

// Seeds calls yield with each seed of one shard, in order. A shard has every Shards-th seed, so slow seeds in a row are spread over all
// shards.
func (s *Sweep) Seeds(shard int, yield func(seed int64) bool) {
	for offset := int64(shard); offset <= s.To-s.From; offset += int64(s.Shards) {
		if !yield(s.From+offset) || offset > s.To-s.From-int64(s.Shards) {
			return
		}
	}
}

// Count returns the number of seeds of one shard.
func (s *Sweep) Count(shard int) int64 {
	n := s.To - s.From + 1
	each, more := n/int64(s.Shards), n%int64(s.Shards)
	if int64(shard) < more {
		each++
	}
	return each
}

// Complete reports whether all shards were run.
func (s *Sweep) Complete() bool { return len(s.Done) == s.Shards }

// Missing returns the shards that were not run.
func (s *Sweep) Missing() []int {
	var missing []int
	for i := range s.Shards {
		if !slices.Contains(s.Done, i) {
			missing = append(missing, i)
		}
	}
	return missing
}

// record is a line of a sweep written as JSON. Type says which other field is set.
type record struct {
	Type      string    `json:"type"` // sweep, outcome, violation, failed, some, end
	Sweep     *Sweep    `json:"sweep,omitempty"`
	Outcome   *Found    `json:"outcome,omitempty"`
	Violation *Violated `json:"violation,omitempty"`
	Line      *Line     `json:"line,omitempty"`
	Lines     int       `json:"lines,omitempty"` // for an end: the number of lines before it
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

// WriteJSON writes the sweep as JSON, one object per line: the sweep, its results, and an end, by which Merge recognizes a complete shard.
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

// Merge joins the output of the shards of one sweep, in any order, from one stream or several. A shard that occurs twice counts once, and
// one without an end does not count, as when a pod was lost and its work was repeated. The result of all shards equals that of the whole
// sweep, byte for byte; [Sweep.Missing] lists missing shards. It returns an error for shards of different sweeps and for lines that are not
// of a sweep.
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
		return nil, errors.New("merge sweeps: no complete shard in the input; pass the output of volsim sweep -o json")
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
		return fmt.Errorf("merge sweeps: shards of different sweeps: %s and %s", s, part)
	}
	fresh := slices.DeleteFunc(slices.Clone(part.Done), func(i int) bool { return slices.Contains(s.Done, i) })
	switch {
	case len(fresh) == 0:
		return nil
	case len(fresh) < len(part.Done):
		return fmt.Errorf("merge sweeps: some of the shards %v were merged before; merge the output of each shard once", part.Done)
	}
	s.Done = append(s.Done, part.Done...)
	s.Runs += part.Runs
	s.Add(part.Report)
	return nil
}

// String identifies the sweep.
func (s *Sweep) String() string {
	return fmt.Sprintf("%s (%s) with seeds %d..%d in %d shards", s.Script, s.Sum, s.From, s.To, s.Shards)
}

// maxLine limits a line; the outcome of a large cluster is long.
const maxLine = 64 << 20

// readSweeps returns the sweeps that have an end.
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
			return nil, fmt.Errorf("line %d is not a line of volsim sweep -o json: %w", n, err)
		}
		lines++
		switch {
		case rec.Type == "sweep" && rec.Sweep != nil:
			if err := rec.Sweep.check(); err != nil {
				return nil, fmt.Errorf("line %d: %w", n, err)
			}
			at, lines = rec.Sweep, 1
		case at == nil:
			return nil, fmt.Errorf("line %d: %q precedes the first line of a sweep", n, rec.Type)
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
			return nil, fmt.Errorf("line %d: %q is not a line of a sweep", n, rec.Type)
		}
	}
	if err := scanner.Err(); err != nil {
		return nil, err
	}
	return sweeps, nil
}

// check returns an error for an impossible sweep.
func (s *Sweep) check() error {
	if s.Shards < 1 || s.To < s.From || s.From < 0 {
		return fmt.Errorf("invalid sweep: seeds %d..%d in %d shards", s.From, s.To, s.Shards)
	}
	for _, i := range s.Done {
		if i < 0 || i >= s.Shards {
			return fmt.Errorf("invalid shard %d of %d: the first one is 0", i, s.Shards)
		}
	}
	return nil
}
