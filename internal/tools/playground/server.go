package playground

import (
	"encoding/json"
	"fmt"
)

// Server answers the requests of one page. It is not safe for concurrent use.
type Server struct {
	runs map[string]*Run
}

// New returns a server without runs.
func New() *Server { return &Server{runs: make(map[string]*Run)} }

// methods are the requests that a page can make, by name.
var methods = map[string]func(*Server, json.RawMessage) (any, error){
	"check":    method((*Server).check),
	"complete": method((*Server).complete),
	"load":     method((*Server).load),
	"picture":  method((*Server).picture),
	"next":     method((*Server).next),
	"do":       method((*Server).do),
	"view":     method((*Server).view),
	"explain":  method((*Server).explain),
	"object":   method((*Server).object),
	"fork":     method((*Server).fork),
	"holds":    method((*Server).holds),
	"compare":  method((*Server).compare),
	"try":      method((*Server).try),
	"export":   method((*Server).export),
	"dump":     method((*Server).dump),
	"lesson":   method((*Server).lesson),
}

// Handle answers a request: a method, and its arguments as JSON. The answer is JSON as well.
func (s *Server) Handle(name string, args []byte) ([]byte, error) {
	call, ok := methods[name]
	if !ok {
		return nil, fmt.Errorf("unknown method %q", name)
	}
	answer, err := call(s, args)
	if err != nil {
		return nil, err
	}
	return json.Marshal(answer)
}

// method adapts a method to requests in JSON.
func method[A any](call func(*Server, A) (any, error)) func(*Server, json.RawMessage) (any, error) {
	return func(s *Server, raw json.RawMessage) (any, error) {
		var args A
		if err := json.Unmarshal(raw, &args); err != nil {
			return nil, err
		}
		return call(s, args)
	}
}

// run returns a run by its name.
func (s *Server) run(name string) (*Run, error) {
	r, ok := s.runs[name]
	if !ok {
		return nil, fmt.Errorf("no run %q is loaded", name)
	}
	return r, nil
}
