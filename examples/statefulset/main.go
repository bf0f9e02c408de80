// Statefulset shows what becomes of the claims of a StatefulSet when it is scaled down and up again, when a pod is made anew, and when the
// zone that a volume lives in is lost. The StatefulSet controller creates pods one after the other, and deletes them in the opposite order.
package main

import (
	_ "embed"
	"fmt"
	"io"
	"os"
	"time"

	appsv1 "k8s.io/api/apps/v1"
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

	s.title("Three pods",
		"One after the other, each with a claim of its own. A node has room for one pod, and each volume is created in the\nzone of its pod.")
	s.advance(2 * time.Minute)
	s.show()

	s.title("Scaled down to two", "The last pod is deleted. Its claim has no owner and stays, and so do the volume and the data.")
	s.scale(2)
	s.advance(10 * time.Minute)
	s.show()

	s.title("Scaled up again", "The new pod has the same name, so it uses the same claim, and is placed where the volume is.")
	s.scale(3)
	s.advance(10 * time.Minute)
	s.show()

	s.title("A pod is replaced",
		"The volume is unmounted and detached, and attached again for the new pod, which must be in the zone of the volume.")
	s.do(s.Delete(pod(1)))
	s.advance(10 * time.Minute)
	s.show()

	s.title("A zone is lost",
		"The node of db-1 is lost, and its Node object deleted, so the pod is deleted too and created again. A new node in another zone has\nroom, but the volume is not there: the pod waits.")
	lost := s.pod(1).Spec.NodeName
	node, err := s.Node(lost)
	s.do(err)
	if err == nil {
		node.PowerOff()
	}
	s.do(s.Delete(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: lost}}))
	s.do(s.Create(fake.Node("n4", fake.Labels(zone, "east"), fake.Allocatable("cpu", "1", "pods", "10"))))
	s.advance(10 * time.Minute)
	s.show()
	s.events("db-1")

	s.title("The claim is deleted",
		"The pod runs again only after its claim and the pod are deleted: the controller creates both anew, with an empty volume in another\nzone. The reclaim policy of the class is Delete: the old data is lost.")
	s.do(s.Delete(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data-db-1"}}))
	s.do(s.Delete(pod(1)))
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

// scale changes the number of replicas.
func (s *simulation) scale(replicas int) {
	s.do(s.Patch(&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "db"}}, fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas)))
}

// pod names the pod of an ordinal.
func pod(ordinal int) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("db-%d", ordinal)}}
}

// pod returns the pod of an ordinal, empty if there is none.
func (s *simulation) pod(ordinal int) *corev1.Pod {
	stored, err := s.Pods.Get(api.KeyOf(pod(ordinal)))
	if err != nil {
		return &corev1.Pod{}
	}
	return stored
}

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
		claim, err := s.Claims.Get(fmt.Sprintf("default/data-db-%d", ordinal))
		if err != nil {
			continue
		}
		zone, data := s.volume(claim.Spec.VolumeName)
		s.printf("%-6s %-9s %-5s %-11s %-8s %-6s %s\n", fmt.Sprintf("db-%d", ordinal), phase, node, claim.Name, claim.Status.Phase, zone, data)
	}
}

// volume returns where a volume is and what was written to it.
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

// events prints why a pod is not scheduled.
func (s *simulation) events(pod string) {
	s.printf("\n")
	for _, event := range s.Events() {
		if event.InvolvedObject.Name == pod && event.Reason == "FailedScheduling" {
			s.printf("%s: %s\n", event.Reason, event.Message)
		}
	}
}
