package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"sigs.k8s.io/yaml"

	"github.com/volsim/volsim/internal/tools/picture"
	"github.com/volsim/volsim/internal/tools/report"
	"github.com/volsim/volsim/internal/tools/script"
)

// runReport is the result of a script as JSON or YAML.
type runReport struct {
	Script    string             `json:"script"`
	OK        bool               `json:"ok"`
	Seed      int64              `json:"seed"`
	Seeds     int                `json:"seedsRun"`
	Succeeded int                `json:"seedsSucceeded"`
	Elapsed   string             `json:"elapsed"`
	Commands  []commandReport    `json:"commands"`
	Some      []script.SomeSeeds `json:"some,omitempty"`
	Failures  []failureReport    `json:"failures,omitempty"`
}

type commandReport struct {
	script.Command `json:",inline"`
	At             string `json:"at"`
}

type failureReport struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Command string `json:"command,omitempty"`
	Error   string `json:"error"`
}

// report writes the result of a script.
func (f *runFlags) report(w io.Writer, name string, r *script.Result) error {
	if f.output == "text" {
		_, err := fmt.Fprintf(w, "%s: %s\n", name, r.Summary())
		return err
	}
	report := runReport{Script: name, OK: len(r.Failures) == 0, Seed: r.Seed, Seeds: len(r.Seeds), Succeeded: len(r.Succeeded), Some: r.Some}
	if r.Cluster != nil {
		report.Elapsed = r.Cluster.Now().Sub(r.Start).String()
	}
	for _, c := range r.Commands {
		report.Commands = append(report.Commands, commandReport{c, c.At.String()})
	}
	for _, failure := range r.Failures {
		report.Failures = append(report.Failures, failureReport{failure.File, failure.Line, failure.Command, failure.Err.Error()})
	}
	if f.output == "yaml" {
		data, err := yaml.Marshal(report)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(w, "---\n%s", data)
		return err
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(report)
}

// writeFiles writes the picture, the log and the trace where they are requested.
func (f *runFlags) writeFiles(stdout io.Writer, s input, r *script.Result) error {
	if r.Cluster == nil {
		return nil
	}
	trace := r.Cluster.Trace()
	for _, file := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{f.html, func(w io.Writer) error { return picture.Write(w, report.Picture(s.Name, s.manifest, r)) }},
		{f.log, func(w io.Writer) error { _, err := w.Write(r.Log); return err }},
		{f.trace, trace.WriteText},
	} {
		if file.name == "" {
			continue
		}
		var out bytes.Buffer
		if err := file.write(&out); err != nil {
			return err
		}
		if file.name == "-" {
			if _, err := out.WriteTo(stdout); err != nil {
				return err
			}
			continue
		}
		if err := os.WriteFile(file.name, out.Bytes(), 0o644); err != nil {
			return fileError(file.name, err)
		}
	}
	return nil
}
