// Failover asks of a database on a ReadWriteOnce volume: its node died, when is it back, and is the data safe? It plays three ways
// on from there, and then what a node does to the data that is not dead but cut off.
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

// The node stops two minutes after the start. The node lifecycle controller notices that within 65 s. Five minutes later its pods are deleted,
// because they tolerate the taint of the node for that long by default.
const (
	running  = 2 * time.Minute
	noticed  = 65 * time.Second
	evicted  = 5 * time.Minute
	patience = 15 * time.Minute
)

func run(w io.Writer) error {
	for _, story := range []struct {
		title, text string
		play        func(s *scene)
	}{
		{"Wait", "The old pod is deleted by force, a new one is placed on n2. Nobody says that n1 is dead, so its volume is only taken away\nafter six minutes in which n1 did not say that it is unmounted.", waitForForce},
		{"Say that the node is out of service", "The administrator knows that n1 is off, and says so with a taint. Then nothing has to be waited for.", outOfService},
		{"The node comes back", "n1 starts again before anybody has done anything. The pod's containers died with it, its volume is where it was.", comesBack},
		{"The node was only cut off", "n1 lives, but cannot reach the API server: it is not told that its pod is gone, and writes on, until the volume is taken away\nunder its hands. What it writes from then on is lost, and nobody in the cluster knows.", cutOff},
	} {
		s, err := newScene(w)
		if err != nil {
			return err
		}
		s.printf("== %s\n%s\n\n", story.title, story.text)
		story.play(s)
		s.summary()
		if s.err != nil {
			return fmt.Errorf("%s: %w", story.title, s.err)
		}
	}
	return nil
}

func waitForForce(s *scene) {
	s.doNode("n1 loses its power", (*mount.Node).PowerOff)
	s.advance(noticed)
	s.advance(evicted)
	s.replace()
	s.advance(patience)
}

func outOfService(s *scene) {
	s.doNode("n1 loses its power", (*mount.Node).PowerOff)
	s.advance(noticed)
	s.advance(evicted)
	s.do("n1 is tainted as out of service", s.Patch(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}},
		`{"spec":{"taints":[{"key":"node.kubernetes.io/out-of-service","value":"nodeshutdown","effect":"NoExecute"}]}}`))
	s.do("a new pod is placed on n2", s.Create(pod("db-1", "n2")))
	s.advance(patience)
}

func comesBack(s *scene) {
	s.doNode("n1 loses its power", (*mount.Node).PowerOff)
	s.advance(noticed)
	s.doNode("n1 has power again", (*mount.Node).Start)
	s.advance(patience)
}

func cutOff(s *scene) {
	s.doNode("n1 is cut off", func(n1 *mount.Node) { n1.Partition(true) })
	s.advance(noticed)
	s.advance(evicted)
	s.replace()
	s.advance(patience)
}

// scene is a cluster in which the database has run for a while.
type scene struct {
	*volsim.Cluster
	disk  *fake.Memory
	w     io.Writer
	shown uint64
	err   error
}

func newScene(w io.Writer) (*scene, error) {
	disk := fake.CSI("disk.example.com", fake.Lenient())
	c, err := volsim.New(volsim.Config{Backends: []storage.Backend{disk}})
	if err != nil {
		return nil, err
	}
	s := &scene{Cluster: c, disk: disk, w: w}
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

func (s *scene) printf(format string, args ...any) {
	if s.err == nil {
		_, s.err = fmt.Fprintf(s.w, format, args...)
	}
}

// at is the time since something happened to the node.
func (s *scene) at(t time.Time) time.Duration { return t.Sub(engine.DefaultStart) - running }

func (s *scene) do(what string, err error) {
	if s.err == nil && err != nil {
		s.err = fmt.Errorf("%s: %w", what, err)
	}
	s.printf("%8s  * %s\n", s.at(s.Now()).Round(100*time.Millisecond), what)
}

// doNode does something to node n1.
func (s *scene) doNode(what string, action func(*mount.Node)) {
	node, err := s.Node("n1")
	if err == nil {
		action(node)
	}
	s.do(what, err)
}

// replace is what an operator or a person does about a pod that hangs on a dead node.
func (s *scene) replace() {
	now := int64(0)
	s.do("the pod is deleted by force", s.DeleteWith(pod("db-0", "n1"), api.DeleteOptions{GracePeriodSeconds: &now}))
	s.do("a new pod is placed on n2", s.Create(pod("db-1", "n2")))
}

func (s *scene) advance(d time.Duration) {
	if s.err == nil {
		s.err = s.Advance(d)
	}
	s.show()
}

// show prints what storage was asked for and what the cluster said, since the last time.
func (s *scene) show() {
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

// phaseChange is what a write says about the phase of a pod, "" if nothing.
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
func (s *scene) summary() {
	s.printf("\nWhat was written since the node stopped:\n")
	for _, v := range s.disk.Volumes() {
		s.writes(v.Writes)
	}
	for _, name := range []string{"n1", "n2"} {
		s.lost(name)
	}
	problems := s.disk.Problems()
	if len(problems) == 0 {
		s.printf("The storage saw nothing wrong.\n\n")
		return
	}
	s.printf("What the storage saw go wrong:\n")
	for _, p := range problems {
		s.printf("  %s: %s\n", p.Kind, p.Detail)
	}
	s.printf("\n")
}

// writes prints the versions that each pod wrote, a line for each run of them.
func (s *scene) writes(all []storage.Write) {
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
func (s *scene) lost(node string) {
	machine, err := s.Node(node)
	if err != nil {
		s.do("look at "+node, err)
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
