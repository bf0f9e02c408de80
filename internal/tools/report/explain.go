package report

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/explain"
	"github.com/volsim/volsim/internal/core/evidence"
	"github.com/volsim/volsim/internal/core/objname"
	"github.com/volsim/volsim/internal/tools/advice"
	"github.com/volsim/volsim/internal/tools/dump"
	"github.com/volsim/volsim/internal/tools/predict"
)

// Answer is the output of explain.
type Answer struct {
	Now          time.Time             `json:"now"`
	Explanations []explain.Explanation `json:"explanations"`
	// Ahead is the simulated time. Outcomes lists what happened in it to the explained objects and those they wait for.
	Ahead    predict.Span      `json:"ahead,omitzero"`
	Outcomes []predict.Outcome `json:"outcomes,omitempty"`
	// Assumptions are about drivers, nodes and controllers, from the evidence in the dump or as requested.
	Assumptions []evidence.Assumption `json:"assumptions,omitempty"`
	// Ways are simulated changes that help, by object: for the objects that the user named, or else for those that wait for the user.
	Ways  []waysOut `json:"ways,omitempty"`
	Notes []string  `json:"notes,omitempty"`

	// all: the user named no object. live: the objects are those of a running cluster.
	all, live bool
	// subject are the objects that the user asked for: "All claims in namespace shop"; "" if there are none.
	subject string
}

// waysOut are the ways after which one object reaches its desired state.
type waysOut struct {
	Object string       `json:"object"`
	Ways   []advice.Way `json:"ways"`
}

// startingEvents is about the number of events that controllers need for each object of a dump before they have synced it once. With
// fewer, no virtual time would pass.
const startingEvents = 4

// shownWays is the number of ways that are printed for an object.
const shownWays = 5

// Explain explains the named objects of a dump, or of others those that are not in their desired state, and simulates what changes within
// ahead.
//
// work limits the number of simulated events, as predict.Options.Work does; Answer.Ahead then is the time that they took. progress, unless
// nil, is called with the number of objects explained so far and the number of all.
func Explain(d *dump.Dump, asked Selection, opts dump.Options, ahead time.Duration, work int, progress func(done, all int)) (*Answer, error) {
	if progress == nil {
		progress = func(int, int) {}
	}
	if err := d.CheckApplied(); err != nil {
		return nil, err
	}
	refs, err := asked.find(d)
	if err != nil {
		return nil, err
	}
	if opts.Now.IsZero() {
		opts.Now = d.Newest()
	}
	still := opts
	still.NoTrace, still.Still = true, true
	c, err := d.Start(still)
	if err != nil {
		return nil, err
	}
	a := &Answer{Now: c.Now(), Notes: c.Notes, live: d.Whole, all: len(asked.named) == 0}
	if a.all {
		var missing []string
		a.subject, missing = asked.subject(d)
		a.Notes = append(slices.Clip(a.Notes), missing...)
	}
	now := c.Snapshot()
	tooLarge := work > 0 && len(d.Objects)*startingEvents > work
	predicted := sync.OnceValues(func() (*predict.Prediction, error) {
		return predict.Predict(d, nil, predict.Options{Options: opts, For: ahead, Work: work})
	})
	if d.HasPolicies() && opts.Policies != nil && ahead > 0 && !tooLarge {
		// What the policies refuse shows only while the controllers act.
		p, err := predicted()
		if err != nil {
			return nil, err
		}
		now.Refusals = p.Refusals
	}
	if err := a.explain(explain.New(now), refs, len(asked.kinds) == 0, progress); err != nil {
		return nil, err
	}
	shown := map[string]bool{}
	for i := range a.Explanations {
		mark(shown, &a.Explanations[i])
	}
	a.Assumptions = slices.DeleteFunc(slices.Clone(c.Evidence.All()),
		func(of evidence.Assumption) bool { return of.Object != "" && !shown[of.Object] })
	if ahead == 0 || len(a.Explanations) == 0 {
		return a, nil
	}
	if tooLarge {
		a.Notes = append(a.Notes, fmt.Sprintf("Nothing was simulated, because the cluster is large; --ahead %s simulates %[1]s and ways out.",
			predict.Span(ahead)))
		return a, nil
	}
	p, err := predicted()
	if err != nil {
		return nil, err
	}
	if a.all {
		refs = a.manual()
	}
	if err := a.findWays(d, opts, a.withPods(refs), work); err != nil {
		return nil, err
	}
	addVolumes(c, shown)
	a.addOutcomes(p, shown, predict.Span(ahead))
	return a, nil
}

