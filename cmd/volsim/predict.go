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

const predictLong = `Predict plays a change on a real cluster and says what it does: which volumes are deleted with their data, which pods stop, what
hangs, and after how long. The same cluster is also played without the change; what happens in both is marked with a tilde.

Steps, divided by the word then:
`

const predictExamples = `  kubectl get pv,pvc,sc,pods,nodes,volumeattachments,csidrivers,csinodes -A -o yaml > dump.yaml

  # Is it safe to delete this claim?
  volsim predict -f dump.yaml -- delete pvc/shop/data
  # Where do the pods of a node go, and do their volumes follow?
  volsim predict -f dump.yaml -- drain node/n1
  # A machine dies: how long is the database away, and what if an operator steps in after ten minutes?
  volsim predict -f dump.yaml -- lose node/n1
  volsim predict -f dump.yaml -- lose node/n1 then wait 10m then out-of-service node/n1
  # Would the data survive with another policy?
  volsim predict -f dump.yaml -- patch pv/pv1 '{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}' then delete pvc/shop/data
  # What is under way?
  volsim predict -f dump.yaml --for 2h -- nothing`

func newPredict() *cobra.Command {
	var flags dumpFlags
	opts := predict.Options{For: predict.DefaultFor}
	cmd := &cobra.Command{
		Use:     "predict -f DUMP -- STEP [then STEP]...",
		Short:   "Say what a change would do to a real cluster, above all to its data",
		Long:    predictLong + "  " + strings.Join(predict.Help(), "\n  "),
		Example: predictExamples,
		RunE: func(cmd *cobra.Command, args []string) error {
			if opts.For <= 0 {
				return usageError{fmt.Errorf("--for is %v: give more than zero", opts.For)}
			}
			steps, err := predict.Parse(args, os.ReadFile)
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
	cmd.Flags().DurationVar(&opts.For, "for", opts.For, "how far to look after the last step")
	cmd.Flags().BoolVar(&opts.NoReplacements, "no-replacements", false, "leave it at pods that are gone: no ReplicaSet or StatefulSet makes others")
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
		fmt.Fprintln(w, "\nNothing happens.")
	} else {
		fmt.Fprintln(w, "\nWhat happens (! a pod stops or data is deleted, ~ it would anyway):")
		writeOutcomes(w, p.Outcomes)
	}
	if len(p.Stuck) > 0 {
		fmt.Fprintf(w, "\nWhat is not in order after %s:\n", predict.Span(p.Until.Sub(p.From)))
		for i := range p.Stuck {
			if err := p.Stuck[i].WriteText(w, p.Until); err != nil {
				return err
			}
		}
	}
	return writeNotes(w, p.Notes)
}

// writeLosses says what becomes of the data, first of all.
func writeLosses(w io.Writer, p *predict.Prediction) {
	lost := 0
	for _, loss := range p.Lost {
		anyway := ""
		if loss.Anyway {
			anyway = ", with the change or without it"
		} else {
			lost++
		}
		fmt.Fprintf(w, "WARNING: DATA IS LOST after %s: %s%s\n", loss.After, describeLoss(loss), anyway)
	}
	for _, loss := range p.Threatened {
		anyway := ""
		if loss.Anyway {
			anyway = ", with the change or without it"
		} else {
			lost++
		}
		fmt.Fprintf(w, "WARNING: DATA WILL BE LOST: %s: %s%s\n", describeLoss(loss), loss.When, anyway)
	}
	if lost == 0 {
		fmt.Fprintf(w, "No data is deleted by this within %s.\n", predict.Span(p.Until.Sub(p.From)))
	}
}

func describeLoss(loss predict.Loss) string {
	text := fmt.Sprintf("volume %s, %s of %s", loss.Volume, loss.Handle, loss.Backend)
	if loss.Size != "" {
		text += ", " + loss.Size
	}
	if loss.Claim != "" {
		text += ", of claim " + loss.Claim
	}
	return text
}

// writeOutcomes writes a line for each outcome, with the time that has passed.
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
		if _, err := fmt.Fprintln(w, "note: "+note); err != nil {
			return err
		}
	}
	return nil
}
