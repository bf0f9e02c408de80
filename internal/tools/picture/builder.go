package picture

import (
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/tools/graph"
	"github.com/volsim/volsim/internal/tools/rules"
	"github.com/volsim/volsim/trace"
)

// builder builds the document of a run.
type builder struct {
	run     Run
	doc     document
	index   index
	reasons graph.Reasons
	start   time.Time
	err     error

	lanes       map[laneKey]int
	states      []*laneState
	bases       map[string]prototype
	phases      map[phase]int
	texts       map[string]int
	actors      map[string]int
	rules       map[string]int
	related     map[relation]struct{}
	attachments map[attachmentKey]string
	pods        map[int]string   // the nodes of pods, by lane
	off         map[string]bool  // nodes without power
	begun       map[api.Call]int // storage calls that have not ended, by the entry of their start
	bySeq       map[uint64]int   // decisions, by Seq
	lastSeq     uint64
	lastTime    int64
}

func newBuilder(run Run) *builder {
	b := &builder{
		run: run, index: indexOf(run.Trace), lanes: map[laneKey]int{}, bases: map[string]prototype{}, phases: map[phase]int{},
		texts: map[string]int{}, actors: map[string]int{}, rules: map[string]int{}, related: map[relation]struct{}{},
		attachments: map[attachmentKey]string{}, pods: map[int]string{}, off: map[string]bool{},
		begun: map[api.Call]int{}, bySeq: map[uint64]int{},
	}
	b.doc = document{
		Title: run.Title, Note: run.Note, Chapters: []chapter{}, Texts: []string{}, Actors: []string{}, Rules: []rule{}, Phases: []phase{}, Lanes: []*lane{},
		Entries: entries{
			Seq: []uint64{}, Time: []int64{}, Type: []mark{}, Actor: []int{}, Lane: []int{}, Rule: []int{}, Head: []int{}, Text: []int{},
			Err: map[int]int{}, Also: map[int][]int{}, Because: map[int]int{}, Until: map[int]int{},
		},
	}
	return b
}

// build reads the trace once and inserts the violations at their times.
func (b *builder) build() *builder {
	end := b.span()
	violations := slices.Clone(b.run.Violations)
	slices.SortStableFunc(violations, func(x, y Violation) int { return x.Time.Compare(y.Time) })
	for e := range b.run.Trace.Entries() {
		for len(violations) > 0 && violations[0].Time.Before(e.Time) {
			b.violation(violations[0])
			violations = violations[1:]
		}
		b.entry(e)
	}
	for _, v := range violations {
		b.violation(v)
	}
	b.fillRelated()
	b.fillRules()
	b.fillChapters()
	b.doc.Start = b.start.UTC().Format(time.RFC3339Nano)
	b.doc.Span = int64(end.Sub(b.start))
	return b
}

func (b *builder) encode() ([]byte, error) {
	if b.err != nil {
		return nil, b.err
	}
	return b.doc.encode()
}

// span sets the start of the axis and returns its end.
func (b *builder) span() (end time.Time) {
	first := true
	reach := func(t time.Time) {
		if t.IsZero() {
			return
		}
		if first || t.Before(b.start) {
			b.start = t
		}
		if first || t.After(end) {
			end = t
		}
		first = false
	}
	reach(b.run.Start)
	reach(b.run.End)
	for e := range b.run.Trace.Entries() {
		reach(e.Time)
	}
	for _, v := range b.run.Violations {
		reach(v.Time)
	}
	return end
}

// row is one row of the table of entries.
type row struct {
	seq        uint64
	time       int64
	mark       mark
	actor      string
	lanes      []int // the first lane owns the entry
	rule       string
	head, text string
	err        error
}

