package main

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/tools/txtar"

	"github.com/volsim/volsim/internal/apiserver"
	"github.com/volsim/volsim/internal/tools/script"
)

// noRecord is the value of --record for no file.
const noRecord = "none"

// recordFile returns the file to which the run is written, "" for none: --record, or else a file beside the kubeconfig.
func (f *serveFlags) recordFile(cmd *cobra.Command) string {
	switch {
	case f.record == noRecord:
		return ""
	case f.record != "":
		return f.record
	case f.kubeconfig != "":
		return strings.TrimSuffix(f.kubeconfig, filepath.Ext(f.kubeconfig)) + ".run.txtar"
	}
	return "volsim.run.txtar"
}

// journal writes what happens in a served cluster as the lines of a script. The server's lock guards it.
type journal struct {
	file    *os.File // nil for none
	out     *bufio.Writer
	files   []txtar.File
	pending *time.Duration // virtual time that has passed since the last line; nil for none
	muted   bool           // the line that causes it all is written instead
	closed  bool
	err     error
}

// newJournal begins a file with the script of the cluster's beginning. A file name of "" writes nothing.
func newJournal(name, text string, files []txtar.File) (*journal, error) {
	j := &journal{files: files}
	if name == "" {
		return j, nil
	}
	var err error
	if j.file, err = os.Create(name); err != nil {
		return nil, fileError(name, err)
	}
	j.out = bufio.NewWriterSize(j.file, 64<<10)
	_, j.err = j.out.WriteString(text)
	return j, nil
}

func (j *journal) name() string {
	if j.file == nil {
		return ""
	}
	return j.file.Name()
}

// line adds a line, after the time that has passed.
func (j *journal) line(text string) {
	if j.file == nil || j.closed || j.err != nil {
		return
	}
	if d := j.pending; d != nil {
		j.pending = nil
		text = "advance " + d.String() + "\n" + text
	}
	_, j.err = j.out.WriteString(text + "\n")
}

// Advanced implements clock.Journal.
func (j *journal) Advanced(d time.Duration) {
	if j.muted {
		return
	}
	if j.pending == nil {
		j.pending = new(time.Duration)
	}
	*j.pending += d
}

// Settled implements clock.Journal.
func (j *journal) Settled() {
	if !j.muted {
		j.line("settle")
	}
}

// sent adds a request.
func (j *journal) sent(s apiserver.Sent, code int) {
	if j.muted || j.file == nil {
		return
	}
	words := []string{"request", s.Method, s.URI}
	body := s.Body
	var compact strings.Builder
	if raw := json.RawMessage(body); json.Valid(raw) {
		if data, err := json.Marshal(raw); err == nil && !strings.Contains(string(body), "\\u") {
			compact.Write(data)
			body = []byte(compact.String())
		}
	}
	encoded := strings.ContainsAny(string(body), "\n\r\x00") || !utf8.Valid(body) || strings.HasPrefix(string(body), "-")
	switch {
	case encoded:
		words = append(words, base64.StdEncoding.EncodeToString(body), "--base64")
	case len(body) > 0:
		words = append(words, string(body))
	}
	words = append(words, "--client="+s.Client)
	if s.ContentType != "" && s.ContentType != "application/json" {
		words = append(words, "--type="+s.ContentType)
	}
	if u := s.User; u != nil {
		words = append(words, "--as="+u.Username, "--as-group="+strings.Join(u.Groups, ","))
		if u.UID != "" {
			words = append(words, "--as-uid="+u.UID)
		}
	}
	if s.Answers != nil {
		if data, err := json.Marshal(s.Answers); err == nil {
			words = append(words, "--webhooks="+string(data))
		}
	}
	text := script.Line(words...)
	if code >= http.StatusBadRequest {
		text = "! " + text
	}
	j.line(text)
}

// close completes the file.
func (j *journal) close() error {
	if j.file == nil {
		return nil
	}
	if j.pending != nil {
		j.line("# the end")
	}
	j.closed = true
	_, err := j.out.Write(txtar.Format(&txtar.Archive{Files: j.files}))
	if err = errors.Join(j.err, err, j.out.Flush(), j.file.Close()); err != nil {
		return fmt.Errorf("%s: %w", j.file.Name(), err)
	}
	return nil
}