// explain adds the explanations of objects. If the user named none, it leaves out those in their desired state and those that another
// explanation contains; ofAnyKind says that the user chose no kinds either.
func (a *Answer) explain(explainer *explain.Explainer, refs []api.Ref, ofAnyKind bool, progress func(done, all int)) error {
	known := map[string]bool{} // already explained as part of another object
	for i, ref := range refs {
		progress(i, len(refs))
		if a.all && known[objname.Of(ref)] {
			continue
		}
		x, err := explainer.Object(ref)
		if err != nil {
			return err
		}
		// What a workload waits for has an explanation of its own.
		ofPods := ofAnyKind && runsPods(ref.Kind) && x.Root().Object != x.Object
		if a.all && (ofPods || x.Changes.When == explain.Settled) {
			continue
		}
		mark(known, &x)
		a.Explanations = append(a.Explanations, x)
	}
	if a.all {
		a.Explanations = withoutRelated(a.Explanations)
	}
	return nil
}

// addOutcomes adds what happened to the shown objects in the simulated time. asked is the time that the user asked for.
func (a *Answer) addOutcomes(p *predict.Prediction, shown map[string]bool, asked predict.Span) {
	a.Ahead = predict.Span(p.Until.Sub(p.From))
	if a.Ahead < asked {
		a.Notes = append(a.Notes, fmt.Sprintf("Simulated %s ahead, because the cluster is large; --ahead %s simulates %[2]s.", a.Ahead, asked))
	}
	for _, o := range p.Outcomes {
		// What a workload owns belongs to it, also what it makes meanwhile.
		if o.Owner != "" && shown[o.Owner] {
			shown[o.Object] = true
		}
		if o.Anyway = false; shown[o.Object] && !a.lacksContent(o.Object) {
			a.Outcomes = append(a.Outcomes, o)
		}
	}
}

// addVolumes adds the volumes of the attachments in a set of objects: what happens to an attachment is an outcome of its volume.
func addVolumes(c *dump.Cluster, shown map[string]bool) {
	for object := range shown {
		ref, err := objname.Parse(object)
		if err != nil || ref.Kind != api.VolumeAttachment {
			continue
		}
		if attachment, err := c.Attachments.Get(ref.Key); err == nil && attachment.Spec.Source.PersistentVolumeName != nil {
			shown[objname.Of(api.Ref{Kind: api.PersistentVolume, Key: *attachment.Spec.Source.PersistentVolumeName})] = true
		}
	}
}

// manyCandidates is the number of candidates in an answer from which JSON and YAML list those that explanations share only once.
const manyCandidates = 100_000

// MarshalJSON returns the answer as JSON.
func (a *Answer) MarshalJSON() ([]byte, error) {
	type plain Answer
	answer := plain(*a)
	total := 0
	for i := range a.Explanations {
		total += len(a.Explanations[i].Candidates)
	}
	if total > manyCandidates {
		first := map[*explain.Candidate]string{}
		answer.Explanations = slices.Clone(a.Explanations)
		for i := range answer.Explanations {
			x := &answer.Explanations[i]
			if len(x.Candidates) == 0 {
				continue
			}
			listed, known := first[&x.Candidates[0]]
			if !known {
				first[&x.Candidates[0]] = x.Object
				continue
			}
			x.Candidates = nil
			x.Notes = append(slices.Clip(x.Notes), "its candidates are those of "+listed)
		}
	}
	return json.Marshal(answer)
}

// manual returns the explained objects that wait for the user; of those that are alike, the first.
func (a *Answer) manual() []api.Ref {
	var refs []api.Ref
	for _, group := range groupAlike(a.Explanations) {
		if x := group[0]; x.Changes.When == explain.Manual {
			if ref, err := objname.Parse(x.Object); err == nil {
				refs = append(refs, ref)
			}
		}
	}
	return refs
}

// lacksContent reports whether an object is a namespace with objects that the dump does not have: the simulation deletes it, and the real
// controller does not.
func (a *Answer) lacksContent(object string) bool {
	return slices.ContainsFunc(a.Explanations, func(x explain.Explanation) bool {
		return x.Object == object && strings.HasPrefix(object, "namespace/") && x.Changes.When == explain.Manual && len(x.Related) == 0
	})
}

// withPods returns the references with the objects that workloads and namespaces among them wait for in place of those.
func (a *Answer) withPods(refs []api.Ref) []api.Ref {
	var all []api.Ref
	var add func(x *explain.Explanation)
	add = func(x *explain.Explanation) {
		ref, err := objname.Parse(x.Object)
		switch {
		case err != nil || x.Changes.When == explain.Settled:
		case hasWays(ref.Kind):
			all = append(all, ref)
		default:
			for i := range x.Related {
				add(&x.Related[i])
			}
		}
	}
	for _, ref := range refs {
		if hasWays(ref.Kind) {
			all = append(all, ref)
			continue
		}
		for i := range a.Explanations {
			if a.Explanations[i].Object == objname.Of(ref) {
				add(&a.Explanations[i])
			}
		}
	}
	return unique(all)
}

