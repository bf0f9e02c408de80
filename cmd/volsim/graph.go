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
		Short: "Draw the state machine of volumes or claims as observed",
		Long: `Draw the phases of volumes or claims as they were observed, with the rule behind each transition and how often it was seen.

Scripts and manifests are played as volsim run does. With --recordings the recordings of the real controllers are played as well, or
instead. What a machine or a user did without a decision bears their name in place of a rule's.`,
		Example: "  volsim graph --kind pvc failover.txtar\n  volsim graph -o dot --recordings internal/proof/conformance/testdata | dot -Tsvg > pv.svg",
		RunE:    func(cmd *cobra.Command, files []string) error { return opts.run(cmd, files) },
	}
	cmd.Flags().StringVarP(&opts.output, "output", "o", "mermaid", "mermaid or dot")
	cmd.Flags().StringVar(&opts.kind, "kind", "pv", "pv or pvc")
	cmd.Flags().StringSliceVar(&opts.recordings, "recordings", nil, "recordings to play: files, or a folder of them")
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
		return usageError{errors.New("there is nothing to observe: name a script, a manifest, or --recordings")}
	}
	scripts, err := readScripts(cmd.InOrStdin(), files)
	if err != nil {
		return err
	}
	for _, s := range scripts {
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

// machine is an empty machine of the kind that is asked for, and how it is to be written.
func (o *graphOptions) machine() (*graph.Machine, func(*graph.Machine, io.Writer) error, error) {
	kinds := map[string]api.Kind{
		"pv": api.PersistentVolume, "persistentvolume": api.PersistentVolume,
		"pvc": api.PersistentVolumeClaim, "persistentvolumeclaim": api.PersistentVolumeClaim,
	}
	kind, ok := kinds[strings.ToLower(o.kind)]
	if !ok {
		return nil, nil, usageError{fmt.Errorf("--kind is %q: give pv or pvc", o.kind)}
	}
	switch o.output {
	case "mermaid":
		return graph.NewMachine(kind), (*graph.Machine).WriteMermaid, nil
	case "dot":
		return graph.NewMachine(kind), (*graph.Machine).WriteDOT, nil
	}
	return nil, nil, usageError{fmt.Errorf("--output is %q: give mermaid or dot", o.output)}
}

// observe plays a script and counts what is seen. A script in which an expectation fails is an error.
func observe(machine *graph.Machine, s input) error {
	result, err := script.Run(s.Script, script.Options{})
	if result.Cluster != nil {
		defer result.Cluster.Close()
		machine.Observe(result.Cluster.Trace())
	}
	return err
}

// recordingFiles are the files that are named, and in place of a folder the recordings in it.
func recordingFiles(paths []string) ([]string, error) {
	var files []string
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, fileProblem(path, err)
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
			return nil, fmt.Errorf("%s: there is no recording (*.jsonl.gz) in it", path)
		}
	}
	return files, nil
}
