// Dynamic follows a volume that is provisioned on demand, for a claim and a pod in two zones. Then the claim grows, and everything is
// deleted. It prints which component acted, when, and what it wrote.
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
	"github.com/volsim/volsim/storage"
)

//go:embed manifests
var manifests embed.FS

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "dynamic:", err)
		os.Exit(1)
	}
}

const zone = "topology.kubernetes.io/zone"

var (
	claim = &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data"}}
	pod   = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
)

func run(w io.Writer) error {
	disk := fake.CSI("disk.example.com",
		fake.Topology(storage.Segment{zone: "east"}, storage.Segment{zone: "west"}),
		fake.Latency(storage.Create, 4*time.Second), fake.Latency(storage.Attach, 2*time.Second), fake.Latency(storage.Stage, time.Second),
		fake.Latency(storage.Expand, 3*time.Second), fake.Latency(storage.NodeExpand, time.Second), fake.Latency(storage.Delete, 2*time.Second))
	cluster, err := volsim.New(volsim.Config{Backends: []storage.Backend{disk}})
	if err != nil {
		return err
	}
	s := &simulation{Cluster: cluster, w: w}
	s.apply("1-nodes.yaml", "2-class.yaml")
	s.advance(time.Minute)
	s.skip()

	s.apply("3-web.yaml")
	s.until("the pod runs", func() bool { return s.pod().Status.Phase == corev1.PodRunning })
	s.flow()

	s.title("It grows", "The claim requests 20Gi. The driver expands the volume, then the node expands the file system, while the pod runs.")
	s.do(s.Patch(claim, `{"spec":{"resources":{"requests":{"storage":"20Gi"}}}}`))
	s.advance(5 * time.Minute)
	s.show()

	s.title("It is deleted",
		"The pod and the claim are deleted. The claim stays until the pod is gone. The volume is detached from the node and, by the\nreclaim policy of the class, deleted.")
	s.do(s.Delete(pod))
	s.do(s.Delete(claim))
	s.advance(5 * time.Minute)
	s.show()

	s.printf("\nLeft: %d claims, %d volumes, %d pods; %d volumes in the storage. It reports %d problems.\n",
		len(s.Claims.List()), len(s.Volumes.List()), len(s.Pods.List()), len(disk.Volumes()), len(disk.Problems()))
	return s.err
}

// simulation is a cluster whose trace is printed in steps.
type simulation struct {
	*volsim.Cluster
	w     io.Writer
	began time.Time
	shown uint64
	err   error
}

func (s *simulation) printf(format string, args ...any) {
	if s.err == nil {
		_, s.err = fmt.Fprintf(s.w, format, args...)
	}
}

func (s *simulation) title(title, text string) { s.printf("\n== %s\n%s\n", title, text) }

func (s *simulation) do(err error) {
	if s.err == nil {
		s.err = err
	}
}

func (s *simulation) apply(files ...string) {
	for _, file := range files {
		data, err := manifests.ReadFile("manifests/" + file)
		s.do(err)
		if s.err == nil {
			s.do(s.Apply(data))
		}
	}
}

func (s *simulation) advance(d time.Duration) {
	if s.err == nil {
		s.do(s.Advance(d))
	}
}

func (s *simulation) until(what string, cond func() bool) {
	if s.err != nil {
		return
	}
	if err := s.Until(cond, time.Hour); err != nil {
		s.do(fmt.Errorf("%s: %w", what, err))
	}
}

func (s *simulation) pod() *corev1.Pod {
	p, err := s.Pods.Get("default/web")
	if err != nil {
		return &corev1.Pod{}
	}
	return p
}

// skip omits what has happened so far, and counts time from now.
func (s *simulation) skip() { s.shown, s.began = s.Trace().Seq(), s.Now() }

// steps are the six of the way from the user to the container, each with what to know and the actors that take it.
var steps = []struct {
	title, text string
	actors      []string
}{
	{"1. The user asks", "For 10Gi of class fast, and for a pod that mounts it, in zone west.", []string{api.User}},
	{"2. The scheduler finds a node that can have the volume",
		"There is no volume yet. It says on the claim where one is wanted, and binds the pod once the claim is bound.",
		[]string{"kube-scheduler"}},
	{"3. The provisioner has the driver make it",
		"It has waited for a node to be named, and asks for a volume that can be reached from there.", []string{"external-provisioner"}},
	{"4. The PersistentVolume controller binds claim and volume", "Before that it has assigned the claim to the provisioner.",
		[]string{"persistentvolume-controller"}},
	{"5. The volume is attached to the node",
		"The attach/detach controller asks for it with a VolumeAttachment, the attacher carries it out.",
		[]string{"attachdetach-controller", "external-attacher"}},
	{"6. The kubelet mounts it and starts the container",
		"It reports the volume as in use before it stages it on the node and publishes it to the pod.", []string{"kubelet"}},
}

// flow prints what happened, in six steps.
func (s *simulation) flow() {
	since := s.shown
	for _, step := range steps {
		s.title(step.title, step.text)
		s.shown = since
		for e := range s.Trace().Since(since) {
			if s.shown = e.Seq; byOneOf(e.Actor, step.actors) {
				s.entry(e)
			}
		}
	}
}

func byOneOf(actor string, prefixes []string) bool {
	for _, prefix := range prefixes {
		if strings.HasPrefix(actor, prefix) {
			return true
		}
	}
	return false
}

// show prints what happened since the last time, in order.
func (s *simulation) show() {
	for e := range s.Trace().Since(s.shown) {
		s.shown = e.Seq
		s.entry(e)
	}
}
