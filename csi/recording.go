package csi

import (
	"encoding/json"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/volsim/volsim/storage"
)

// Recording is what a driver was asked and what it replied. With Config.Replay it takes the place of the driver. It can be written as JSON.
type Recording struct {
	// Setup are the calls of New.
	Setup []Call
	// Calls are all others, as Driver.Calls returns them.
	Calls []Call
}

// Recording returns what the driver was asked until now.
func (d *Driver) Recording() Recording { return Recording{Setup: d.setup, Calls: d.Calls()} }

// replay answers a call from the recording.
func (d *Driver) replay(at int, r rpc) (proto.Message, error) {
	if at >= len(d.cfg.Replay.Calls) {
		return nil, storage.Errorf(storage.Internal, "replay call %d, %s of %q: the recording has %d calls", at+1, r.name, r.volume, at)
	}
	old := d.cfg.Replay.Calls[at]
	c := &d.calls[at]
	if old.Method != c.Method || old.Node != c.Node || !proto.Equal(old.Request, c.Request) {
		return nil, storage.Errorf(storage.Internal, "replay call %d, %s of %q: the recording has %s of %q, or another request", at+1, r.name, r.volume,
			old.Method, old.Volume)
	}
	c.Fault, c.Replies, c.Open = old.Fault, old.Replies, old.Open
	switch {
	case old.Fault.Kind == Late || old.Fault.Kind == Overlap:
		return nil, d.late(r)
	case old.Fault.Kind != "" && old.Fault.Kind != Twice || len(old.Replies) == 0:
		return nil, old.Err
	}
	return old.Replies[len(old.Replies)-1].result()
}

// callJSON is a Call as JSON.
type callJSON struct {
	Seq     int             `json:"seq"`
	At      time.Time       `json:"at,omitzero"`
	Method  string          `json:"method"`
	Node    string          `json:"node,omitempty"`
	Request json.RawMessage `json:"request"`
	Fault   Fault           `json:"fault,omitzero"`
	Replies []replyJSON     `json:"replies,omitempty"`
	Err     *errorJSON      `json:"error,omitempty"`
	Open    bool            `json:"open,omitempty"`
}

type replyJSON struct {
	Message json.RawMessage `json:"message,omitempty"`
	Status  json.RawMessage `json:"status,omitempty"`
	Met     int             `json:"met,omitempty"`
	Broken  bool            `json:"broken,omitempty"`
}

type errorJSON struct {
	Code string `json:"code,omitempty"` // "" for an error without a code
	Text string `json:"text"`
}

// MarshalJSON writes the call with its messages as protojson does.
func (c Call) MarshalJSON() ([]byte, error) {
	j := callJSON{Seq: c.Seq, At: c.At, Method: c.Method, Node: c.Node, Fault: c.Fault, Open: c.Open}
	var err error
	if j.Request, err = protojson.Marshal(c.Request); err != nil {
		return nil, err
	}
	for _, r := range c.Replies {
		out := replyJSON{Met: r.Met, Broken: r.Broken}
		if r.Status != nil {
			out.Status, err = protojson.Marshal(r.Status.Proto())
		} else {
			out.Message, err = protojson.Marshal(r.Message)
		}
		if err != nil {
			return nil, err
		}
		j.Replies = append(j.Replies, out)
	}
	if c.Err != nil {
		j.Err = &errorJSON{Text: c.Err.Error()}
		if s, ok := c.Err.(interface{ Status() (storage.Code, string) }); ok {
			code, text := s.Status()
			j.Err = &errorJSON{Code: string(code), Text: text}
		}
	}
	return json.Marshal(j)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (c *Call) UnmarshalJSON(data []byte) error {
	var j callJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	request, reply, err := messagesOf(j.Method)
	if err != nil {
		return err
	}
	if err := protojson.Unmarshal(j.Request, request); err != nil {
		return fmt.Errorf("read the request of call %d: %w", j.Seq, err)
	}
	*c = Call{Seq: j.Seq, At: j.At, Method: j.Method, Node: j.Node, Volume: volumeOf(request), Snapshot: snapshotIn(request), Request: request,
		Fault: j.Fault, Open: j.Open}
	for _, r := range j.Replies {
		in := Reply{Met: r.Met, Broken: r.Broken}
		if len(r.Status) > 0 {
			s := status.New(codes.OK, "").Proto()
			if err = protojson.Unmarshal(r.Status, s); err == nil {
				in.Status = status.FromProto(s)
			}
		} else {
			in.Message = reply.New().Interface()
			err = protojson.Unmarshal(r.Message, in.Message)
		}
		if err != nil {
			return fmt.Errorf("read the reply to call %d: %w", j.Seq, err)
		}
		c.Replies = append(c.Replies, in)
	}
	if j.Err != nil {
		c.Err = fmt.Errorf("%s", j.Err.Text)
		if j.Err.Code != "" {
			c.Err = storage.Errorf(storage.Code(j.Err.Code), "%s", j.Err.Text)
		}
	}
	return nil
}

// messagesOf returns an empty request of a method, and the type of its reply.
func messagesOf(method string) (request proto.Message, reply protoreflect.MessageType, err error) {
	for _, m := range rpcMethods {
		if m.name == method {
			return m.request.New().Interface(), m.reply, nil
		}
	}
	return nil, nil, fmt.Errorf("read a call: there is no method %q", method)
}
