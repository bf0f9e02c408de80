package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/volsim/volsim/internal/tools/predict"
)

const predictLong = `Simulate a change of a real cluster and report its effects: which volumes are deleted with their data, which pods stop, what gets
stuck, and when. The cluster is also simulated without the change; effects that occur in both are marked with ~.

Steps, separated by the word then:
`

const predictExamples = `  kubectl get pv,pvc,sc,pods,nodes,volumeattachments,csidrivers,csinodes -A -o yaml > dump.yaml

  # Is it safe to delete this claim?
  volsim predict -f dump.yaml -- delete pvc/shop/data
  # Where do the pods of a node go, and do their volumes follow?
  volsim predict -f dump.yaml -- drain node/n1
  # A node dies: how long is the database down, and what if an operator acts after ten minutes?
  volsim predict -f dump.yaml -- lose node/n1
  volsim predict -f dump.yaml -- lose node/n1 then wait 10m then out-of-service node/n1
  # Does the data survive with another reclaim policy?
  volsim predict -f dump.yaml -- patch pv/pv1 '{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}' then delete pvc/shop/data
  # What happens without any change?
  volsim predict -f dump.yaml --for 2h -- nothing`

func newPredict() *cobra.Command {
	var flags dumpFlags
	var namespace string
	opts := predict.Options{For: predict.DefaultFor}
	cmd := &cobra.Command{
		Use:     "predict -f DUMP -- STEP [then STEP]...",
		Short:   "Predict the effects of a change on a real cluster and its data",
		Long:    predictLong + "  " + strings.Join(predict.Help(), "\n  "),
		Example: predictExamples,
		RunE: func(cmd *cobra.Command, args []string) error {
			if opts.For <= 0 {
				return usageError{fmt.Errorf("invalid --for %v: must be positive", opts.For)}
			}
			steps, err := predict.ParseIn(namespace, args, os.ReadFile)
			if err != nil {
				return usageError{err}
			}
			d, begin, err := flags.read(cmd)
			if err != nil {
				return err
			}
			opts.Options = begin
			p, err := predict.Predict(d, steps, opts)
			if err != nil {
				return err
			}
			return flags.print(cmd.OutOrStdout(), p, func(w io.Writer) error { return writePrediction(w, p) })
		},
	}
	flags.register(cmd)
	cmd.Flags().DurationVar(&opts.For, "for", opts.For, "virtual time to simulate after the last step")
	cmd.Flags().StringVarP(&namespace, "namespace", "n", "default", "namespace of claims and pods that are written without one")
	cmd.Flags().BoolVar(&opts.NoReplacements, "no-replacements", false, "do not replace deleted pods of ReplicaSets and StatefulSets")
	return cmd
}

func writePrediction(w io.Writer, p *predict.Prediction) error {
	fmt.Fprintf(w, "%s, at %s\n\n", strings.Join(p.Steps, ", then "), p.From.UTC().Format(time.RFC3339))
	writeLosses(w, p)
	for _, problem := range p.Problems {
		fmt.Fprintf(w, "WARNING: storage %s\n", problem)
	}
	for _, o := range p.Prevented {
		fmt.Fprintf(w, "Prevented: %s: %s, after %s\n", o.Object, o.What, o.After)
	}
	if len(p.Outcomes) == 0 {
		fmt.Fprintln(w, "\nNo effects.")
	} else {
		fmt.Fprintln(w, "\nTimeline (! = pod stops or data is lost, ~ = would happen without this change too):")
		writeOutcomes(w, p.Outcomes)
	}
	if len(p.Stuck) > 0 {
		fmt.Fprintf(w, "\nStuck after %s:\n", predict.Span(p.Until.Sub(p.From)))
		for i := range p.Stuck {
			fmt.Fprintln(w, p.Stuck[i])
		}
	}
	return writeNotes(w, p.Notes)
}

// writeLosses writes what happens to the data; it comes first.
func writeLosses(w io.Writer, p *predict.Prediction) {
	lost := 0
	for _, loss := range p.Lost {
		anyway := ""
		if loss.Anyway {
			anyway = " (would happen without this change too)"
		} else {
			lost++
		}
		fmt.Fprintf(w, "WARNING: DATA IS LOST after %s: %s%s\n", loss.After, describeLoss(loss), anyway)
	}
	for _, loss := range p.Threatened {
		anyway := ""
		if loss.Anyway {
			anyway = " (would happen without this change too)"
		} else {
			lost++
		}
		fmt.Fprintf(w, "WARNING: DATA WILL BE LOST: %s: %s%s\n", describeLoss(loss), loss.When, anyway)
	}
	if lost == 0 {
		fmt.Fprintf(w, "No data is lost through this change within %s.\n", predict.Span(p.Until.Sub(p.From)))
	}
}

func describeLoss(loss predict.Loss) string {
	text := fmt.Sprintf("volume %s (%s in %s)", loss.Volume, loss.Handle, loss.Backend)
	if loss.Size != "" {
		text += ", " + loss.Size
	}
	if loss.Claim != "" {
		text += ", claim " + loss.Claim
	}
	return text
}

// writeOutcomes writes a line for each outcome, with the time since the start.
func writeOutcomes(w io.Writer, outcomes []predict.Outcome) {
	width := 0
	for _, o := range outcomes {
		width = max(width, len(o.Object))
	}
	for _, o := range outcomes {
		mark := " "
		switch {
		case o.Anyway:
			mark = "~"
		case o.Kind == predict.Loses || o.Kind == predict.Stops:
			mark = "!"
		}
		fmt.Fprintf(w, "%8s %s %-*s  %s\n", o.After, mark, width, o.Object, o.What)
	}
}

func writeNotes(w io.Writer, notes []string) error {
	for i, note := range notes {
		if i == 0 {
			fmt.Fprintln(w)
		}
		if _, err := fmt.Fprintln(w, note); err != nil {
			return err
		}
	}
	return nil
}
