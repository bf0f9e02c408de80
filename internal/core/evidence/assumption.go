package evidence

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/storage"
)

// Behaviour is how a driver, node or controller is assumed to behave.
type Behaviour string

// The behaviours.
const (
	// Healthy: it works.
	Healthy Behaviour = "healthy"
	// Refuses: each call fails with the same error.
	Refuses Behaviour = "refuses"
	// Silent: calls and requests get no answer.
	Silent Behaviour = "silent"
	// Absent: it does not run.
	Absent Behaviour = "absent"
	// Limited: a driver works, and refuses sizes above a limit.
	Limited Behaviour = "limited"
)

// Assumption is the assumed behaviour of one driver, node or controller, and the evidence for it.
type Assumption struct {
	// Subject is driver/NAME, node/NAME or controller/NAME.
	Subject string `json:"subject"`
	// Behaviour is how the subject behaves.
	Behaviour Behaviour `json:"behaviour"`
	// Object limits the assumption to one claim, volume or pod (pvc/namespace/name, pv/name, pod/namespace/name); "" is no limit.
	Object string `json:"object,omitempty"`
	// Operation limits it to one call of the driver; "" is no limit.
	Operation storage.Op `json:"operation,omitempty"`
	// Node limits it to one node; "" is no limit.
	Node string `json:"node,omitempty"`
	// Code and Message are the error of a driver that refuses.
	Code    storage.Code `json:"code,omitempty"`
	Message string       `json:"message,omitempty"`
	// Count is how often it was observed; 0 if that is unknown.
	Count int `json:"count,omitempty"`
	// Since and Last are the times of the first and the last observation; zero if unknown.
	Since time.Time `json:"since,omitzero"`
	Last  time.Time `json:"last,omitzero"`
	// Evidence says what the dump shows, without the assumption.
	Evidence string `json:"evidence"`
	// Requested is set if the user chose the behaviour.
	Requested bool `json:"requested,omitempty"`

	// key is the name or handle that the driver is called with, "" for any.
	key string
	// actor is the controller that is stopped, "" for none.
	actor string
	// image is that of a container that does not start, and of others that do not start either.
	image string
	// before is set for an error of a sidecar that did not call its driver: Code is not from the error.
	before bool
	// owner is the controller of a pod whose other pods do not start either, on that node.
	owner types.UID
	// most is the largest size that a limited driver accepts, or one that refuses the growth of a claim accepts for it, in bytes.
	most int64
	// class is the VolumeAttributesClass that a driver refuses for a claim; "" for any.
	class string
}

// Actor returns the controller that does not run, by its name as an actor; "" if the assumption is about calls or a node.
func (a Assumption) Actor() string { return a.actor }

// String returns the evidence and the assumption: "driver disk.example.com has refused claim shop/data 41 times since 09:12 with
// InvalidArgument; assumed to continue".
func (a Assumption) String() string {
	switch {
	case a.Requested:
		return fmt.Sprintf("%s is assumed to be %s, as requested", a.name(), a.state())
	case a.Behaviour == Limited:
		return fmt.Sprintf("%s; assumed to accept %s", a.Evidence, size(a.most))
	case a.Behaviour == Healthy:
		return fmt.Sprintf("%s: %s; assumed to work", a.name(), a.Evidence)
	}
	if a.class != "" {
		return fmt.Sprintf("%s; assumed to continue for VolumeAttributesClass %s", a.Evidence, a.class)
	}
	if a.most > 0 {
		return fmt.Sprintf("%s; assumed to continue, and to accept %s", a.Evidence, size(a.most))
	}
	if strings.HasPrefix(a.Subject, "node/") {
		return a.Evidence + "; assumed to stay cut off from the API server, with its containers running"
	}
	return a.Evidence + "; assumed to continue"
}

// name returns the subject in words: "driver disk.example.com".
func (a Assumption) name() string {
	if plugin, ok := strings.CutPrefix(a.Subject, "driver/"); ok && a.Operation == storage.Recycle {
		return "recycler of " + plugin
	}
	return strings.Replace(a.Subject, "/", " ", 1)
}

func (a Assumption) state() string {
	switch a.Behaviour {
	case Refuses:
		return "failing"
	default:
		return string(a.Behaviour)
	}
}

// size returns a number of bytes as a bound: "at most 1Ti", "less than 1Ti".
func size(bytes int64) string {
	const mebi = 1 << 20
	if above := bytes + 1; above%mebi == 0 {
		return "less than " + resource.NewQuantity(above, resource.BinarySI).String()
	}
	return "at most " + resource.NewQuantity(bytes, resource.BinarySI).String()
}

// Failing reports whether the subject does not work.
func (a Assumption) Failing() bool { return a.Behaviour != Healthy && a.Behaviour != Limited }

// seen describes how often and since when something was observed: " 41 times since 09:12". The date is omitted on the day of now.
func seen(count int, since, now time.Time) string {
	text := ""
	switch {
	case count == 1:
		text = " once"
	case count > 1:
		text = fmt.Sprintf(" %d times", count)
	}
	if since.IsZero() {
		return text
	}
	if count == 1 {
		return text + " at " + clock(since, now)
	}
	return text + " since " + clock(since, now)
}

// clock returns the time of day, with the date if it is not that of now.
func clock(at, now time.Time) string {
	at, now = at.UTC(), now.UTC()
	if at.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return at.Format("15:04")
	}
	return at.Format("2006-01-02 15:04")
}
