package volsimtest

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/trace"
)

// Limits of a report, so that the failure stays readable.
const (
	reportedObjects = 3
	reportedLines   = 12
)

// use notes that the test used an object.
func (c *Cluster) use(kind api.Kind, key string) {
	ref := api.Ref{Kind: kind, Key: key}
	c.used = append(slices.DeleteFunc(c.used, func(r api.Ref) bool { return r == ref }), ref)
	if len(c.used) > reportedObjects {
		c.used = c.used[1:]
	}
}

// report logs the fault rules that never applied, and the objects that the test used last. Without any it logs the end of the trace.
func (c *Cluster) report() {
	c.t.Helper()
	var out strings.Builder
	if unused := c.Faults.Unused(); len(unused) > 0 {
		out.WriteString("Fault rules that never applied:\n  " + strings.Join(unused, "\n  ") + "\n\n")
	}
	for _, ref := range c.used {
		c.describe(&out, ref)
	}
	if len(c.used) == 0 {
		out.WriteString("The last lines of the trace:\n")
		c.lines(&out, func(trace.Entry) bool { return true })
	}
	c.t.Logf("At %s of virtual time:\n\n%s", c.Now().Format("2006-01-02 15:04:05"), out.String())
}

// describe writes an object as YAML, why it is in its state, and the end of the trace about it.
func (c *Cluster) describe(out *strings.Builder, ref api.Ref) {
	store := internals.Engine(c).Store()
	obj, err := store.Get(ref.Kind, ref.Key)
	if err != nil {
		ref.Key = api.Key(metav1.NamespaceDefault, ref.Key)
		obj, err = store.Get(ref.Kind, ref.Key)
	}
	if err != nil {
		out.WriteString(err.Error() + "\n\n")
		return
	}
	shown := obj.DeepCopyObject().(api.Object)
	shown.SetManagedFields(nil)
	text, err := yaml.Marshal(shown)
	if err != nil {
		text = []byte(err.Error())
	}
	out.WriteString("# " + ref.String() + "\n" + string(text) + "\n")
	if short, ok := explained[ref.Kind]; ok {
		if x, err := c.Cluster.Explain(short + ref.Key); err == nil {
			out.WriteString(strings.TrimRight(x.String(), "\n") + "\n\n")
		}
	}
	out.WriteString("The last lines of the trace about it:\n")
	c.lines(out, func(e trace.Entry) bool { return e.Object == ref })
	out.WriteString("\n")
}

// explained are the kinds that Explain accepts, with the prefix that names them.
var explained = map[api.Kind]string{
	api.PersistentVolume: "pv/", api.PersistentVolumeClaim: "pvc/", api.Pod: "pod/", api.VolumeAttachment: "va/",
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
