// Failover shows a database on a ReadWriteOnce volume whose node dies: when is it back, and is the data safe? It simulates three ways to go
// on, and then a node that is only cut off and still writes.
package main

import (
	"embed"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/mount"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

//go:embed cluster.yaml
var manifest embed.FS

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "failover:", err)
		os.Exit(1)
	}
}

// The node stops two minutes after the start. The node lifecycle controller notices that within 65 s. Five minutes later its pods are
// deleted, because they tolerate the taint of the node for that long by default.
const (
	running  = 2 * time.Minute
	noticed  = 65 * time.Second
	evicted  = 5 * time.Minute
	patience = 15 * time.Minute
)

func run(w io.Writer) error {
	for _, variant := range []struct {
		title, text string
		run         func(s *simulation)
	}{
		{"Wait",
			"The old pod is deleted by force, and a new one is placed on n2. Nothing confirms that n1 is dead, so its volume is detached\nonly after six minutes in which n1 did not report that it is unmounted.", waitForForce},
		{"Taint the node as out of service", "The administrator knows that n1 is off, and taints it. Then the volume is detached at once.",
			outOfService},
		{"The node comes back",
			"n1 starts again before anyone acts. The containers of the pod start again, and its volume is still attached.", comesBack},
		{"The node was only cut off",
			"n1 runs, but cannot reach the API server. It does not learn that its pod is deleted and keeps writing until the volume is detached.\nWhat it writes after that is lost, and nothing in the cluster reports it.", cutOff},
	} {
		s, err := newSimulation(w)
		if err != nil {
			return err
		}
		s.printf("== %s\n%s\n\n", variant.title, variant.text)
		variant.run(s)
		s.summary()
		if s.err != nil {
			return fmt.Errorf("%s: %w", variant.title, s.err)
		}
	}
	return nil
}

func waitForForce(s *simulation) {
	s.doNode("n1 loses its power", (*mount.Node).PowerOff)
	s.advance(noticed)
	s.advance(evicted)
	s.replace()
	s.advance(patience)
}

func outOfService(s *simulation) {
	s.doNode("n1 loses its power", (*mount.Node).PowerOff)
	s.advance(noticed)
	s.advance(evicted)
	s.do("n1 is tainted as out of service", s.Patch(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}},
		`{"spec":{"taints":[{"key":"node.kubernetes.io/out-of-service","value":"nodeshutdown","effect":"NoExecute"}]}}`))
	s.do("a new pod is placed on n2", s.Create(pod("db-1", "n2")))
	s.advance(patience)
}

func comesBack(s *simulation) {
	s.doNode("n1 loses its power", (*mount.Node).PowerOff)
	s.advance(noticed)
	s.doNode("n1 has power again", (*mount.Node).Start)
	s.advance(patience)
}

func cutOff(s *simulation) {
	s.doNode("n1 is cut off", func(n1 *mount.Node) { n1.Partition(true) })
	s.advance(noticed)
	s.advance(evicted)
	s.replace()
	s.advance(patience)
}

// simulation is a cluster in which the database has run for a while.
type simulation struct {
	*volsim.Cluster
	disk  *fake.Memory
	w     io.Writer
	shown uint64
	err   error
}

func newSimulation(w io.Writer) (*simulation, error) {
	disk := fake.CSI("disk.example.com", fake.Lenient())
	c, err := volsim.New(volsim.Config{Backends: []storage.Backend{disk}})
	if err != nil {
		return nil, err
	}
	s := &simulation{Cluster: c, disk: disk, w: w}
	data, err := manifest.ReadFile("cluster.yaml")
	if err != nil {
		return nil, err
	}
	if err := c.Apply(data); err != nil {
		return nil, err
	}
	if err := c.Create(pod("db-0", "n1")); err != nil {
		return nil, err
	}
	if err := c.Advance(running); err != nil {
		return nil, err
	}
	s.shown = c.Trace().Seq()
	return s, nil
}

// pod is the database: it writes once a minute.
func pod(name, node string) *corev1.Pod {
	return fake.Pod(name, fake.OnNode(node), fake.Claims("data"), fake.Annotations("volsim.dev/write-every", "1m"))
}

func (s *simulation) printf(format string, args ...any) {
	if s.err == nil {
		_, s.err = fmt.Fprintf(s.w, format, args...)
	}
}

// at is the time since something happened to the node.
func (s *simulation) at(t time.Time) time.Duration { return t.Sub(engine.DefaultStart) - running }

