package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/volsim/volsim/internal/tools/dump"
)

// dumpFlags are those of commands that read a dump.
type dumpFlags struct {
	file, now, output string
	seed              int64
}

func (f *dumpFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&f.file, "filename", "f", "", "what kubectl get pv,pvc,sc,pods,nodes,volumeattachments,csidrivers,csinodes -A -o yaml printed; - is standard input")
	cmd.Flags().StringVar(&f.now, "now", "", "the time of the dump, as 2006-01-02T15:04:05Z; the newest timestamp in it unless given")
	cmd.Flags().StringVarP(&f.output, "output", "o", "text", "text, json or yaml")
	cmd.Flags().Int64Var(&f.seed, "seed", 0, "what happens first among things due at the same instant: 0 keeps the order, others shuffle it")
}

// read reads the dump. What it leaves out is said on stderr, in one line.
func (f *dumpFlags) read(cmd *cobra.Command) (*dump.Dump, dump.Options, error) {
	opts := dump.Options{Seed: f.seed}
	switch f.output {
	case "text", "json", "yaml":
	default:
		return nil, opts, usageError{fmt.Errorf("--output is %q: give text, json or yaml", f.output)}
	}
	if f.file == "" {
		return nil, opts, usageError{fmt.Errorf("no dump is given: write -f FILE, or -f - for standard input")}
	}
	if f.now != "" {
		var err error
		if opts.Now, err = time.Parse(time.RFC3339, f.now); err != nil {
			return nil, opts, usageError{fmt.Errorf("--now is %q: write it as 2006-01-02T15:04:05Z", f.now)}
		}
	}
	data, err := f.load(cmd.InOrStdin())
	if err != nil {
		return nil, opts, err
	}
	d, err := dump.Read(data)
	if err != nil {
		return nil, opts, fmt.Errorf("%s: %w", f.file, err)
	}
	if left := leftOut(d); left != "" {
		fmt.Fprintf(cmd.ErrOrStderr(), "volsim: ignored: %s\n", left)
	}
	return d, opts, nil
}

func (f *dumpFlags) load(in io.Reader) ([]byte, error) {
	if f.file == "-" {
		return io.ReadAll(in)
	}
	return os.ReadFile(f.file)
}

// leftOut says what of a dump is not simulated, "" if all is.
func leftOut(d *dump.Dump) string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(d.Ignored)) {
		parts = append(parts, fmt.Sprintf("%d %s", d.Ignored[kind], kind))
	}
	for _, field := range d.Dropped {
		parts = append(parts, "field "+field)
	}
	return strings.Join(parts, ", ")
}

// print writes a value as JSON or YAML, or has text do it.
func (f *dumpFlags) print(w io.Writer, value any, text func(io.Writer) error) error {
	switch f.output {
	case "json":
		data, err := json.MarshalIndent(value, "", "  ")
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(w, "%s\n", data)
		return err
	case "yaml":
		data, err := yaml.Marshal(value)
		if err != nil {
			return err
		}
		_, err = w.Write(data)
		return err
	}
	return text(w)
}
