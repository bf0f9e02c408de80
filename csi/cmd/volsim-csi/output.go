package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/volsim/volsim/csi/csitest"
)

// output has the files that reports are written to.
type output struct {
	junit, json, html, gotest, gopackage string
}

// outputFlags adds the flags of files.
func outputFlags(flags *flag.FlagSet) *output {
	o := &output{}
	flags.StringVar(&o.junit, "junit", "", "file for the report as JUnit XML")
	flags.StringVar(&o.gotest, "gotest", "", "file for Go tests that show the findings with the recorded replies; not written without findings that have a run")
	flags.StringVar(&o.gopackage, "gopackage", "driver_test", "package of the file for --gotest")
	flags.StringVar(&o.json, "json", "", "file for the report as JSON; - is standard output, without the report as text")
	return o
}

// check returns an error for a file that cannot be written. It changes no file.
func (o *output) check() error {
	for _, name := range []string{o.junit, o.json, o.html, o.gotest} {
		if name == "" || name == "-" {
			continue
		}
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if errors.Is(err, fs.ErrNotExist) {
			if f, err = os.CreateTemp(filepath.Dir(name), ".volsim-*"); err == nil {
				err = os.Remove(f.Name())
			}
		}
		if f != nil {
			_ = f.Close()
		}
		if err != nil {
			return fmt.Errorf("write the report: %w", err)
		}
	}
	return nil
}

// writeOr writes a report, if there is one, and returns the error of the test, if there is one. A report in which no story ran has both.
func (o *output) writeOr(err error, report *csitest.Report, stdout io.Writer) error {
	if report == nil {
		return err
	}
	return errors.Join(o.write(report, stdout), err)
}

// write writes a report to standard output and to the files.
func (o *output) write(report *csitest.Report, stdout io.Writer) error {
	text := report.WriteText
	if o.json == "-" {
		text = report.WriteJSON
	}
	if err := text(stdout); err != nil {
		return err
	}
	if err := writeFile(o.junit, report.WriteJUnit); err != nil {
		return err
	}
	if slices.ContainsFunc(report.Findings, func(f csitest.Finding) bool { return f.Recorded != "" }) {
		if err := writeFile(o.html, report.WriteHTML); err != nil {
			return err
		}
		if err := writeFile(o.gotest, func(w io.Writer) error { return report.WriteGoTest(w, o.gopackage) }); err != nil {
			return err
		}
	}
	if o.json == "-" {
		return nil
	}
	return writeFile(o.json, report.WriteJSON)
}

// writeFile writes a report to a file, unless the name is empty.
func writeFile(name string, write func(io.Writer) error) (err error) {
	if name == "" {
		return nil
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return write(f)
}

// jobIndex is the variable that an Indexed Job sets in its pods.
const jobIndex = "JOB_COMPLETION_INDEX"

// shardOf returns the shard that --shard means.
func shardOf(text string) (string, error) {
	shards, ok := strings.CutPrefix(text, "job/")
	if !ok {
		return text, nil
	}
	index := os.Getenv(jobIndex)
	if index == "" {
		return "", fmt.Errorf("invalid --shard %q: %s is not set; run in a pod of an Indexed Job", text, jobIndex)
	}
	return index + "/" + shards, nil
}

const mergeUsage = `Join the reports that the shards of a test wrote with --json. The exit status is that of the whole test:

  volsim csi merge --junit report.xml shards.txt`

// merge joins the reports of shards.
func merge(args []string, stdout, stderr io.Writer) (int, error) {
	flags := newFlags("volsim-csi merge", mergeUsage, args, stdout)
	out := outputFlags(flags)
	if err := parse(flags, args); err != nil {
		return failed, err
	}
	if err := out.check(); err != nil {
		return failed, err
	}
	var reports []*csitest.Report
	for _, name := range flags.Args() {
		data, err := readFile(name)
		if err != nil {
			return failed, err
		}
		reports = append(reports, findReports(data)...)
	}
	report, err := csitest.Merge(reports...)
	if err := out.writeOr(err, report, stdout); err != nil {
		return failed, err
	}
	return statusOf(report), nil
}

// readFile reads a file, or standard input.
func readFile(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(os.Stdin)
	}
	return os.ReadFile(name)
}

// findReports returns the reports in a text, such as the logs of the pods of a Job. Other lines and incomplete reports are skipped.
func findReports(data []byte) []*csitest.Report {
	var reports []*csitest.Report
	for len(data) > 0 {
		var r csitest.Report
		if d := json.NewDecoder(bytes.NewReader(data)); data[0] == '{' && d.Decode(&r) == nil {
			reports = append(reports, &r)
			data = data[d.InputOffset():]
		}
		end := bytes.IndexByte(data, '\n')
		if end < 0 {
			break
		}
		data = data[end+1:]
	}
	return reports
}
