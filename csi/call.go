package csi

import (
	"time"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/volsim/volsim/storage"
)

// Call is one request to the driver and what became of it. Requests and replies belong to the recording: treat them as read-only.
type Call struct {
	// Seq numbers the calls of a Driver from 1, in the order in which they were made. A call that is delivered twice has one number.
	Seq int
	// At is the virtual time at which the call was made; zero if the Driver has no Clock.
	At time.Time
	// Method is the name of the RPC, such as NodeStageVolume.
	Method string
	// Node is the node whose kubelet made the call; "" for a call of a sidecar.
	Node string
	// Volume is the volume_id or source_volume_id of the request, or the name if a volume is created; "" if the request has neither.
	Volume string
	// Snapshot is the snapshot_id or group_snapshot_id of the request, or the name if one is created; "" if the request has neither.
	Snapshot string
	// Request is the request that was sent.
	Request proto.Message
	// Fault is the failure of the connection; the zero value is none.
	Fault Fault
	// Replies are the driver's replies: one entry, two if the call was delivered twice, none if it was not delivered.
	Replies []Reply
	// Err is the error that the caller got, nil for success. It differs from the last of Replies if the reply was lost.
	Err error
	// Open is true while the call stays open (Overlap). Its reply is added when it ends.
	Open bool
}

// Reply is an answer of the driver.
type Reply struct {
	// Message is the reply; nil with an error.
	Message proto.Message
	// Status is the error with its details; nil for success.
	Status *status.Status
	// Met is the Seq of the call that the driver executed at the same time, zero for none. If a call meets several open ones, all of them have
	// its Seq; the driver executed only the last of them at the same time, and the others before.
	Met int
	// Broken: the driver did not answer. It panicked, closed the connection, did not reply in time, sent garbage, or returned neither a reply
	// nor an error; Status says which.
	Broken bool
}

// Fault is a failure of the connection during a call. The zero value is none.
type Fault struct {
	// Kind says what goes wrong; "" is nothing.
	Kind FaultKind `json:"kind"`
	// Code is the status code that the caller gets with NotDelivered and LostReply; "" is Unavailable.
	Code storage.Code `json:"code,omitempty"`
	// Until is the method of the call that meets the open call with Overlap, such as DeleteVolume; "" is any call of the volume.
	Until string `json:"until,omitempty"`
	// GivenUp: with Overlap, the context of the open call ends before the call continues, because its caller gave up. Over a socket the reply
	// is then Canceled, whatever the driver does.
	GivenUp bool `json:"givenUp,omitempty"`
}

// FaultKind names a fault at the wire.
type FaultKind string

// The faults at the wire.
const (
	// NotDelivered: the driver never receives the call; the caller gets Fault.Code.
	NotDelivered FaultKind = "not delivered"
	// LostReply: the call takes effect, but the caller gets Fault.Code.
	LostReply FaultKind = "lost reply"
	// Late: the call takes effect, but its reply arrives after the deadline. The caller gets DeadlineExceeded when its timeout is over.
	Late FaultKind = "late reply"
	// Twice: the call is delivered twice, one after the other. The caller gets the second reply.
	Twice FaultKind = "delivered twice"
	// Reset: the connection breaks while the driver executes the call; the caller gets Unavailable.
	Reset FaultKind = "connection reset"
	// KilledBefore, KilledDuring and KilledAfter: the driver is killed and restarted (Config.Restart) before it receives the call, while it
	// executes the call, or before it sends the reply. The caller gets Unavailable.
	KilledBefore FaultKind = "driver killed before the call"
	KilledDuring FaultKind = "driver killed during the call"
	KilledAfter  FaultKind = "driver killed before the reply"
	// Overlap: the call stays open. The caller gets DeadlineExceeded when its timeout is over, and the next call of the same volume or
	// snapshot (Until) meets the call in the driver.
	Overlap FaultKind = "overlap"
)
