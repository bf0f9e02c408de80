package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/volsim/volsim/internal/tools/dump"
	"github.com/volsim/volsim/internal/tools/report"
)

const explainLong = `Explain why claims, pods, volumes, attachments, namespaces and workloads of a real cluster are in their state: the rule that decides, every
candidate with the rules that reject it, who has to act next, and when the state can change without action. Without OBJECT it explains
everything that is not in its desired state.

For each OBJECT it proposes changes, simulates each, and prints those that help, the least dangerous for data first. It then simulates the next
minutes (--ahead) to show what changes without action. What the dump shows about drivers, nodes and controllers, such as their last errors, is
assumed to continue; --assume changes that.

Events in the dump supply the last errors of components. If claims use a VolumeAttributesClass, or a CSI driver publishes its
capacity, add volumeattributesclasses and csistoragecapacities to the dump.`

const explainExamples = "  " + dump.Command + ` > dump.yaml

  # Why is this claim Pending, or this pod?
  volsim explain -f dump.yaml pvc/shop/data
  volsim explain -f dump.yaml pod/shop/db-0
  # The same with names as kubectl takes them.
  volsim explain -f dump.yaml -n shop pod db-0
  # Which pod of a StatefulSet is missing or not ready, and why?
  volsim explain -f dump.yaml sts/shop/db
  # All claims that wait, of all namespaces.
  volsim explain -f dump.yaml -A pvc
  # What is wrong in this cluster?
  volsim explain -f dump.yaml
  # Without a dump: the cluster of kubectl's current context.
  volsim explain --cluster pod/shop/db-0
  # As JSON, without simulating ahead.
  volsim explain -f dump.yaml --ahead 0s -o json pv/pv1`

// defaultWork is the number of events that explain simulates ahead unless the user says how long: some seconds of processor time.
const defaultWork = 200_000

func newExplain() *cobra.Command {
	var flags dumpFlags
	var namespace string
	var everywhere bool
	ahead := 10 * time.Minute
	cmd := &cobra.Command{
		Use:     "explain {-f DUMP | --cluster} [OBJECT...]",
		Short:   "Explain the state of claims, pods, volumes and workloads of a real cluster",
		Long:    explainLong,
		Example: explainExamples,
		RunE: func(cmd *cobra.Command, args []string) error {
			if ahead < 0 {
				return usageError{fmt.Errorf("invalid --ahead %v: must not be negative", ahead)}
			}
			asked, err := report.Select(namespace, cmd.Flags().Changed("namespace"), everywhere, args)
			if err != nil {
				return usageError{err}
			}
			d, opts, err := flags.read(cmd)
			if err != nil {
				return err
			}
			work := defaultWork
			if cmd.Flags().Changed("ahead") {
				work = 0
			}
			progress := newBar(cmd.ErrOrStderr())
			answer, err := report.Explain(d, asked, opts, ahead, work, progress.show)
			progress.clear()
			if err != nil {
				return err
			}
			return flags.print(cmd.OutOrStdout(), answer, answer.WriteText)
		},
	}
	flags.register(cmd)
	cmd.Flags().StringVarP(&namespace, "namespace", "n", "default", "namespace of objects that are named without one; without OBJECT, the only one to explain")
	cmd.Flags().BoolVarP(&everywhere, "all-namespaces", "A", false, "objects of a kind in all namespaces; the default without OBJECT")
	durationVar(cmd.Flags(), &ahead, "ahead", ahead, "virtual time to simulate ahead; 0 skips it. The default is shorter for large clusters")
	return cmd
}
