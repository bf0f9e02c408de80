package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/volsim/volsim/internal/core/evidence"
	"github.com/volsim/volsim/internal/tools/dump"
	"github.com/volsim/volsim/internal/tools/report"
)

// dumpFlags holds the flags of commands that read a dump.
type dumpFlags struct {
	files       []string
	now, output string
	seed        int64
	assume      []string
	cluster     liveCluster
}

func (f *dumpFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringSliceVarP(&f.files, "filename", "f", nil,
		"dump: output of "+dump.Command+", as files, directories or archives; - is standard input")
	cmd.Flags().StringVar(&f.now, "now", "", "time of the dump, such as 2006-01-02T15:04:05Z; default is its newest timestamp")
	cmd.Flags().StringVarP(&f.output, "output", "o", "text", "output format: text, json or yaml")
	cmd.Flags().StringArrayVar(&f.assume, "assume", nil,
		"assumption to change, SUBJECT=BEHAVIOUR: driver[/NAME]=healthy, refuses, silent or absent; node[/NAME]=healthy or silent; controller/NAME=healthy or absent; recycler=healthy, refuses or silent; pod/NAMESPACE/NAME=healthy")
	f.cluster.register(cmd)
	cmd.Flags().Int64Var(&f.seed, "seed", 0, "order of events due at the same time: 0 is first in, first out, other seeds shuffle")
}

// read reads the dump and reports ignored objects and fields on stderr, in one line.
func (f *dumpFlags) read(cmd *cobra.Command) (*dump.Dump, dump.Options, error) {
	opts := dump.Options{Seed: f.seed, Assume: f.assume, Policies: followPolicies}
	switch f.output {
	case "text", "json", "yaml":
	default:
		return nil, opts, usageError{fmt.Errorf("invalid -o %q: want text, json or yaml", f.output)}
	}
	live, err := f.cluster.chosen(f.files)
	if err != nil {
		return nil, opts, err
	}
	if len(f.files) == 0 && !live {
		return nil, opts, usageError{errors.New("missing -f DUMP; use -f - for standard input, or --cluster for a running cluster")}
	}
	if f.now != "" {
		var err error
		if opts.Now, err = time.Parse(time.RFC3339, f.now); err != nil {
			return nil, opts, usageError{fmt.Errorf("invalid --now %q: want a time such as 2006-01-02T15:04:05Z", f.now)}
		}
	}
	if _, err := (*evidence.Set)(nil).Override(f.assume...); err != nil {
		return nil, opts, usageError{err}
	}
	var files []dump.File
	if live {
		files, err = f.cluster.read(cmd.Context(), cmd.ErrOrStderr())
	} else {
		files, err = dumpFiles(cmd.InOrStdin(), f.files)
	}
	if err != nil {
		return nil, opts, err
	}
	d, err := dump.ReadFiles(files...)
	if err != nil {
		return nil, opts, err
	}
	if ignored := report.Ignored(d); ignored != "" {
		fmt.Fprintf(cmd.ErrOrStderr(), "volsim: ignored: %s\n", ignored)
	}
	return d, opts, nil
}

// dumpFiles reads the files of a dump. Of a directory or an archive it reads all manifests, also in directories within it.
func dumpFiles(in io.Reader, names []string) ([]dump.File, error) {
	var files []dump.File
	for _, name := range names {
		if name == "-" {
			data, err := io.ReadAll(in)
			if err != nil {
				return nil, fmt.Errorf("read standard input: %w", err)
			}
			found, err := readStdin(data)
			if err != nil {
				return nil, err
			}
			files = append(files, found...)
			continue
		}
		info, err := os.Stat(name)
		if err != nil {
			return nil, fileError(name, err)
		}
		if info.Mode().IsRegular() && isArchive(name) {
			found, err := readArchive(name)
			if err != nil {
				return nil, err
			}
			files = append(files, found...)
			continue
		}
		found := []string{name}
		if info.IsDir() {
			if _, found, err = filesIn(name); err != nil {
				return nil, err
			}
			if len(found) == 0 {
				return nil, fmt.Errorf("%s: directory contains no manifest (.yaml, .yml, .json)", name)
			}
		}
		for _, file := range found {
			data, err := os.ReadFile(file)
			if err != nil {
				return nil, fileError(file, err)
			}
			files = append(files, dump.File{Name: file, Data: data, Found: info.IsDir()})
		}
	}
	for i := range files {
		var err error
		if files[i], err = textOf(files[i]); err != nil {
			return nil, err
		}
	}
	return files, nil
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