// findWays finds what helps the objects.
func (a *Answer) findWays(d *dump.Dump, opts dump.Options, refs []api.Ref, work int) error {
	budget := advice.NoLimit
	if work > 0 {
		budget = advice.Budget(work)
	}
	for _, ref := range refs {
		ways, err := advice.Find(d, opts, ref, &budget)
		if err != nil {
			return err
		}
		if len(ways) > 0 {
			a.Ways = append(a.Ways, waysOut{Object: objname.Of(ref), Ways: ways})
		}
	}
	if budget.Exhausted() {
		a.Notes = append(a.Notes, "Not every way out was simulated, because the cluster is large; --ahead 1h simulates all of them.")
	}
	return nil
}

// writeWays writes what helps, with the commands to type.
func (a *Answer) writeWays(w io.Writer) {
	for _, out := range a.Ways {
		fmt.Fprintf(w, "\nways out for %s (each simulated):\n", out.Object)
		if a.all {
			a.writeBestWay(w, out)
			continue
		}
		for i := range out.Ways {
			if i == shownWays {
				fmt.Fprintf(w, "  %d more; -o json lists them\n", len(out.Ways)-i)
				break
			}
			writeWay(w, i, &out.Ways[i], true)
		}
	}
}

// writeBestWay writes the first way, without manifests, and the command that shows the rest.
func (a *Answer) writeBestWay(w io.Writer, out waysOut) {
	best := &out.Ways[0]
	long := slices.ContainsFunc(best.Commands, func(c advice.Command) bool { return c.Manifest != "" })
	writeWay(w, 0, best, !long)
	var rest []string
	if long {
		rest = append(rest, "the commands")
	}
	if more := len(out.Ways) - 1; more > 0 {
		rest = append(rest, fmt.Sprintf("%d more", more))
	}
	if len(rest) > 0 {
		from := "-f DUMP"
		if a.live {
			from = "--cluster"
		}
		fmt.Fprintf(w, "  %s: volsim explain %s %s\n", strings.Join(rest, " and "), from, out.Object)
	}
}

func writeWay(w io.Writer, i int, way *advice.Way, commands bool) {
	risk := way.Danger.String()
	if way.Risk != "" {
		risk += ": " + way.Risk
	}
	fmt.Fprintf(w, "  %d. %s (%s)\n", i+1, oneLine(way.Does), oneLine(risk))
	for _, command := range way.Commands {
		indent := "       "
		if command.Manifest != "" {
			indent = "" // the shell wants the end of the input at the begin of a line
		}
		if commands {
			fmt.Fprintf(w, "%s%s\n", indent, command)
		}
	}
	fmt.Fprintf(w, "     then %s\n", way.Result)
}

// withoutRelated removes explanations that also appear below a later one. The caller already skipped those that appear below an earlier
// one.
func withoutRelated(all []explain.Explanation) []explain.Explanation {
	below := map[string]bool{}
	for i := range all {
		for j := range all[i].Related {
			mark(below, &all[i].Related[j])
		}
	}
	return slices.DeleteFunc(all, func(x explain.Explanation) bool { return below[x.Object] })
}

// mark adds the objects of an explanation to the set.
func mark(shown map[string]bool, x *explain.Explanation) {
	shown[x.Object] = true
	for i := range x.Related {
		mark(shown, &x.Related[i])
	}
}

// WriteText writes the answer as the command prints it.
func (a *Answer) WriteText(w io.Writer) error {
	if len(a.Explanations) == 0 {
		if a.subject == "" {
			_, err := fmt.Fprintln(w, strings.Join(a.Notes, "\n"))
			return err
		}
		fmt.Fprintln(w, a.subject+" are in their desired state.")
		return writeNotes(w, a.Notes)
	}
	for i, group := range groupAlike(a.Explanations) {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w, group)
	}
	a.writeWays(w)
	switch {
	case a.Ahead == 0:
	case len(a.Outcomes) == 0:
		fmt.Fprintf(w, "\nwithin %s: no change\n", a.Ahead)
	default:
		fmt.Fprintf(w, "\nwithin %s:\n", a.Ahead)
		writeOutcomes(w, a.Outcomes)
	}
	return writeNotes(w, append(assumptionLines(a.Assumptions), a.Notes...))
}
