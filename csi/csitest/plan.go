package csitest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/volsim/volsim/csi"
	"github.com/volsim/volsim/storage"
)

// plan says what goes wrong in a run.
type plan struct {
	story  *story
	seed   int64
	faults []fault // at most one for each call
}

// fault is something that goes wrong with one call.
type fault struct {
	call int // counted from 1
	kind string
}

// The faults that are no faults of the wire.
const (
	crash  = "crash"  // the sidecar or kubelet crashes after the call and has not saved the reply
	reboot = "reboot" // the node reboots after the call
	// stalled is an overlap of which the repetitions of the call know nothing: they do not reach the driver, so the call meets the one that
	// undoes it.
	stalled = "stalled"
	// untilDetached is stalled for a change of a volume, which meets the call that detaches it.
	untilDetached = "until-detached"
	// untilDeleted is an overlap of CreateVolume with the DeleteVolume of the volume that a repetition has created.
	untilDeleted = "until-deleted"
	// givenUp is an overlap of which the driver knows that the caller gave up. Only a driver in the same process can be observed then.
	givenUp = "given-up"
	// exhausted is only for calls that need space.
	exhausted = "exhausted"
)

// wire has the faults of the wire, by the name that a plan has for them.
var wire = map[string]csi.Fault{
	"undelivered":   {Kind: csi.NotDelivered},
	"lost":          {Kind: csi.LostReply},
	"lost-final":    {Kind: csi.LostReply, Code: storage.Internal},
	"late":          {Kind: csi.Late},
	"twice":         {Kind: csi.Twice},
	"reset":         {Kind: csi.Reset},
	"killed-before": {Kind: csi.KilledBefore},
	"killed-during": {Kind: csi.KilledDuring},
	"killed-after":  {Kind: csi.KilledAfter},
	"overlap":       {Kind: csi.Overlap},
	exhausted:       {Kind: csi.NotDelivered, Code: storage.ResourceExhausted},
	stalled:         {Kind: csi.Overlap},
	untilDetached:   {Kind: csi.Overlap, Until: "ControllerUnpublishVolume"},
	untilDeleted:    {Kind: csi.Overlap, Until: "DeleteVolume"},
	givenUp:         {Kind: csi.Overlap, GivenUp: true},
}

// describe says in words what a fault does.
var describe = map[string]string{
	"undelivered":   "the call is not delivered",
	"lost":          "the reply is lost",
	"lost-final":    "the reply is lost, and the caller gets code Internal",
	"late":          "the reply arrives after the deadline",
	"twice":         "the call is delivered twice",
	"reset":         "the connection breaks during the call",
	"killed-before": "the driver restarts before the call",
	"killed-during": "the driver restarts during the call",
	"killed-after":  "the driver restarts before it replies",
	"overlap":       "the call continues after its deadline and meets the next call of the volume",
	exhausted:       "the storage system has no space for the call",
	stalled:         "the call continues after its deadline, its repetitions do not reach the driver, and it meets the next other call",
	untilDetached:   "the call continues after its deadline, its repetitions do not reach the driver, and it meets ControllerUnpublishVolume",
	untilDeleted:    "the call continues after its deadline and meets DeleteVolume of the volume that its repetition created",
	givenUp:         "the caller gives up, the call continues although its context has ended, and meets the next call of the volume",
	crash:           "the caller crashes before it has saved the reply",
	reboot:          "the node reboots after the call",
}

// kinds returns the faults that can be injected with this configuration, in a fixed order.
func (c *Config) kinds() []string {
	kinds := []string{"lost", "late", "twice", "overlap", stalled, untilDetached, untilDeleted, crash, "undelivered", "reset", exhausted}
	if !c.remote() {
		kinds = append(kinds, givenUp)
	}
	if c.Restart != nil {
		kinds = append(kinds, "killed-after", "killed-during", "killed-before")
	}
	if c.Reboot != nil {
		kinds = append(kinds, reboot)
	}
	return kinds
}

// remote reports whether some service of the driver is in another process.
func (c *Config) remote() bool {
	for _, conn := range append(slices.Collect(maps.Values(c.Nodes)), c.Controller) {
		if _, here := conn.(*csi.Server); !here {
			return true
		}
	}
	return false
}

// at returns the fault of a call, "" for none.
func (p plan) at(call int) string {
	for _, f := range p.faults {
		if f.call == call {
			return f.kind
		}
	}
	return ""
}

// String returns the plan as Config.Replay reads it.
func (p plan) String() string {
	var b strings.Builder
	b.WriteString(p.story.name)
	for _, f := range p.faults {
		fmt.Fprintf(&b, " %s@%d", f.kind, f.call)
	}
	if p.seed != 0 {
		fmt.Fprintf(&b, " seed=%d", p.seed)
	}
	return b.String()
}

// parsePlan reads what String returns.
func parsePlan(text string) (plan, error) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return plan{}, fmt.Errorf("replay %q: no story", text)
	}
	p := plan{story: find(words[0])}
	if p.story == nil {
		return plan{}, fmt.Errorf("replay %q: there is no story %q; csitest.Stories and volsim csi stories list them", text, words[0])
	}
	for _, word := range words[1:] {
		if seed, ok := strings.CutPrefix(word, "seed="); ok {
			n, err := strconv.ParseInt(seed, 10, 64)
			if err != nil {
				return plan{}, fmt.Errorf("replay %q: %q is no number", text, seed)
			}
			p.seed = n
			continue
		}
		kind, call, ok := strings.Cut(word, "@")
		n, err := strconv.Atoi(call)
		if _, known := describe[kind]; !ok || err != nil || n < 1 || !known {
			return plan{}, fmt.Errorf("replay %q: %q is not a fault and the number of a call, such as lost@3", text, word)
		}
		p.faults = append(p.faults, fault{call: n, kind: kind})
	}
	return p, nil
}
