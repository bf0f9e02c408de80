package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/volsim/volsim/internal/tools/picture"
	"github.com/volsim/volsim/internal/tools/report"
	"github.com/volsim/volsim/internal/tools/script"
)

// handler serves the API, and the pages of volsim under /volsim/.
func (s *served) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /volsim/do", s.serveDo)
	mux.HandleFunc("GET /volsim/explain", s.serveExplain)
	mux.HandleFunc("GET /volsim/trace", s.page("text/plain; charset=utf-8", func(w io.Writer) error {
		return s.session.Cluster().Trace().WriteText(w)
	}))
	mux.HandleFunc("GET /volsim/picture", s.page("text/html; charset=utf-8", func(w io.Writer) error {
		return picture.Write(w, report.Picture("volsim serve", true, s.result))
	}))
	mux.HandleFunc("GET /volsim/state", s.page("text/plain; charset=utf-8", func(w io.Writer) error {
		_, err := fmt.Fprintln(w, s.session.Cluster().Trace().Seq())
		return err
	}))
	mux.HandleFunc("GET /volsim/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, livePage) // a client that is gone does not need it
	})
	mux.Handle("/volsim/clock", s.server)
	mux.Handle("/volsim/client", s.server)
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		// The mux would redirect the paths of the API that it finds unclean.
		if strings.HasPrefix(req.URL.Path, "/volsim/") {
			mux.ServeHTTP(w, req)
			return
		}
		s.server.ServeHTTP(w, req)
	})
}

// livePage shows the picture, and shows it again when something has happened.
const livePage = `<!DOCTYPE html>
<html lang="en"><meta charset="utf-8"><title>volsim serve</title>
<style>html, body, iframe {margin: 0; border: 0; width: 100%; height: 100%; display: block}</style>
<iframe src="picture" title="picture of the run"></iframe>
<script>
let shown = "";
setInterval(async () => {
  const state = await (await fetch("state")).text();
  if (shown !== "" && state !== shown) document.querySelector("iframe").contentWindow.location.reload();
  shown = state;
}, 1000);
</script>
</html>
`

// page returns a handler that writes a page about the cluster as it is now.
func (s *served) page(contentType string, write func(io.Writer) error) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		var out bytes.Buffer
		var err error
		s.server.Do(func() { err = write(&out) })
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", contentType)
		_, _ = out.WriteTo(w) // a client that is gone does not need it
	}
}

// serveExplain explains the objects that the parameter object names, such as pvc/data.
func (s *served) serveExplain(w http.ResponseWriter, req *http.Request) {
	words := []string{"explain", req.URL.Query().Get("object")}
	if namespace := req.URL.Query().Get("namespace"); namespace != "" {
		words = append(words, "--namespace="+namespace)
	}
	s.do(w, script.Line(words...))
}

// maxLines is how many bytes of lines one request may have.
const maxLines = 1 << 20

// serveDo executes the lines of the body as lines of a script, up to the first that fails.
func (s *served) serveDo(w http.ResponseWriter, req *http.Request) {
	data, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxLines))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.do(w, string(data))
}

func (s *served) do(w http.ResponseWriter, text string) {
	var out bytes.Buffer
	var err error
	s.server.Do(func() {
		for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
			if err = s.line(&out, strings.TrimSpace(line)); err != nil {
				return
			}
		}
	})
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = out.WriteTo(w) // a client that is gone does not need it
}

// line executes a line and writes it to the journal. The caller has the server's lock.
func (s *served) line(out io.Writer, text string) error {
	if strings.HasPrefix(text, "request ") {
		return errors.New("request: send the request itself")
	}
	s.journal.muted = true
	defer func() { s.journal.muted = false }()
	before := len(s.result.Failures)
	result, err := s.session.Do(text)
	if err != nil {
		return err // it is malformed, and nothing has happened
	}
	s.result = result
	if n := len(result.Commands); n > 0 {
		_, _ = io.WriteString(out, result.Commands[n-1].Output) // a buffer
	}
	if len(result.Failures) > before {
		s.journal.line("! " + text)
		return result.Failures[len(result.Failures)-1].Err
	}
	s.journal.line(text)
	return nil
}
