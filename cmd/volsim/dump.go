package main

import (
	"encoding/json"
	"errors"
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

// dumpFlags holds the flags of commands that read a dump.
type dumpFlags struct {
	file, now, output string
	seed              int64
}

func (f *dumpFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&f.file, "filename", "f", "",
		"dump: output of kubectl get pv,pvc,sc,pods,nodes,volumeattachments,csidrivers,csinodes -A -o yaml; - is standard input")
	cmd.Flags().StringVar(&f.now, "now", "", "time of the dump, such as 2006-01-02T15:04:05Z; default is its newest timestamp")
	cmd.Flags().StringVarP(&f.output, "output", "o", "text", "output format: text, json or yaml")
	cmd.Flags().Int64Var(&f.seed, "seed", 0, "order of events due at the same time: 0 is first in, first out, other seeds shuffle")
}

// read reads the dump and reports ignored objects and fields on stderr, in one line.
func (f *dumpFlags) read(cmd *cobra.Command) (*dump.Dump, dump.Options, error) {
	opts := dump.Options{Seed: f.seed}
	switch f.output {
	case "text", "json", "yaml":
	default:
		return nil, opts, usageError{fmt.Errorf("invalid -o %q: want text, json or yaml", f.output)}
	}
	if f.file == "" {
		return nil, opts, usageError{errors.New("missing -f DUMP; use -f - for standard input")}
	}
	if f.now != "" {
		var err error
		if opts.Now, err = time.Parse(time.RFC3339, f.now); err != nil {
			return nil, opts, usageError{fmt.Errorf("invalid --now %q: want a time such as 2006-01-02T15:04:05Z", f.now)}
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
	if ignored := ignoredIn(d); ignored != "" {
		fmt.Fprintf(cmd.ErrOrStderr(), "volsim: ignored: %s\n", ignored)
	}
	return d, opts, nil
}

func (f *dumpFlags) load(in io.Reader) ([]byte, error) {
	if f.file == "-" {
		return io.ReadAll(in)
	}
	return os.ReadFile(f.file)
}

// ignoredIn lists the objects and fields of a dump that are not simulated; "" if there are none.
func ignoredIn(d *dump.Dump) string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(d.Ignored)) {
		version, name, _ := strings.Cut(kind, " ")
		parts = append(parts, fmt.Sprintf("%d %s (%s)", d.Ignored[kind], name, version))
	}
	for _, field := range d.Dropped {
		parts = append(parts, "field "+field)
	}
	return strings.Join(parts, ", ")
}

// print writes a value as JSON or YAML, or calls text.
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
