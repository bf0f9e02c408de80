package main

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/explain"
	"github.com/volsim/volsim/internal/tools/dump"
	"github.com/volsim/volsim/internal/tools/predict"
)

const explainLong = `Explain says why claims, pods, volumes and attachments of a real cluster are in the state they are in: the rule that decides, every
candidate with the first rule that refused it, who has to act next, and when anything can change by itself. Without an object it
explains all that is not as it should be.

The cluster is then played ahead, to see what changes by itself.

Events in the dump tell the last errors of components. Where claims name a VolumeAttributesClass, or a CSI driver publishes its
capacity, add volumeattributesclasses and csistoragecapacities to what is dumped.`

const explainExamples = `  kubectl get pv,pvc,sc,pods,nodes,volumeattachments,csidrivers,csinodes,events -A -o yaml > dump.yaml

  # Why is this claim Pending, or this pod?
  volsim explain -f dump.yaml pvc/shop/data
  volsim explain -f dump.yaml pod/shop/db-0
  # What is wrong in this cluster?
  volsim explain -f dump.yaml
  # As data, and without playing ahead.
  volsim explain -f dump.yaml --ahead 0s -o json pv/pv1`

func newExplain() *cobra.Command {
	var flags dumpFlags
	ahead := 10 * time.Minute
	cmd := &cobra.Command{
		Use:     "explain -f DUMP [OBJECT...]",
		Short:   "Say why something in a real cluster is in the state it is in",
		Long:    explainLong,
		Example: explainExamples,
		RunE: func(cmd *cobra.Command, args []string) error {
			if ahead < 0 {
				return usageError{fmt.Errorf("--ahead is %v: give zero or more", ahead)}
			}
			var refs []api.Ref
			for _, arg := range args {
				ref, err := explain.ParseRef(arg)
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
	cmd.Flags().DurationVar(&ahead, "ahead", ahead, "how far the cluster is played ahead; zero is not at all")
	return cmd
}

// answer is what explain prints.
type answer struct {
	Now          time.Time             `json:"now"`
	Explanations []explain.Explanation `json:"explanations"`
	// Ahead is how far the cluster was played, and Outcomes what happened to the objects and what they wait for.
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
	explainer := c.Explainer()
	told := map[string]bool{} // explained already, below something that is printed
	for _, ref := range refs {
		if all && told[explain.Name(ref)] {
			continue
		}
		x, err := explainer.Object(ref)
		if err != nil {
			return nil, err
		}
		if all && x.Changes.When == explain.Settled {
			continue
		}
		mark(told, &x)
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

// withoutRelated leaves out what is explained below something that comes later. Nothing is explained below what came before it.
func withoutRelated(all []explain.Explanation) []explain.Explanation {
	below := map[string]bool{}
	for i := range all {
		for j := range all[i].Related {
			mark(below, &all[i].Related[j])
		}
	}
	return slices.DeleteFunc(all, func(x explain.Explanation) bool { return below[x.Object] })
}

// refsOf are the objects of a dump that can be explained: pods first, for they lead to the others.
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

// mark notes which objects an explanation is about.
func mark(shown map[string]bool, x *explain.Explanation) {
	shown[x.Object] = true
	for i := range x.Related {
		mark(shown, &x.Related[i])
	}
}

func (a *answer) writeText(w io.Writer) error {
	if len(a.Explanations) == 0 {
		_, err := fmt.Fprintln(w, "All claims, pods, volumes and attachments are as they should be.")
		return err
	}
	for i := range a.Explanations {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := a.Explanations[i].WriteText(w, a.Now); err != nil {
			return err
		}
	}
	switch {
	case a.Ahead == 0:
	case len(a.Outcomes) == 0:
		fmt.Fprintf(w, "\nplayed %s ahead: nothing about it changes\n", a.Ahead)
	default:
		fmt.Fprintf(w, "\nplayed %s ahead:\n", a.Ahead)
		writeOutcomes(w, a.Outcomes)
	}
	return writeNotes(w, a.Notes)
}
