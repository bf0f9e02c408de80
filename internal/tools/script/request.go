package script

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
)

func requestCommands() []*command {
	return []*command{{
		name: "request", group: writing, usage: []string{"METHOD PATH [BODY] [--client NAME] [--type MEDIATYPE] [--base64]"},
		help: "Sends a request to the API server, as kubectl and other clients do, and prints its answer. It needs `config server=true`, and fails if the code of the " +
			"answer is 400 or more. The client is the name in User-Agent, the default of MEDIATYPE is application/json, and `--base64` is for bodies that do not " +
			"fit in a line. The run that `volsim serve` writes consists of such lines. A watch is refused, because it would not end.",
		examples: []string{
			`request GET /version`, `request POST /api/v1/namespaces/default/configmaps '{"metadata": {"name": "settings"}}' --client kubectl-create`,
		},
		read: readRequest,
	}}
}

var methods = []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

func readRequest(_ *Script, args []string) (step, error) {
	a, err := readArguments(args, option{long: "client", value: true}, option{long: "type", value: true}, option{long: "base64"})
	if err != nil {
		return nil, err
	}
	if len(a.rest) < 2 || len(a.rest) > 3 {
		return nil, usageOf("request", "missing or unexpected argument")
	}
	encoded, err := a.flag("base64")
	if err != nil {
		return nil, err
	}
	var body []byte
	if len(a.rest) == 3 {
		body = []byte(a.rest[2])
	}
	if encoded {
		if body, err = base64.StdEncoding.DecodeString(string(body)); err != nil {
			return nil, fmt.Errorf("invalid --base64: %w", err)
		}
	}
	make := func() (*http.Request, error) {
		req, err := http.NewRequest(a.rest[0], "http://cluster"+a.rest[1], bytes.NewReader(body))
		if err == nil {
			req.Header.Set("User-Agent", a.get("client", "volsim"))
			req.Header.Set("Content-Type", a.get("type", "application/json"))
		}
		return req, err
	}
	req, err := make()
	switch {
	case err != nil:
		return nil, err
	case !strings.HasPrefix(a.rest[1], "/"):
		return nil, fmt.Errorf("invalid path %q: must begin with a slash", a.rest[1])
	case !slices.Contains(methods, a.rest[0]):
		return nil, fmt.Errorf("invalid method %q: want one of %s", a.rest[0], strings.Join(methods, ", "))
	case req.URL.Query().Get("watch") != "" || strings.Contains(req.URL.Path, "/watch/"):
		return nil, errors.New("a watch would not end")
	}
	return func(r *runner) error {
		req, err := make()
		if err != nil {
			return err
		}
		return r.request(req)
	}, nil
}

// request sends a request and prints the answer.
func (r *runner) request(req *http.Request) error {
	if r.server == nil {
		return errors.New("the cluster has no API server; begin the script with config server=true")
	}
	resp, err := r.server.RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("%s: %s", resp.Status, bytes.TrimSpace(data))
	}
	r.printed.Write(data)
	return nil
}
