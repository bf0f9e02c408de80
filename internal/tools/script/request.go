package script

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

func requestCommands() []*command {
	return []*command{{
		name: "request", group: writing, usage: []string{"METHOD PATH [BODY] [--client NAME] [--type MEDIATYPE] [--base64] [--as USER [--as-group GROUP,…] [--as-uid UID]] [--webhooks ANSWERS]"},
		help: "Sends a request to the API server, as kubectl and other clients do, and prints its answer. It needs `config server=true`, and fails if the code of the " +
			"answer is 400 or more. The client is the name in User-Agent, the default of MEDIATYPE is application/json, and `--base64` is for bodies that do not " +
			"fit in a line. With `--as` the request is made in the name of a user, who may do what roles and bindings allow. The run that `volsim serve` writes consists of such lines; ANSWERS are those of the admission webhooks that the request went through, in JSON. " +
			"A watch is refused, because it would not end.",
		examples: []string{
			`request GET /version`, `request POST /api/v1/namespaces/default/configmaps '{"metadata": {"name": "settings"}}' --client kubectl-create`,
			`request GET /api/v1/nodes --as bob`,
		},
		read: readRequest,
	}}
}

var methods = []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

func readRequest(_ *Script, args []string) (step, error) {
	a, err := readArguments(args, option{long: "client", value: true}, option{long: "type", value: true}, option{long: "base64"}, option{long: "webhooks", value: true},
		option{long: "as", value: true}, option{long: "as-group", value: true}, option{long: "as-uid", value: true})
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
	req := Request{Method: a.rest[0], Path: a.rest[1], Client: a.get("client", "volsim"), MediaType: a.get("type", "application/json"), Body: body,
		Webhooks: a.get("webhooks", ""), As: a.get("as", ""), UID: a.get("as-uid", "")}
	if groups := a.get("as-group", ""); groups != "" {
		req.Groups = strings.Split(groups, ",")
	}
	target, err := url.Parse(req.Path)
	switch {
	case err != nil:
		return nil, err
	case !strings.HasPrefix(req.Path, "/"):
		return nil, fmt.Errorf("invalid path %q: must begin with a slash", req.Path)
	case !slices.Contains(methods, req.Method):
		return nil, fmt.Errorf("invalid method %q: want one of %s", req.Method, strings.Join(methods, ", "))
	case req.As == "" && (req.Groups != nil || req.UID != ""):
		return nil, errors.New("--as-group and --as-uid need --as")
	case target.Query().Get("watch") != "" || strings.Contains(target.Path, "/watch/"):
		return nil, errors.New("a watch would not end")
	}
	return func(r *runner) error { return r.request(req) }, nil
}

// A Server answers the requests to an API server over the cluster of a run. The error says why a request could not be sent.
type Server func(Request) (Answer, error)

// Request is a request to an API server. Its types are not those of net/http, which would more than double the size of the playground.
type Request struct {
	Method    string
	Path      string // with the query
	Client    string // the header User-Agent
	MediaType string // the header Content-Type
	Body      []byte
	Webhooks  string // the answers of webhooks in JSON, "" for none
	// As is the user in whose name the request is made, "" for the administrator. Groups and UID are those of that user; without groups the
	// server knows which ones it has.
	As     string
	Groups []string
	UID    string
}

// Answer is the answer of an API server.
type Answer struct {
	Code int
	Body []byte
}

// answerError is an answer that is an error.
type answerError struct {
	code int
	body []byte
}

func (e answerError) Error() string {
	return fmt.Sprintf("%d %s: %s", e.code, http.StatusText(e.code), e.body)
}

// request sends a request and prints the answer.
func (r *runner) request(req Request) error {
	if r.server == nil {
		return errors.New("the cluster has no API server; begin the script with config server=true")
	}
	answer, err := r.server(req)
	if err != nil {
		return err
	}
	if answer.Code >= http.StatusBadRequest {
		return answerError{answer.Code, bytes.TrimSpace(answer.Body)}
	}
	r.printed.Write(answer.Body)
	return nil
}