// add appends a row and returns its index.
func (b *builder) add(r row) int {
	t := &b.doc.Entries
	i := len(t.Seq)
	t.Seq = append(t.Seq, r.seq-b.lastSeq)
	t.Time = append(t.Time, r.time-b.lastTime)
	b.lastSeq, b.lastTime = r.seq, r.time
	t.Type = append(t.Type, r.mark)
	t.Actor = append(t.Actor, intern(b.actors, &b.doc.Actors, r.actor))
	lane := -1
	if len(r.lanes) > 0 {
		lane = r.lanes[0]
	}
	t.Lane = append(t.Lane, lane)
	if len(r.lanes) > 1 {
		t.Also[i] = r.lanes[1:]
	}
	t.Rule = append(t.Rule, b.rule(r.rule))
	t.Head = append(t.Head, intern(b.texts, &b.doc.Texts, r.head))
	t.Text = append(t.Text, intern(b.texts, &b.doc.Texts, r.text))
	if r.err != nil {
		t.Err[i] = intern(b.texts, &b.doc.Texts, r.err.Error())
	}
	return i
}

func (b *builder) violation(v Violation) {
	r := row{seq: b.lastSeq, time: int64(v.Time.Sub(b.start)), mark: markViolation, head: v.Name, text: v.Text}
	if lane := b.objectLane(v.Object); lane >= 0 {
		r.lanes = []int{lane}
	}
	if len(v.Rules) > 0 {
		r.rule = v.Rules[0]
	}
	if len(v.Rules) > 1 {
		r.text += " (" + strings.Join(v.Rules, ", ") + ")"
	}
	b.add(r)
}

// rule returns the index of a rule in the document, -1 for none.
func (b *builder) rule(id string) int {
	if id == "" {
		return -1
	}
	i, ok := b.rules[id]
	if !ok {
		i = len(b.doc.Rules)
		b.doc.Rules = append(b.doc.Rules, rule{ID: id})
		b.rules[id] = i
	}
	return i
}

// fillRules adds the texts of the rules that occur.
func (b *builder) fillRules() {
	for _, r := range rules.All() {
		if i, ok := b.rules[r.ID]; ok {
			b.doc.Rules[i].File, b.doc.Rules[i].Text = r.File, r.Text
		}
	}
}

// fillChapters adds the chapters with the entries at which their commands begin.
func (b *builder) fillChapters() {
	seqs := make([]uint64, len(b.doc.Entries.Seq)) // a violation repeats the number of the entry before it
	seq := uint64(0)
	for i, difference := range b.doc.Entries.Seq {
		seq += difference
		seqs[i] = seq
	}
	for _, c := range b.run.Chapters {
		drawn := chapter{Title: c.Title, Text: c.Text, Commands: []command{}}
		for _, x := range c.Commands {
			step := sort.Search(len(seqs), func(i int) bool { return seqs[i] > x.Seq })
			drawn.Commands = append(drawn.Commands, command{
				Line: x.Line, Text: x.Text, Step: step, From: int64(x.From.Sub(b.start)), To: int64(x.To.Sub(b.start)), Output: x.Output,
				Error: x.Error, Expects: x.Expects, Failed: x.Failed,
			})
		}
		b.doc.Chapters = append(b.doc.Chapters, drawn)
	}
}

// intern returns the index of a text in a list without duplicates, -1 for "".
func intern(places map[string]int, list *[]string, text string) int {
	if text == "" {
		return -1
	}
	i, ok := places[text]
	if !ok {
		i = len(*list)
		*list = append(*list, text)
		places[text] = i
	}
	return i
}

// fail records the first error.
func (b *builder) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// write stores the change that a write made to its object.
func (b *builder) write(e trace.Entry, lane, entry int, at int64) {
	if e.Err != nil || objects.IsNil(e.Old) && objects.IsNil(e.New) {
		return
	}
	if !objects.IsNil(e.Old) && b.states[lane].seen != e.Old {
		// The trace lacks the earlier writes.
		b.fail(b.version(lane, -1, e.Old))
		b.bar(lane, b.unseen(lane, at), e.Old, -1)
	}
	b.fail(b.version(lane, entry, e.New))
	b.bar(lane, at, e.New, entry)
	if !objects.IsNil(e.New) {
		b.relate(lane, e.New)
	}
}

// unseen returns the time from which an object exists whose creation the trace lacks: the start, if its lane is empty.
func (b *builder) unseen(lane int, at int64) int64 {
	if len(b.doc.Lanes[lane].Bars) == 0 {
		return 0
	}
	return at
}
