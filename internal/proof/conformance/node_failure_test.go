package conformance_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/fake"
)

// nodeFailure lists what was observed on a real cluster, each second, after the kubelet of n2 was killed, and after it was started again. A
// Deployment (web) and a StatefulSet (db) had a pod there each. Columns: Ready and the taints of n2; then of each pod its application,
// node, phase, deletion and Ready. At the end are the Events.
const nodeFailure = "testdata/node-failure.txt"

// moment is one block of the transcript: the state from so many seconds after the kubelet was killed or started.
type moment struct {
	second int
	node   string
	pods   []string
}

// readNodeFailure returns the moments after each of the two acts, and the Events about pods and nodes that failures cause.
func readNodeFailure(t *testing.T) (killed, restarted []moment, events []string) {
	t.Helper()
	data, err := os.ReadFile(nodeFailure)
	require.NoError(t, err)
	acts := regexp.MustCompile(`(?m)^\+\d+s (killed|restarted)\n`).Split(string(data), -1)
	require.Len(t, acts, 3)
	for i, act := range acts[1:] {
		var moments []moment
		for line := range strings.Lines(act) {
			fields := strings.Fields(line)
			switch {
			case regexp.MustCompile(`^\+\d+s\s*$`).MatchString(line):
				second, err := strconv.Atoi(strings.Trim(fields[0], "+s"))
				require.NoError(t, err)
				moments = append(moments, moment{second: second})
			case len(fields) > 5 && fields[0] == "default" && (fields[3] == "NodeNotReady" || fields[3] == "TaintManagerEviction"):
				events = append(events, strings.Join(fields[2:], " "))
			case len(moments) > 0 && (fields[0] == "True" || fields[0] == "Unknown"):
				moments[len(moments)-1].node = strings.Join(fields, " ")
			case len(moments) > 0 && (fields[0] == "db" || fields[0] == "web"):
				moments[len(moments)-1].pods = append(moments[len(moments)-1].pods, strings.Join(fields, " "))
			}
		}
		if i == 0 {
			killed = moments
		} else {
			restarted = moments
		}
	}
	return killed, restarted, events
}

// failing is the cluster of the transcript. The test stands for the Deployment and the StatefulSet.
type failing struct {
	*volsim.Cluster
	t       *testing.T
	created int
}

// replace creates the pods that the two workloads have to create: web when its pod is being deleted, db when its pod is gone.
func (c *failing) replace() {
	pods := c.Pods.List()
	for _, app := range []string{"web", "db"} {
		if slices.ContainsFunc(pods, func(p *corev1.Pod) bool { return p.Labels["app"] == app && (p.DeletionTimestamp == nil || app == "db") }) {
			continue
		}
		name := "db-0"
		if app == "web" {
			name = fmt.Sprintf("web-%d", c.created)
			c.created++
		}
		require.NoError(c.t, c.Create(fake.Pod(name, fake.Labels("app", app))))
	}
}

// state is the state of the cluster in the form of the transcript.
func (c *failing) state() moment {
	var m moment
	node, err := c.Nodes.Get("n2")
	require.NoError(c.t, err)
	var taints []string
	for _, taint := range node.Spec.Taints {
		taints = append(taints, taint.Key)
	}
	m.node = ready(node) + " " + strings.Join(taints, ",")
	if len(taints) == 0 {
		m.node += "<none>"
	}
	for _, pod := range c.Pods.List() {
		deletion, isReady := "<none>", ""
		if pod.DeletionTimestamp != nil {
			deletion = "DELETING"
		}
		for _, condition := range pod.Status.Conditions {
			if condition.Type == corev1.PodReady {
				isReady = string(condition.Status)
			}
		}
		m.pods = append(m.pods, strings.Join([]string{pod.Labels["app"], pod.Spec.NodeName, string(pod.Status.Phase), deletion, isReady}, " "))
	}
	slices.Sort(m.pods)
	return m
}

func ready(node *corev1.Node) string {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return string(condition.Status)
		}
	}
	return ""
}

// until runs second by second until the state is as wanted, and returns how many seconds that took.
func (c *failing) until(what string, limit int, wanted func(m moment) bool) int {
	c.t.Helper()
	for second := range limit {
		if wanted(c.state()) {
			return second
		}
		c.replace()
		require.NoError(c.t, c.Advance(time.Second))
	}
	c.t.Fatalf("%s: not within %d s: %+v", what, limit, c.state())
	return 0
}

