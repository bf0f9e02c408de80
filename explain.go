package volsim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/explain"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/objname"
	"github.com/volsim/volsim/internal/core/snapshot"
	"github.com/volsim/volsim/trace"
)

// Explain says why an object is in its state: the rule that decides, every candidate with the first rule that rejects it, who must act
// next, when the state can change without action, and the same for the objects it waits for. The object is a claim (pvc/namespace/name, or
// namespace/name), a pod (pod/namespace/name), a volume (pv/name), an attachment (va/name) or a workload (sts/namespace/name, deploy/…). If
// it does not exist, apierrors.IsNotFound holds for the error.
func (c *Cluster) Explain(object string) (explain.Explanation, error) {
	ref, err := objname.Parse(object)
	if err != nil {
		return explain.Explanation{}, fmt.Errorf("explain: %w", err)
	}
	return explain.New(c.snapshot()).Object(ref)
}

// snapshot returns the objects as they are now, and what explanations need beside them.
func (c *Cluster) snapshot() snapshot.Snapshot {
	s := snapshot.Of(c.engine.Store(), c.Now())
	s.Backends = c.backends
	s.DisableProvisioning = c.cfg.DisableProvisioning
	s.DetachPendingSince = c.detachPendingSince
	s.Unreachable = c.unreachable
	s.Populator = c.populator
	s.Refusals = c.refusals()
	s.Stopped = c.stopped
	return s
}

// stopped returns why a controller does not run, and the remedy; "" if it runs.
func (c *Cluster) stopped(actor string) (why, remedy string) {
	const crashed = "has crashed"
	if a, ok := c.engine.Actor(actor); ok {
		if a.Alive() {
			return "", ""
		}
		return crashed, "restart " + actor
	}
	if slices.Contains(c.down, actor) {
		return crashed, "restart " + actor
	}
	const missing = "is not part of the cluster"
	if slices.Contains(c.cfg.Without, actor) {
		return missing, fmt.Sprintf("remove %q from Config.Without", actor)
	}
	if c.cfg.internal.NoControllers {
		return "", ""
	}
	if node, ok := actors.NodeOfKubelet(actor); ok {
		switch {
		case c.nodes == nil:
			return missing, fmt.Sprintf("remove %q from Config.Without, or write the status yourself", Kubelets)
		case c.cfg.ManualNodes:
			return missing, fmt.Sprintf("add node %s with Cluster.AddNode, or write the status yourself", node)
		}
	}
	driver, ok := actors.DriverOf(actor)
	switch {
	case !ok:
		return "", ""
	case actors.IsAttacher(actor):
		// ATT-145: without attachRequired false the attach/detach controller waits for it.
		return missing, fmt.Sprintf("give Config.Backends a driver %s that attaches, or create a CSIDriver %s with attachRequired: false", driver, driver)
	}
	return missing, fmt.Sprintf("give Config.Backends a driver %s that can do this", driver)
}

// refusals reads in the trace which writes of components policies and webhooks have refused, unless the same component wrote the object later.
func (c *Cluster) refusals() []snapshot.Refusal {
	if c.Trace() == nil || c.engine.Admission() == nil {
		return nil
	}
	type write struct {
		actor  string
		object api.Ref
	}
	last, order := map[write]snapshot.Refusal{}, []write(nil)
	for entry := range c.Trace().Entries() {
		if entry.Type != trace.Write || api.IsUser(entry.Actor) {
			continue
		}
		by := write{entry.Actor, entry.Object}
		if _, known := last[by]; known && entry.Err == nil {
			delete(last, by)
			order = slices.DeleteFunc(order, func(w write) bool { return w == by })
		}
		if rule := refusedBy(entry.Err); rule != "" {
			if _, known := last[by]; !known {
				order = append(order, by)
			}
			last[by] = snapshot.Refusal{Actor: entry.Actor, Verb: entry.Verb, Object: entry.Object, Rule: rule, Err: entry.Err.Error()}
		}
	}
	list := make([]snapshot.Refusal, len(order))
	for i, by := range order {
		list[i] = last[by]
	}
	return list
}

// refusedBy returns the rule by which a policy or a webhook refused a write with this error; "" if none did.
func refusedBy(err error) string {
	if err == nil {
		return ""
	}
	text := err.Error()
	for _, by := range []struct{ part, rule string }{
		{"failed calling webhook", "API-392"}, {"admission webhook ", "API-391"}, {"ValidatingAdmissionPolicy ", "API-420"}, {"policy '", "API-425"},
	} {
		if strings.Contains(text, by.part) {
			return by.rule
		}
	}
	return ""
}

// populator returns the controller that fills volumes from data sources of a kind, and whether the data source with this key exists.
func (c *Cluster) populator(kind api.Kind, key string) (actor string, exists bool) {
	actor = c.populators[kind]
	if actor != "" {
		_, err := c.Objects(kind).Get(key)
		exists = err == nil
	}
	return actor, exists
}

// unreachable reports whether a node's kubelet is down or cut off. For a Node object without a kubelet the status decides.
func (c *Cluster) unreachable(node string) bool {
	if c.nodes == nil {
		return false
	}
	m, ok := c.nodes.Get(node)
	return ok && (!m.Running() || m.Partitioned())
}

// detachPendingSince reads in the trace since when the attach/detach controller has been waiting to detach a volume from a node (ATT-045).
// Without a trace ok is false.
func (c *Cluster) detachPendingSince(volume corev1.UniqueVolumeName, node string) (since time.Time, ok bool) {
	if c.Trace() == nil {
		return time.Time{}, false
	}
	for entry := range c.Trace().Entries() {
		switch d := entry.Detach; {
		case entry.Actor != actors.AttachDetach:
		case entry.Type == trace.Started, entry.Type == trace.Crashed:
			// ATT-134: a restart loses the time.
			ok = false
		case d != nil && d.Volume == string(volume) && d.Node == node:
			// ATT-045: the time counts from the first pass that found the volume unwanted, whatever later ones find.
			since, ok = d.Since, d.Waiting
		}
	}
	return since, ok
}
