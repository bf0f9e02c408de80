package picture

import "encoding/json"

// document is the data of a page. model.js reads its JSON. Numbers without a unit are indexes into one of its lists.
type document struct {
	Title string `json:"title"`
	Note  string `json:"note,omitempty"`
	// Start is the virtual time at the left end of the axis; Span is the length of the axis in nanoseconds.
	Start string `json:"start"`
	Span  int64  `json:"span"`
	// Texts has each text of an entry once.
	Texts   []string `json:"texts"`
	Actors  []string `json:"actors"`
	Rules   []rule   `json:"rules"`
	Phases  []phase  `json:"phases"`
	Lanes   []*lane  `json:"lanes"`
	Entries entries  `json:"entries"`
	// Chapters are the parts of the run, in order.
	Chapters []chapter `json:"chapters,omitempty"`
}

type chapter struct {
	Title    string    `json:"title"`
	Text     string    `json:"text,omitempty"`
	Commands []command `json:"commands"`
}

type command struct {
	Line int    `json:"line,omitempty"`
	Text string `json:"text"`
	// Step is the first entry after the command began, which may belong to a later command; the number of entries if there is none.
	Step int `json:"step"`
	// From and To are nanoseconds since the start.
	From    int64  `json:"from"`
	To      int64  `json:"to"`
	Output  string `json:"output,omitempty"`
	Error   string `json:"error,omitempty"`
	Expects bool   `json:"expects,omitempty"`
	Failed  bool   `json:"failed,omitempty"`
}

type rule struct {
	ID   string `json:"id"`
	File string `json:"file,omitempty"`
	Text string `json:"text,omitempty"`
}

// phase is a state that is shown as a bar. Tone selects the colour.
type phase struct {
	Name string `json:"name"`
	Tone tone   `json:"tone"`
}

// lane is one object, component or volume of a backend.
type lane struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Label is shown instead of the name, unless empty.
	Label string `json:"label,omitempty"`
	// APIVersion is the version of the kind; empty if the lane is not an object.
	APIVersion string `json:"apiVersion,omitempty"`
	// Bars has four numbers for each bar: nanoseconds since the start, the phase or -1 for none, 1 if the object is being deleted, and
	// the entry that started the bar or -1.
	Bars     []int64   `json:"bars"`
	Versions []version `json:"versions"`
	// Related are the lanes of related objects, in ascending order.
	Related []int `json:"related"`
}

// entries are the columns of a table with one row for each entry of the trace. -1 is no value.
type entries struct {
	// Seq is the difference to the Seq of the entry before, 0 for a violation. Time is the difference to the time of the entry before, in
	// nanoseconds.
	Seq   []uint64 `json:"seq"`
	Time  []int64  `json:"time"`
	Type  []mark   `json:"type"`
	Actor []int    `json:"actor"`
	Lane  []int    `json:"lane"`
	Rule  []int    `json:"rule"`
	// Head and Text are indexes of texts: a headline of a few words, and the rest.
	Head []int `json:"head"`
	Text []int `json:"text"`
	// Err is the text of the error of a failed entry.
	Err map[int]int `json:"err"`
	// Also has further lanes that show the mark.
	Also map[int][]int `json:"also"`
	// Because is the decision behind a write, and Until the end of a storage call that takes time; both are indexes of entries.
	Because map[int]int `json:"because"`
	Until   map[int]int `json:"until"`
}

// mark is the type of an entry as it is drawn.
type mark int

const (
	markDecision mark = iota
	markWrite
	markUser // a write by the user
	markStorage
	markEvent
	markWarning
	markFault
	markCrash
	markRetry
	markNote // an action of a workload, without a rule
	markViolation
	markStart
)

// encode writes the document as JSON without "<", ">" and "&".
func (d *document) encode() ([]byte, error) { return json.Marshal(d) }
