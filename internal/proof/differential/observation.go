package differential

import (
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/trace"
)

// Observation is the state after a step, and what happened since the previous observation.
//
// resourceVersions count all writes of a cluster including Events, so only their presence is compared. All other fields are compared
// literally: uids and timestamps are equal, because both sides start at the same time.
type Observation struct {
	Step int
	// Refused is the API server's refusal of the user's request.
	Refused []string
	// Objects are all objects except Events, as lines of YAML.
	Objects []string
	// Events is the sorted set of emitted Events, before client-go drops any.
	Events []string
	// Writes are the controllers' effective writes in order, with the changed fields; those to CSINodes and those of
	// NodeActors and of controllers of workloads also with the second.
	Writes []string
	// Calls are the storage calls, with the second in which they began and ended.
	Calls []string
	// Requests are the driver's node requests with all fields, and results.
	Requests []string
	// Orders are the calls of each kubelet about each volume, in order.
	Orders []string
	// Machines are the nodes: directories and files, mounts, containers, and the volumes mounted for pods according to the kubelet.
	Machines []string
}

// Observe makes the observation of a side that started at start, from its objects, machines, the driver's requests, and the trace since
// the last observation.
func Observe(start time.Time, objects []api.Object, machines []Machine, requests []string, entries iter.Seq[trace.Entry]) (Observation, error) {
	o := Observation{Machines: describeMachines(machines, objects), Requests: slices.Sorted(slices.Values(requests))}
	orders := map[string][]string{}
	for _, obj := range objects {
		lines, err := describe(obj)
		if err != nil {
			return o, fmt.Errorf("%s: %w", api.RefTo(obj), err)
		}
		o.Objects = append(o.Objects, lines...)
	}
	for e := range entries {
		if e.Actor == api.User {
			continue
		}
		switch e.Type {
		case trace.Emitted:
			o.Events = append(o.Events, fmt.Sprintf("%s %s %s: %s", e.Object, e.Verb, e.Reason, inOrder(uncounted(e.Text))))
		case trace.Write:
			if e.Object.Kind == api.Event || e.Err != nil || e.Old == e.New {
				continue
			}
			o.Writes = append(o.Writes, describeWrite(start, e))
		case trace.Storage:
			o.Calls = append(o.Calls, describeCall(start, e))
			if strings.HasPrefix(e.Actor, actors.Kubelet("")) {
				key := e.Actor + " " + e.Call.Key
				orders[key] = append(orders[key], key+": "+callOf(e))
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(orders)) {
		o.Orders = append(o.Orders, orders[key]...)
	}
	slices.Sort(o.Events)
	o.Events = slices.Compact(o.Events)
	// Calls of one second are sorted, because different operations run in different goroutines.
	slices.Sort(o.Calls)
	return o, nil
}

// uncounted removes the number of processed files from a text. Both sides have different files.
func uncounted(text string) string {
	if before, _, ok := strings.Cut(text, ", processed "); ok && strings.HasPrefix(text, "Setting volume ownership") {
		return before
	}
	return text
}

// inOrder sorts the pods that an Event names: the controller takes them from a map.
func inOrder(text string) string {
	rest, ok := strings.CutPrefix(text, "waiting for pods ")
	names, end, ok2 := strings.Cut(rest, " ")
	if !ok || !ok2 {
		return text
	}
	pods := strings.Split(names, ",")
	slices.Sort(pods)
	return "waiting for pods " + strings.Join(pods, ",") + " " + end
}

// version matches the resourceVersion in a reference to an object.
var version = regexp.MustCompile(`resourceVersion: "[0-9]+"`)

// describe returns an object as YAML.
func describe(obj api.Object) ([]string, error) {
	obj = obj.DeepCopyObject().(api.Object)
	obj.SetResourceVersion("")
	if _, ok := obj.(*plain.Object); !ok {
		obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
	data, err := yaml.Marshal(obj)
	if err != nil {
		return nil, err
	}
	name := api.RefTo(obj).String()
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	for i, line := range lines {
		lines[i] = name + ": " + version.ReplaceAllString(line, "resourceVersion: (some)")
	}
	return lines, nil
}

// describeWrite returns actor, verb, object and changed fields of a write. Some also have the second,
// because their objects do not contain all times.
func describeWrite(start time.Time, e trace.Entry) string {
	what := subjectOf(e) + " " + e.Verb
	if e.Object.Kind == api.CSINode || slices.Contains(NodeActors, e.Actor) || slices.Contains(followers, e.Actor) {
		what += fmt.Sprintf(" at %ds", int(e.Time.Sub(start).Seconds()))
	}
	switch {
	case e.Old == nil:
		return what
	case e.New == nil:
		return what + ", and it was gone"
	}
	var paths []string
	for _, c := range trace.Changes(e.Old, e.New) {
		paths = append(paths, c.Path)
		if c.Path == "status.phase" {
			paths[len(paths)-1] += "=" + strings.Trim(c.New, `"`)
		}
	}
	return what + " " + strings.Join(paths, " ")
}

// subjectOf returns the beginning of a write's description: its object.
func subjectOf(e trace.Entry) string { return e.Object.String() + " by " + e.Actor + ":" }

func describeCall(start time.Time, e trace.Entry) string {
	return fmt.Sprintf("%6ds %s", int(e.Time.Sub(start).Seconds()), callOf(e))
}

// callOf returns a call without its time.
func callOf(e trace.Entry) string {
	text := fmt.Sprintf("%s %s %s %s", e.Call.Target, e.Call.Verb, e.Call.Key, e.Verb)
	if e.Call.Node != "" {
		text += " at " + e.Call.Node
	}
	if e.Call.Pod != "" {
		text += " for " + e.Call.Pod
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}