func (s *simulation) do(what string, err error) {
	if s.err == nil && err != nil {
		s.err = fmt.Errorf("%s: %w", what, err)
	}
	s.printf("%8s  * %s\n", s.at(s.Now()).Round(100*time.Millisecond), what)
}

// doNode does something to node n1.
func (s *simulation) doNode(what string, action func(*mount.Node)) {
	node, err := s.Node("n1")
	if err == nil {
		action(node)
	}
	s.do(what, err)
}

// replace does what an operator or an administrator does with a pod on a dead node.
func (s *simulation) replace() {
	now := int64(0)
	s.do("the pod is deleted by force", s.DeleteWith(pod("db-0", "n1"), api.DeleteOptions{GracePeriodSeconds: &now}))
	s.do("a new pod is placed on n2", s.Create(pod("db-1", "n2")))
}

func (s *simulation) advance(d time.Duration) {
	if s.err == nil {
		s.err = s.Advance(d)
	}
	s.show()
}

// show prints what storage was asked for and what the cluster said, since the last time.
func (s *simulation) show() {
	var last string
	for e := range s.Trace().Since(s.shown) {
		s.shown = e.Seq
		var line string
		switch {
		case e.Type == trace.Storage && e.Verb == "end":
			line = fmt.Sprintf("storage: %s at %s", e.Call.Verb, e.Call.Node)
			if e.Err != nil {
				line += ": " + e.Err.Error()
			}
		case e.Type == trace.Emitted:
			line = fmt.Sprintf("%s %s: %s", e.Object.Key, e.Reason, shorten(e.Text))
		case e.Type == trace.Write && e.Object.Kind == api.Pod:
			line = phaseChange(e)
		}
		if line == "" || line == last {
			continue
		}
		last = line
		s.printf("%8s  %s\n", s.at(e.Time).Round(100*time.Millisecond), line)
	}
}

// phaseChange describes how a write changes the phase of a pod; "" if it does not.
func phaseChange(e trace.Entry) string {
	before, _ := e.Old.(*corev1.Pod)
	after, _ := e.New.(*corev1.Pod)
	switch {
	case after == nil && before != nil && e.Err == nil:
		return fmt.Sprintf("pod %s is gone", before.Name)
	case before != nil && after != nil && before.Status.Phase != after.Status.Phase:
		return fmt.Sprintf("pod %s is %s", after.Name, after.Status.Phase)
	}
	return ""
}

func shorten(text string) string {
	text = strings.TrimSpace(text)
	const most = 110
	if len(text) > most {
		return text[:most] + "…"
	}
	return text
}

// summary says what became of the data.
func (s *simulation) summary() {
	s.printf("\nWhat was written since the node stopped:\n")
	for _, v := range s.disk.Volumes() {
		s.writes(v.Writes)
	}
	for _, name := range []string{"n1", "n2"} {
		s.lost(name)
	}
	problems := s.disk.Problems()
	if len(problems) == 0 {
		s.printf("The storage reports no problem.\n\n")
		return
	}
	s.printf("Problems that the storage reports:\n")
	for _, p := range problems {
		s.printf("  %s: %s\n", p.Kind, p.Detail)
	}
	s.printf("\n")
}

// writes prints the versions that each pod wrote, a line for each run of them.
func (s *simulation) writes(all []storage.Write) {
	for i := 0; i < len(all); {
		j := i
		for j+1 < len(all) && all[j+1].Pod == all[i].Pod && all[j+1].Node == all[i].Node {
			j++
		}
		first, last := all[i], all[j]
		for i <= j && s.at(first.At) <= 0 {
			if i++; i <= j {
				first = all[i]
			}
		}
		if i <= j {
			s.printf("  versions %d to %d by %s on %s, from %s to %s\n", first.Version, last.Version, first.Pod.Name, first.Node,
				s.at(first.At).Round(time.Second), s.at(last.At).Round(time.Second))
		}
		i = j + 1
	}
}

// lost prints how often the containers of a node failed to write.
func (s *simulation) lost(node string) {
	machine, err := s.Node(node)
	if err != nil {
		s.do("read "+node, err)
		return
	}
	failed := 0
	for _, access := range machine.Accesses() {
		if access.Wrote && access.Err != nil {
			failed++
		}
	}
	if failed > 0 {
		s.printf("%d writes on %s failed and are lost.\n", failed, node)
	}
}
