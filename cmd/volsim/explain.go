package main

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/explain"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/internal/core/objname"
	"github.com/volsim/volsim/internal/tools/dump"
	"github.com/volsim/volsim/internal/tools/predict"
)

const explainLong = `Explain why claims, pods, volumes and attachments of a real cluster are in their state: the rule that decides, every candidate with
the first rule that rejects it, who has to act next, and when the state can change without action. Without OBJECT it explains
everything that is not in its desired state.

It then simulates the next minutes (--ahead) to show what changes without action.

Events in the dump supply the last errors of components. If claims use a VolumeAttributesClass, or a CSI driver publishes its
capacity, add volumeattributesclasses and csistoragecapacities to the dump.`

const explainExamples = `  kubectl get pv,pvc,sc,pods,nodes,volumeattachments,csidrivers,csinodes,events -A -o yaml > dump.yaml

  # Why is this claim Pending, or this pod?
  volsim explain -f dump.yaml pvc/shop/data
  volsim explain -f dump.yaml pod/shop/db-0
  # What is wrong in this cluster?
  volsim explain -f dump.yaml
  # As JSON, without simulating ahead.
  volsim explain -f dump.yaml --ahead 0s -o json pv/pv1`

func newExplain() *cobra.Command {
	var flags dumpFlags
	ahead := 10 * time.Minute
	cmd := &cobra.Command{
		Use:     "explain -f DUMP [OBJECT...]",
		Short:   "Explain the state of claims, pods, volumes and attachments of a real cluster",
		Long:    explainLong,
		Example: explainExamples,
		RunE: func(cmd *cobra.Command, args []string) error {
			if ahead < 0 {
				return usageError{fmt.Errorf("invalid --ahead %v: must not be negative", ahead)}
			}
			var refs []api.Ref
			for _, arg := range args {
				ref, err := objname.Parse(arg)
				if err != nil {
					return usageError{err}
				}
				refs = append(refs, ref)
			}
			d, opts, err := flags.read(cmd)
			if err != nil {
				return err
			}
			answer, err := explainDump(d, refs, opts, ahead)
			if err != nil {
				return err
			}
			return flags.print(cmd.OutOrStdout(), answer, answer.writeText)
		},
	}
	flags.register(cmd)
	cmd.Flags().DurationVar(&ahead, "ahead", ahead, "virtual time to simulate ahead; 0 skips it")
	return cmd
}

// answer is the output of explain.
type answer struct {
	Now          time.Time             `json:"now"`
	Explanations []explain.Explanation `json:"explanations"`
	// Ahead is the simulated time. Outcomes lists what happened in it to the explained objects and those they wait for.
	Ahead    predict.Span      `json:"ahead,omitzero"`
	Outcomes []predict.Outcome `json:"outcomes,omitempty"`
	Notes    []string          `json:"notes,omitempty"`
}

func explainDump(d *dump.Dump, refs []api.Ref, opts dump.Options, ahead time.Duration) (*answer, error) {
	if opts.Now.IsZero() {
		opts.Now = d.Newest()
	}
	c, err := d.Start(opts)
	if err != nil {
		return nil, err
	}
	a := &answer{Now: c.Now(), Notes: c.Notes}
	all := len(refs) == 0
	if all {
		refs = refsOf(d)
	}
	explainer := explain.New(internals.Snapshot(c))
	explained := map[string]bool{} // already explained as part of another object
	for _, ref := range refs {
		if all && explained[objname.Of(ref)] {
			continue
		}
		x, err := explainer.Object(ref)
		if err != nil {
			return nil, err
		}
		if all && x.Changes.When == explain.Settled {
			continue
		}
		mark(explained, &x)
		a.Explanations = append(a.Explanations, x)
	}
	if all {
		a.Explanations = withoutRelated(a.Explanations)
	}
	shown := map[string]bool{}
	for i := range a.Explanations {
		mark(shown, &a.Explanations[i])
	}
	if ahead == 0 || len(a.Explanations) == 0 {
		return a, nil
	}
	p, err := predict.Predict(d, nil, predict.Options{Options: opts, For: ahead})
	if err != nil {
		return nil, err
	}
	a.Ahead = predict.Span(ahead)
	for _, o := range p.Outcomes {
		if o.Anyway = false; shown[o.Object] {
			a.Outcomes = append(a.Outcomes, o)
		}
	}
	return a, nil
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

// refsOf returns the objects of a dump that can be explained: pods first, because they lead to the others.
func refsOf(d *dump.Dump) []api.Ref {
	var refs []api.Ref
	for _, kind := range []api.Kind{api.Pod, api.PersistentVolumeClaim, api.PersistentVolume, api.VolumeAttachment} {
		for _, obj := range d.Objects {
			if api.KindOf(obj) == kind {
				refs = append(refs, api.RefTo(obj))
			}
		}
	}
	return refs
}

// mark adds the objects of an explanation to the set.
func mark(shown map[string]bool, x *explain.Explanation) {
	shown[x.Object] = true
	for i := range x.Related {
		mark(shown, &x.Related[i])
	}
}

func (a *answer) writeText(w io.Writer) error {
	if len(a.Explanations) == 0 {
		_, err := fmt.Fprintln(w, "All claims, pods, volumes and attachments are in their desired state.")
		return err
	}
	for i := range a.Explanations {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w, a.Explanations[i])
	}
	switch {
	case a.Ahead == 0:
	case len(a.Outcomes) == 0:
		fmt.Fprintf(w, "\nwithin %s: no change\n", a.Ahead)
	default:
		fmt.Fprintf(w, "\nwithin %s:\n", a.Ahead)
		writeOutcomes(w, a.Outcomes)
	}
	return writeNotes(w, a.Notes)
}
