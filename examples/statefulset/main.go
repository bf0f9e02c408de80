// Statefulset shows what becomes of the claims of a StatefulSet when it is scaled down and up again, when a pod is made anew, and when the
// zone that a volume lives in is lost. This program does the work of the StatefulSet controller: it creates pods one after the other, and
// deletes them in the opposite order.
package main

import (
	_ "embed"
	"fmt"
	"io"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/storage"
)

//go:embed cluster.yaml
var manifest []byte

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "statefulset:", err)
		os.Exit(1)
	}
}

const zone = "topology.kubernetes.io/zone"

// db has a pod in each zone, and each pod a volume of its own, on which it writes once a minute.
var db = statefulSet{
	namespace: "default",
	name:      "db",
	pod:       fake.Pod("db", fake.Requests("cpu", "700m"), fake.Annotations("volsim.dev/write-every", "1m")),
	claims: []*corev1.PersistentVolumeClaim{
		fake.Claim("data", "10Gi", fake.InClass("zonal")),
	},
}

func run(w io.Writer) error {
	disk := fake.CSI("disk.example.com",
		fake.Topology(storage.Segment{zone: "east"}, storage.Segment{zone: "west"}, storage.Segment{zone: "south"}))
	cluster, err := volsim.New(volsim.Config{Backends: []storage.Backend{disk}})
	if err != nil {
		return err
	}
	if err := cluster.Apply(manifest); err != nil {
		return err
	}
	s := &simulation{Cluster: cluster, disk: disk, w: w}
	s.advance(time.Minute)

	s.title("Three pods",
		"One after the other, each with a claim of its own. A node has room for one pod, and each volume is created in the\nzone of its pod.")
	for ordinal := range 3 {
		s.up(ordinal)
	}
	s.show()

	s.title("Scaled down to two", "The last pod is deleted. Its claim has no owner and stays, and so do the volume and the data.")
	s.down(2)
	s.advance(10 * time.Minute)
	s.show()

	s.title("Scaled up again", "The new pod has the same name, so it uses the same claim, and is placed where the volume is.")
	s.up(2)
	s.advance(10 * time.Minute)
	s.show()

	s.title("A pod is replaced",
		"The volume is unmounted and detached, and attached again for the new pod, which must be in the zone of the volume.")
	s.down(1)
	s.up(1)
	s.advance(10 * time.Minute)
	s.show()

	s.title("A zone is lost",
		"The node of db-1 is lost, and the pod is deleted by force and created again. A new node in another zone has room, but the volume is\nnot there: the pod waits.")
	lost := s.nodeOf(1)
	node, err := s.Node(lost)
	s.do(err)
	if err == nil {
		node.PowerOff()
	}
	s.do(s.Delete(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: lost}}))
	s.do(s.DeleteWith(db.podAt(1), api.DeleteOptions{GracePeriodSeconds: new(int64)}))
	s.do(s.Create(fake.Node("n4", fake.Labels(zone, "east"), fake.Allocatable("cpu", "1", "pods", "10")), db.podAt(1)))
	s.advance(10 * time.Minute)
	s.show()
	s.events("db-1")

	s.title("The claim is deleted",
		"The pod runs again only after its claim is deleted, with an empty volume in another zone. The reclaim policy of the class is\nDelete: the old data is lost.")
	s.do(s.Delete(db.podAt(1)))
	s.advance(time.Minute)
	for _, claim := range db.claimsAt(1) {
		s.do(s.Delete(claim))
	}
	s.advance(10 * time.Minute)
	s.up(1)
	s.advance(10 * time.Minute)
	s.show()
	s.printf("\nThe storage has %d volumes.\n", len(s.disk.Volumes()))
	return s.err
}

// simulation is a cluster with the StatefulSet. After an error it does nothing.
type simulation struct {
	*volsim.Cluster
	disk *fake.Memory
	w    io.Writer
	err  error
}

func (s *simulation) do(err error) {
	if s.err == nil {
		s.err = err
	}
}

func (s *simulation) printf(format string, args ...any) {
	if s.err == nil {
		_, s.err = fmt.Fprintf(s.w, format, args...)
	}
}

func (s *simulation) title(title, text string) { s.printf("\n== %s\n%s\n\n", title, text) }

func (s *simulation) advance(d time.Duration) {
	if s.err == nil {
		s.do(s.Advance(d))
	}
}

// up makes the claims that are missing, then the pod, and waits until it runs, as the controller does before it makes the next one.
func (s *simulation) up(ordinal int) {
	for _, claim := range db.claimsAt(ordinal) {
		if _, err := s.Claims.Get(api.KeyOf(claim)); err != nil {
			s.do(s.Create(claim))
		}
	}
	s.do(s.Create(db.podAt(ordinal)))
	s.until(func() bool { return s.pod(ordinal).Status.Phase == corev1.PodRunning })
}

// down deletes the pod and waits until it is gone.
func (s *simulation) down(ordinal int) {
	s.do(s.Delete(db.podAt(ordinal)))
	s.until(func() bool { return s.pod(ordinal).Name == "" })
}

func (s *simulation) until(cond func() bool) {
	if s.err == nil {
		s.do(s.Until(cond, time.Hour))
	}
}

// pod is the pod of that ordinal, empty if there is none.
func (s *simulation) pod(ordinal int) *corev1.Pod {
	pod, err := s.Pods.Get(api.KeyOf(db.podAt(ordinal)))
	if err != nil {
		return &corev1.Pod{}
	}
	return pod
}

func (s *simulation) nodeOf(ordinal int) string { return s.pod(ordinal).Spec.NodeName }

// show prints a line for each ordinal: its pod, its claim, and what is on the volume.
func (s *simulation) show() {
	s.printf("%-6s %-9s %-5s %-11s %-8s %-6s %s\n", "POD", "PHASE", "NODE", "CLAIM", "PHASE", "ZONE", "DATA")
	for ordinal := range 3 {
		pod := s.pod(ordinal)
		phase, node := string(pod.Status.Phase), pod.Spec.NodeName
		if pod.Name == "" {
			phase = "-"
		}
		if node == "" {
			node = "-"
		}
		for _, template := range db.claimsAt(ordinal) {
			claim, err := s.Claims.Get(api.KeyOf(template))
			if err != nil {
				continue
			}
			zone, data := s.volume(claim.Spec.VolumeName)
			s.printf("%-6s %-9s %-5s %-11s %-8s %-6s %s\n", db.podAt(ordinal).Name, phase, node, claim.Name, claim.Status.Phase, zone, data)
		}
	}
}

// volume is where a volume lives and what was written on it.
func (s *simulation) volume(name string) (where, data string) {
	pv, err := s.Volumes.Get(name)
	if err != nil || pv.Spec.NodeAffinity == nil {
		return "-", "-"
	}
	for _, term := range pv.Spec.NodeAffinity.Required.NodeSelectorTerms {
		for _, req := range term.MatchExpressions {
			where = req.Values[0]
		}
	}
	for _, v := range s.disk.Volumes() {
		if v.ID == pv.Spec.CSI.VolumeHandle && len(v.Writes) > 0 {
			return where, fmt.Sprintf("version %d", len(v.Writes))
		}
	}
	return where, "empty"
}

// events prints what the cluster says about a pod that does not run.
func (s *simulation) events(pod string) {
	s.printf("\n")
	for _, event := range s.Events() {
		if event.InvolvedObject.Name == pod && event.Reason == "FailedScheduling" {
			s.printf("%s: %s\n", event.Reason, event.Message)
		}
	}
}
