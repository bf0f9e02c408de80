package csi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/volsim/volsim/storage"
)

// rpc is one call to the driver.
type rpc struct {
	rpcMethod
	node     string // "" for a call of a sidecar
	volume   string
	snapshot string
	request  proto.Message
}

// conn returns the connection for calls of a node; "" is the controller.
func (d *Driver) conn(node string) Conn {
	if c, ok := d.cfg.Nodes[node]; ok && node != "" {
		return c
	}
	return d.cfg.Controller
}

// Call makes any call of CSI, such as &csi.ListVolumesRequest{}, and returns the reply. node is the node whose driver is called, "" for the
// controller. The call gets its fault and is recorded like those of the sidecars and the kubelet.
func (d *Driver) Call(node string, request proto.Message) (proto.Message, error) {
	method, err := methodOf(request)
	if err != nil {
		return nil, err
	}
	r := rpc{method, node, volumeOf(request), snapshotIn(request), request}
	c := Call{Seq: len(d.calls) + 1, Method: r.name, Node: r.node, Volume: r.volume, Snapshot: r.snapshot, Request: r.request}
	if d.Clock != nil {
		c.At = d.Clock()
	}
	if d.cfg.Inject != nil && d.cfg.Replay == nil {
		c.Fault = d.cfg.Inject(c)
	}
	at := len(d.calls)
	d.calls = append(d.calls, c)
	var message proto.Message
	if d.cfg.Replay != nil {
		message, err = d.replay(at, r)
		d.calls[at].Err = err
		return message, err
	}
	if err = d.before(request); err == nil {
		message, err = d.deliver(at, r)
	}
	if err == nil {
		err = d.after(request)
	}
	d.calls[at].Err = err
	return message, err
}

// deliver makes the call with index at, with its fault.
func (d *Driver) deliver(at int, r rpc) (proto.Message, error) {
	fault := d.calls[at].Fault
	send := func() Reply {
		reply := d.meet(at, r)
		d.calls[at].Replies = append(d.calls[at].Replies, reply)
		return reply
	}
	lost := func(code storage.Code, text string) error { return storage.Errorf(code, "%s", text) }
	code := fault.Code
	if code == "" {
		code = storage.Unavailable
	}
	switch fault.Kind {
	case "":
		return send().result()
	case NotDelivered:
		return nil, lost(code, "the call was not delivered")
	case LostReply:
		send()
		return nil, lost(code, "the reply was lost")
	case Late:
		send()
		return nil, d.late(r)
	case Twice:
		send()
		return send().result()
	case KilledBefore:
		if err := d.restart(r.node); err != nil {
			return nil, err
		}
		return nil, lost(storage.Unavailable, "connection refused")
	case Reset, KilledDuring:
		reply := d.interrupt(r, fault.Kind == KilledDuring)
		d.calls[at].Replies = append(d.calls[at].Replies, reply)
		return nil, lost(storage.Unavailable, "error reading from server: connection reset by peer")
	case KilledAfter:
		send()
		if err := d.restart(r.node); err != nil {
			return nil, err
		}
		return nil, lost(storage.Unavailable, "error reading from server: EOF")
	case Overlap:
		d.hold(at, r)
		return nil, d.late(r)
	}
	return nil, storage.Errorf(storage.Internal, "inject a fault into %s: there is no fault %q", d.calls[at].Method, fault.Kind)
}

// restart kills the driver and starts it again.
func (d *Driver) restart(node string) error {
	if d.cfg.Restart == nil {
		return nil
	}
	d.restarted = map[Conn]bool{}
	if err := d.cfg.Restart(node); err != nil {
		return storage.Errorf(storage.Unavailable, "restart the driver: %v", err)
	}
	return nil
}

// running is a call that the driver executes.
type running struct {
	done   chan struct{}
	reply  Reply
	cancel context.CancelFunc
	gate   *gate
	conn   Conn
	failed bool // the connection failed
}

// start sends a call to the driver. The call can be paused if paused is true; see Pause.
func (d *Driver) start(r rpc, paused bool) *running {
	conn := d.conn(r.node)
	// The first calls on a connection to a driver that volsim has restarted may find the old socket.
	again := d.restarted != nil && !d.restarted[conn]
	ctx, cancel := context.WithCancel(context.Background())
	run := &running{done: make(chan struct{}), cancel: cancel, conn: conn}
	if paused {
		run.gate = newGate()
		ctx = context.WithValue(ctx, gateKey{}, run.gate)
	}
	out := r.reply.New().Interface()
	go func() {
		defer close(run.done)
		defer cancel()
		run.reply = Reply{Status: status.New(codes.Internal, "the driver ended the goroutine of the call"), Broken: true}
		if conn == nil {
			run.reply = Reply{Status: status.New(codes.Unavailable, "there is no connection to the driver")}
			return
		}
		var header, trailer metadata.MD
		if err := conn.Invoke(ctx, r.full, r.request, out, grpc.Header(&header), grpc.Trailer(&trailer)); err != nil {
			_, socket := conn.(*grpc.ClientConn) // another connection may not pass headers on
			run.failed = socket && len(header)+len(trailer) == 0
			run.reply = failure(err, again || !run.failed)
			return
		}
		run.reply = Reply{Message: out}
	}()
	return run
}

