package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/tools/dump"
	"github.com/volsim/volsim/internal/tools/predict"
	"github.com/volsim/volsim/internal/tools/report"
)

const predictLong = `Simulate a change of a real cluster and report its effects: which volumes are deleted with their data, which pods stop, what gets
stuck, and when. The cluster is also simulated without the change; effects that occur in both are marked with ~.
The exit status is 1 if the API server or kubectl refuses a step, or a drain does not end.

Steps, separated by the word then:
`

const predictExamples = "  " + dump.Command + ` > dump.yaml

  # Is it safe to delete this claim?
  volsim predict -f dump.yaml -- delete pvc/shop/data
  # Where do the pods of a node go, and do their volumes follow?
  volsim predict -f dump.yaml -- drain node/n1
  # A node dies: how long is the database down, and what if an operator acts after ten minutes?
  volsim predict -f dump.yaml -- lose node/n1
  volsim predict -f dump.yaml -- lose node/n1 then wait 10m then out-of-service node/n1
  # Does the data survive with another reclaim policy?
  volsim predict -f dump.yaml -- patch pv/pv1 -p '{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}' then delete pvc/shop/data
  # What does an admission policy break?
  volsim predict -f dump.yaml -- apply -f policy.yaml then delete pod/shop/db-0
  # What happens without any change?
  volsim predict -f dump.yaml --for 2h -- nothing`

func newPredict() *cobra.Command {
	var flags dumpFlags
	var namespace string
	opts := predict.Options{For: predict.DefaultFor}
	cmd := &cobra.Command{
		Use:     "predict {-f DUMP | --cluster} -- STEP [then STEP]...",
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
			if flags.output == "yaml" {
				err = writeList(cmd.OutOrStdout(), p.Objects())
			} else {
				err = flags.print(cmd.OutOrStdout(), p, func(w io.Writer) error { return report.WritePrediction(w, p) })
			}
			if err == nil && len(p.Refused) > 0 {
				err = fmt.Errorf("refused: %s: %s", p.Refused[0].Step, p.Refused[0].Reason)
			}
			return err
		},
	}
	flags.register(cmd)
	durationVar(cmd.Flags(), &opts.For, "for", opts.For, "virtual time to simulate after the last step")
	cmd.Flags().StringVarP(&namespace, "namespace", "n", "default", "namespace of claims and pods that are written without one")
	cmd.Flags().BoolVar(&opts.NoReplacements, "no-replacements", false, "do not replace deleted pods of ReplicaSets and StatefulSets")
	return cmd
}

// writeList writes objects as kubectl get -o yaml does.
func writeList(w io.Writer, objs []api.Object) error {
	items := []any{}
	for _, obj := range objs {
		doc, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
		if err != nil {
			return fmt.Errorf("print %s: %w", api.RefTo(obj), err)
		}
		unstructured.RemoveNestedField(doc, "metadata", "managedFields")
		items = append(items, doc)
	}
	data, err := yaml.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": items, "metadata": map[string]any{"resourceVersion": ""}})
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}
