package picture

import "encoding/json"

// document is the data of a page. Its JSON is what model.js reads; numbers without a unit are places in one of its lists.
type document struct {
	Title string `json:"title"`
	// Start is the virtual time of the left end of the axis, Span how many nanoseconds it is long.
	Start string `json:"start"`
	Span  int64  `json:"span"`
	// Texts are all texts that entries have, each once.
	Texts   []string `json:"texts"`
	Actors  []string `json:"actors"`
	Rules   []rule   `json:"rules"`
	Phases  []phase  `json:"phases"`
	Lanes   []*lane  `json:"lanes"`
	Entries entries  `json:"entries"`
}

type rule struct {
	ID   string `json:"id"`
	File string `json:"file,omitempty"`
	Text string `json:"text,omitempty"`
}

// phase is a state with a bar of its own. Tone chooses the colour.
type phase struct {
	Name string `json:"name"`
	Tone tone   `json:"tone"`
}

// lane is one object, component or piece of storage.
type lane struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Label says it better than the name, if not empty.
	Label string `json:"label,omitempty"`
	// APIVersion is that of the kind, empty if the lane is no object.
	APIVersion string `json:"apiVersion,omitempty"`
	// Bars are four numbers each: nanoseconds since the start, the phase or -1 for none, 1 if the object is being deleted, and the
	// entry that brought it about or -1.
	Bars     []int64   `json:"bars"`
	Versions []version `json:"versions"`
	// Related are the lanes that this one is bound up with, in ascending order.
	Related []int `json:"related"`
}

// entries are the columns of a table with a row for each entry of the trace; -1 stands for nothing.
type entries struct {
	// Seq is that of each entry less that of the one before it; of a violation 0. Time is the same in nanoseconds.
	Seq   []uint64 `json:"seq"`
	Time  []int64  `json:"time"`
	Type  []mark   `json:"type"`
	Actor []int    `json:"actor"`
	Lane  []int    `json:"lane"`
	Rule  []int    `json:"rule"`
	// Head and Text are texts: what it is in a few words, and the rest.
	Head []int `json:"head"`
	Text []int `json:"text"`
	// Err is the text of the error, for those that failed.
	Err map[int]int `json:"err"`
	// Also are further lanes with the mark.
	Also map[int][]int `json:"also"`
	// Because is the decision behind a write, Until the end of a storage call that takes time, both as entries.
	Because map[int]int `json:"because"`
	Until   map[int]int `json:"until"`
}

// mark is the sort of an entry, as it is drawn.
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
	markNote // a decision that no rule stands behind: what a workload does
	markViolation
	markStart
)

// encode writes the document as JSON without "<", ">" and "&".
func (d *document) encode() ([]byte, error) { return json.Marshal(d) }