// failure returns the reply of a call that failed. answered is true if the driver sent headers: without them the connection failed, and the
// error is one of gRPC itself.
func failure(err error, answered bool) Reply {
	s := status.Convert(err)
	if _, broken := errors.AsType[brokenError](err); broken {
		return Reply{Status: s, Broken: true}
	}
	switch {
	case strings.HasPrefix(s.Message(), "grpc: "):
		return Reply{Status: status.New(s.Code(), "the driver sent garbage: "+s.Message()), Broken: true}
	case s.Code() > codes.Unauthenticated: // the last code of gRPC
		return Reply{Status: status.Newf(s.Code(), "the driver sent garbage: code %d, which gRPC does not have: %s", s.Code(), s.Message()), Broken: true}
	case !answered && s.Code() != codes.Canceled && s.Code() != codes.DeadlineExceeded:
		return Reply{Status: status.New(s.Code(), "the connection to the driver failed: "+s.Message()), Broken: true}
	}
	return Reply{Status: s}
}

// wait waits for the end of a call, at most Config.Limit, and until ctx is done.
func (d *Driver) wait(ctx context.Context, run *running) Reply {
	var expired <-chan time.Time
	if d.cfg.Limit > 0 {
		limit := time.NewTimer(d.cfg.Limit)
		defer limit.Stop()
		expired = limit.C
	}
	select {
	case <-run.done:
		if d.restarted != nil && !run.failed {
			d.restarted[run.conn] = true
		}
		return run.reply
	case <-ctx.Done():
		run.cancel()
		return Reply{Status: status.FromContextError(ctx.Err())}
	case <-expired:
		run.cancel()
		return Reply{Status: status.New(codes.DeadlineExceeded, fmt.Sprintf("the driver did not reply within %v of real time", d.cfg.Limit)), Broken: true}
	}
}

// interrupt breaks the connection while the driver executes a call, and kills the driver if kill is true.
func (d *Driver) interrupt(r rpc, kill bool) Reply {
	run := d.start(r, true)
	run.gate.reached(run.done, d.overlapDelay(r))
	run.cancel()
	run.gate.open()
	reply := d.wait(context.Background(), run)
	if kill && reply.Status.Code() == codes.Unavailable {
		reply.Broken = false // the connection fails because the driver is killed
	}
	if kill {
		if err := d.restart(r.node); err != nil {
			reply = Reply{Status: status.New(codes.Unavailable, err.Error())}
		}
	}
	return reply
}

// result converts an answer of the driver for the caller.
func (r Reply) result() (proto.Message, error) {
	if r.Status == nil {
		return r.Message, nil
	}
	return nil, statusError{r.Status}
}

// overlapDelay is the real time after which a call that does not pause counts as being executed. A driver in the same process pauses or
// ends its calls, even if the computer is busy.
func (d *Driver) overlapDelay(r rpc) time.Duration {
	if _, ok := d.conn(r.node).(*Server); ok {
		return 200 * time.Millisecond
	}
	return time.Millisecond
}

// openCall is a call that stays open until another call of its volume or snapshot meets it.
type openCall struct {
	at int // index in calls
	rpc
}

// hold leaves a call open.
func (d *Driver) hold(at int, r rpc) {
	d.calls[at].Open = true
	d.open = append(d.open, openCall{at, r})
}

// meet sends a call. If another call of the volume or snapshot is open, the driver executes both at the same time: the open one first, until it pauses
// or for a moment; then this one. If several are open, the driver executes the others before, because they reached it earlier.
func (d *Driver) meet(at int, r rpc) Reply {
	var met []openCall
	d.open = slices.DeleteFunc(d.open, func(o openCall) bool {
		until := d.calls[o.at].Fault.Until
		same := r.volume != "" && d.nameOf(o.volume) == d.nameOf(r.volume) || r.snapshot != "" && d.snapshotName(o.snapshot) == d.snapshotName(r.snapshot)
		if same = same && (until == "" || until == r.name); same {
			met = append(met, o)
		}
		return same
	})
	if len(met) == 0 {
		return d.wait(context.Background(), d.start(r, false))
	}
	last := len(met) - 1
	for _, o := range met[:last] {
		reply := d.wait(context.Background(), d.start(o.rpc, false))
		reply.Met = d.calls[at].Seq
		d.end(o.at, reply)
	}
	first := met[last]
	early := d.start(first.rpc, true)
	early.gate.reached(early.done, d.overlapDelay(first.rpc))
	late := d.start(r, false)
	// The later call may wait for the earlier one, as it should if both use one lock.
	late.within(patience)
	if d.calls[first.at].Fault.GivenUp {
		early.cancel()
	}
	early.gate.open()
	reply, old := d.wait(context.Background(), late), d.wait(context.Background(), early)
	reply.Met, old.Met = d.calls[at].Seq, d.calls[first.at].Seq
	reply.Met, old.Met = old.Met, reply.Met
	d.end(first.at, old)
	return reply
}

// patience is the real time, in milliseconds, that a second call may wait for the first one before that continues.
const patience = 20

// within waits until the call has ended, at most for a number of milliseconds. It waits for each of them anew, so that a call which does not
// wait for the other one gets its turn on a busy computer, too.
func (r *running) within(milliseconds int) {
	for range milliseconds {
		select {
		case <-r.done:
			return
		case <-time.After(time.Millisecond):
		}
	}
}

// nameOf returns the name with which a volume was created, or the volume itself if it is not known.
func (d *Driver) nameOf(volume string) string {
	if name, ok := d.names[volume]; ok {
		return name
	}
	return volume
}

// snapshotName returns the name with which a snapshot was created, or its ID if the name is not known.
func (d *Driver) snapshotName(id string) string {
	if name, ok := d.snapshots[id]; ok {
		return name
	}
	return id
}

// end records the reply to an open call.
func (d *Driver) end(at int, reply Reply) {
	d.calls[at].Open = false
	d.calls[at].Replies = append(d.calls[at].Replies, reply)
}

// Finish delivers the calls that are still open, one after the other.
func (d *Driver) Finish() {
	open := d.open
	d.open = nil
	for _, o := range open {
		d.end(o.at, d.wait(context.Background(), d.start(o.rpc, false)))
	}
}
