package volsimtest

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/internal/core/objname"
	"github.com/volsim/volsim/trace"
)

// Limits of a report, so that the failure stays readable.
const (
	reportedObjects = 3
	reportedLines   = 12
)

// remembered limits the objects of a use from which those to report are chosen.
const remembered = 20

// use says how a test used an object.
type use int

const (
	asked   use = iota // read it, or ask why it is in its state
	written            // write it
	uses
)

// note notes what the test, or a client, does with an object.
func (c *Cluster) note(u use, kind api.Kind, key string) {
	if known := internals.Engine(c.Cluster).Store().Describe(kind); known != nil && known.Namespaced && !strings.Contains(key, "/") {
		key = api.Key(metav1.NamespaceDefault, key)
	}
	ref := api.Ref{Kind: kind, Key: key}
	c.used[u] = append(slices.DeleteFunc(c.used[u], func(known api.Ref) bool { return known == ref }), ref)
	if len(c.used[u]) > remembered {
		c.used[u] = c.used[u][1:]
	}
}

// noteClients notes the objects that clients of the cluster wrote, such as those of kube.Clientset.
func (c *Cluster) noteClients() {
	if c.Trace() == nil {
		return
	}
	for e := range c.Trace().Entries() {
		if e.Type == trace.Write && e.Actor != api.User && api.IsUser(e.Actor) && !slices.Contains(incidental, e.Object.Kind) {
			c.note(written, e.Object.Kind, e.Object.Key)
		}
	}
}

// incidental are kinds that programs write beside their work.
var incidental = []api.Kind{api.Event, "Event.events.k8s.io", "Lease.coordination.k8s.io"}

// likely lists the objects to report: those that the test asked about, then those that it wrote whose state has an explanation, then others;
// of each sort the newest first.
func (c *Cluster) likely() []api.Ref {
	var refs, others []api.Ref
	for u, used := range c.used {
		for _, ref := range slices.Backward(used) {
			switch {
			case slices.Contains(refs, ref) || len(refs) == reportedObjects:
			case use(u) == asked || c.why(ref) != "":
				refs = append(refs, ref)
			default:
				others = append(others, ref)
			}
		}
	}
	return append(refs, others[:min(len(others), reportedObjects-len(refs))]...)
}

// why explains the state of an object, "" if there is nothing to explain.
func (c *Cluster) why(ref api.Ref) string {
	x, err := c.Cluster.Explain(objname.Of(ref))
	if err != nil {
		return ""
	}
	return strings.TrimRight(x.String(), "\n")
}

// report logs the fault rules that never applied, and the objects that the test asked about or wrote last. Without any it logs the end of the
// trace.
func (c *Cluster) report() {
	c.t.Helper()
	var out strings.Builder
	if unused := c.Faults.Unused(); len(unused) > 0 {
		out.WriteString("Fault rules that never applied:\n  " + strings.Join(unused, "\n  ") + "\n\n")
	}
	c.noteClients()
	likely := c.likely()
	for _, ref := range likely {
		c.describe(&out, ref)
	}
	if len(likely) == 0 {
		out.WriteString("The last lines of the trace:\n")
		c.lines(&out, func(trace.Entry) bool { return true })
	}
	c.t.Logf("At %s of virtual time:\n\n%s", c.Now().Format("2006-01-02 15:04:05"), out.String())
}

// describe writes an object as YAML, why it is in its state, and the end of the trace about it. Of an absent object the trace says who deleted it.
func (c *Cluster) describe(out *strings.Builder, ref api.Ref) {
	out.WriteString("# " + ref.String() + "\n")
	if obj, err := internals.Engine(c.Cluster).Store().Get(ref.Kind, ref.Key); err != nil {
		out.WriteString(err.Error() + "\n\n")
	} else {
		shown := obj.DeepCopyObject().(api.Object)
		shown.SetManagedFields(nil)
		text, err := yaml.Marshal(shown)
		if err != nil {
			text = []byte(err.Error())
		}
		out.WriteString(string(text) + "\n")
	}
	if why := c.why(ref); why != "" {
		out.WriteString(why + "\n\n")
	}
	out.WriteString("The last lines of the trace about it:\n")
	c.lines(out, func(e trace.Entry) bool { return e.Object == ref })
	out.WriteString("\n")
}

// lines writes the last trace entries that match.
func (c *Cluster) lines(out *strings.Builder, match func(trace.Entry) bool) {
	if c.Trace() == nil {
		return
	}
	last := trace.Trace{Limit: reportedLines}
	for e := range c.Trace().Entries() {
		if last.Start.IsZero() {
			last.Start = e.Time
		}
		if match(e) {
			last.Add(e)
		}
	}
	if last.Len() == 0 {
		out.WriteString("none\n")
		return
	}
	_ = last.WriteText(out) // a Builder returns no error
}