// TestNodeFailure compares the failure of a node with that of a real cluster. Legal differences: the phases of the periods of kubelet and
// controller (10 s and 5 s), for a second or two how far pods have started, and which node the new pod db-0 gets.
func TestNodeFailure(t *testing.T) {
	killed, restarted, events := readNodeFailure(t)
	require.Len(t, killed, 4)
	require.Len(t, restarted, 4)
	cluster, err := volsim.New(volsim.Config{})
	require.NoError(t, err)
	c := &failing{Cluster: cluster, t: t}
	require.NoError(t, c.Create(fake.Node("n2")))
	c.replace()
	require.NoError(t, c.Settle())
	require.NoError(t, c.Create(fake.Node("n1")))
	require.NoError(t, c.Advance(12*time.Second))
	same := func(want moment) func(moment) bool {
		return func(m moment) bool { return m.node == want.node && slices.Equal(m.pods, want.pods) }
	}
	require.Equal(t, moment{node: killed[0].node, pods: killed[0].pods}, c.state(), "before")
	node, err := c.Node("n2")
	require.NoError(t, err)
	node.Stop()

	// NODE-002, NODE-033, NODE-035, NODE-037, NODE-050: 50 s after the last renewal, which was up to 10 s before.
	noticed := c.until("NODE-033: the node is not heard of", 100, same(killed[1]))
	require.InDelta(t, killed[1].second, noticed, 15)
	// NODE-010, NODE-063: 300 s later.
	evicted := c.until("NODE-063: the pods are evicted", 400,
		func(m moment) bool { return strings.Contains(strings.Join(m.pods, "\n"), "DELETING") })
	require.InDelta(t, killed[2].second-killed[1].second, evicted, 2)
	require.LessOrEqual(t, c.until("the other pod runs", 10, same(killed[3])), 3)
	require.NoError(t, c.Advance(5*time.Minute))
	require.True(t, same(killed[3])(c.state()), "ATT-195: the pods stay as long as the kubelet is down: %+v", c.state())

	var seen []string
	for _, event := range c.Events() {
		if event.Reason == "NodeNotReady" || event.Reason == "TaintManagerEviction" {
			object := strings.ToLower(event.InvolvedObject.Kind) + "/" + event.InvolvedObject.Name
			seen = append(seen, strings.Join([]string{event.Type, event.Reason, object, event.Message}, " "))
		}
	}
	for i := range events {
		events[i] = strings.ReplaceAll(events[i], "web-576fd78bc7-wx92j", "web-0")
	}
	require.ElementsMatch(t, events, seen, "NODE-034, NODE-035, NODE-067")

	node.Start()
	// NODE-090, NODE-050: the NoSchedule taint goes with the condition, NODE-037: the other with the next pass.
	c.until("NODE-090: the node is ready", 3, func(m moment) bool { return m.node == restarted[1].node })
	require.LessOrEqual(t, c.until("NODE-037: the last taint is gone", 10, func(m moment) bool { return m.node == restarted[3].node }), 6)
	// The scheduler may choose any node for db.
	c.until("all pods run", 10, func(m moment) bool {
		return same(restarted[3])(moment{node: m.node,
			pods: strings.Split(strings.Replace(strings.Join(m.pods, "\n"), "db n1", "db n2", 1), "\n")})
	})
	for _, condition := range must(c.Nodes.Get("n2")).Status.Conditions {
		if condition.Type != corev1.NodeReady {
			require.Equal(t, corev1.ConditionFalse, condition.Status, "NODE-090: %s", condition.Type)
		}
	}
}

func must[T any](obj T, err error) T {
	if err != nil {
		panic(err)
	}
	return obj
}

// TestShortFailure: a kubelet that comes back before its pods are evicted marks them ready again (NODE-091).
func TestShortFailure(t *testing.T) {
	for _, act := range []struct {
		name         string
		fail, repair func(c *volsim.Cluster)
		again        bool // the pod becomes ready again, rather than being ready still
	}{
		{"the kubelet restarts", func(c *volsim.Cluster) { must(c.Node("n2")).Stop() }, func(c *volsim.Cluster) { must(c.Node("n2")).Start() }, true},
		{"the network comes back", func(c *volsim.Cluster) { must(c.Node("n2")).Partition(true) },
			func(c *volsim.Cluster) { must(c.Node("n2")).Partition(false) }, false},
	} {
		c := must(volsim.New(volsim.Config{}))
		require.NoError(t, c.Create(fake.Node("n1"), fake.Node("n2"), fake.Pod("db", fake.OnNode("n2"))))
		require.NoError(t, c.Advance(time.Minute))
		ready := func() (ready corev1.PodCondition) {
			for _, condition := range must(c.Pods.Get("db")).Status.Conditions {
				if condition.Type == corev1.PodReady {
					ready = condition
				}
			}
			return ready
		}
		first := ready().LastTransitionTime.Time
		act.fail(c)
		require.NoError(t, c.Advance(2*time.Minute))
		require.Equal(t, corev1.ConditionFalse, ready().Status, "NODE-035, %s", act.name)
		act.repair(c)
		require.NoError(t, c.Advance(11*time.Second))
		require.Equal(t, corev1.ConditionTrue, ready().Status, "NODE-091, %s", act.name)
		require.Equal(t, act.again, ready().LastTransitionTime.After(first), "NODE-091: the time of the condition is another, %s", act.name)
		require.NoError(t, c.Advance(10*time.Minute))
		require.Nil(t, must(c.Pods.Get("db")).DeletionTimestamp, "NODE-065, %s", act.name)
	}
}
