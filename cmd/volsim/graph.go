package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/proof/conformance"
	"github.com/volsim/volsim/internal/tools/graph"
	"github.com/volsim/volsim/internal/tools/script"
	"github.com/volsim/volsim/trace"
)

func newGraph() *cobra.Command {
	var opts graphOptions
	cmd := &cobra.Command{
		Use:   "graph [FILE.txtar | FILE.yaml | DIR | -]...",
		Short: "Draw the observed state machine of volumes or claims",
		Long: `Draw the observed phases of volumes or claims, with the rule of each transition and how often it occurred.

Scripts and manifests run as in volsim run. --recordings adds recordings of the real controllers. A transition that follows no rule is
labeled with the kubelet or user that caused it.`,
		Example: "  volsim graph --kind pvc failover.txtar\n  volsim graph -o dot --recordings internal/proof/conformance/testdata | dot -Tsvg > pv.svg",
		RunE:    func(cmd *cobra.Command, files []string) error { return opts.run(cmd, files) },
	}
	cmd.Flags().StringVarP(&opts.output, "output", "o", "mermaid", "output format: mermaid or dot")
	cmd.Flags().StringVar(&opts.kind, "kind", "pv", "pv or pvc")
	cmd.Flags().StringSliceVar(&opts.recordings, "recordings", nil, "recordings to observe: files or a directory")
	return cmd
}

type graphOptions struct {
	output, kind string
	recordings   []string
}

func (o *graphOptions) run(cmd *cobra.Command, files []string) error {
	machine, write, err := o.machine()
	if err != nil {
		return err
	}
	if len(files) == 0 && len(o.recordings) == 0 {
		return usageError{errors.New("missing FILE argument or --recordings")}
	}
	scripts, err := readScripts(cmd.InOrStdin(), files, readOptions{})
	if err != nil {
		return err
	}
	for _, s := range scripts {
		s.noteUnsimulated(cmd.ErrOrStderr())
		if err := observe(machine, s); err != nil {
			return err
		}
	}
	recordings, err := recordingFiles(o.recordings)
	if err != nil {
		return err
	}
	for _, file := range recordings {
		if err := conformance.Traces(file, func(_ string, trace *trace.Trace) { machine.Observe(trace) }); err != nil {
			return err
		}
	}
	return write(machine, cmd.OutOrStdout())
}

// machine returns an empty state machine of the requested kind, and the function that writes it.
func (o *graphOptions) machine() (*graph.Machine, func(*graph.Machine, io.Writer) error, error) {
	kinds := map[string]api.Kind{
		"pv": api.PersistentVolume, "persistentvolume": api.PersistentVolume,
		"pvc": api.PersistentVolumeClaim, "persistentvolumeclaim": api.PersistentVolumeClaim,
	}
	kind, ok := kinds[strings.ToLower(o.kind)]
	if !ok {
		return nil, nil, usageError{fmt.Errorf("invalid --kind %q: want pv or pvc", o.kind)}
	}
	switch o.output {
	case "mermaid":
		return graph.NewMachine(kind), (*graph.Machine).WriteMermaid, nil
	case "dot":
		return graph.NewMachine(kind), (*graph.Machine).WriteDOT, nil
	}
	return nil, nil, usageError{fmt.Errorf("invalid -o %q: want mermaid or dot", o.output)}
}

// observe runs a script and adds its transitions. A failed expectation is an error.
func observe(machine *graph.Machine, s input) error {
	result, err := script.Run(s.Script, script.Options{Policies: followPolicies})
	if result.Cluster != nil {
		defer result.Cluster.Close()
		machine.Observe(result.Cluster.Trace())
	}
	return err
}

// recordingFiles returns the named files, with each directory replaced by the recordings in it.
func recordingFiles(paths []string) ([]string, error) {
	var files []string
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, fileError(path, err)
		}
		if !info.IsDir() {
			files = append(files, path)
			continue
		}
		all, err := filepath.Glob(filepath.Join(path, "*.jsonl.gz"))
		if err != nil {
			return nil, err
		}
		found := false
		for _, file := range all {
			if !strings.HasPrefix(filepath.Base(file), "tables-") {
				files, found = append(files, file), true
			}
		}
		if !found {
			return nil, fmt.Errorf("%s: directory contains no recording (*.jsonl.gz)", path)
		}
	}
	return files, nil
}
