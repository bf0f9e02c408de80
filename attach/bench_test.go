package attach_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/attach"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/options"
	"github.com/volsim/volsim/internal/core/sidecar"
)

// BenchmarkAttach attaches a volume for one pod more, and detaches it again, in a cluster that has many.
func BenchmarkAttach(b *testing.B) {
	for _, size := range []int{100, 10_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			e, err := engine.New(engine.Config{})
			if err != nil {
				b.Fatal(err)
			}
			disk := fake.CSI(driver)
			set, err := backends.NewSet(disk)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := attach.New(e, set, attach.Config{}, options.Attach{}); err != nil {
				b.Fatal(err)
			}
			if _, err := attach.NewAttacher(e, disk, sidecar.Config{}, options.Attacher{}); err != nil {
				b.Fatal(err)
			}
			must := func(err error) {
				if err != nil {
					b.Fatal(err)
				}
			}
			s := e.Store()
			const perNode = 20
			for i := range size/perNode + 1 {
				node := fake.Node(fmt.Sprintf("n%d", i))
				node.Annotations = map[string]string{objects.AnnManagedAttach: ""}
				_, err := s.Nodes.Create(node)
				must(err)
				_, err = s.CSINodes.Create(&storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: node.Name},
					Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: driver, NodeID: node.Name}}}})
				must(err)
			}
			add := func(i int) *corev1.Pod {
				name := fmt.Sprintf("x%d", i)
				claim, err := s.Claims.Create(fake.Claim(name, "1Gi", fake.VolumeName(name)))
				must(err)
				_, err = s.Volumes.Create(fake.Volume(name, "1Gi", fake.CSISource(driver, name), fake.ForClaim(name, claim.UID)))
				must(err)
				claim = claim.DeepCopy()
				claim.Status.Phase = corev1.ClaimBound
				_, err = s.Claims.UpdateStatus(claim)
				must(err)
				pod, err := s.Pods.Create(fake.Pod(name, fake.OnNode(fmt.Sprintf("n%d", i/perNode)), fake.Claims(name)))
				must(err)
				return pod
			}
			for i := range size {
				add(i)
			}
			e.Advance(10 * time.Minute)
			last := add(size)
			e.Advance(time.Second)
			node := fmt.Sprintf("n%d", size/perNode)
			b.ResetTimer()
			for i := range b.N {
				again := last.DeepCopy()
				_, err := s.Pods.Delete("default/"+last.Name, storeNow)
				must(err)
				_, err = s.Nodes.Patch(node, []byte(fmt.Sprintf(`{"status":{"nodeInfo":{"bootID":"%d"}}}`, i)), "status")
				must(err)
				e.Advance(2 * time.Second)
				again.ResourceVersion = ""
				_, err = s.Pods.Create(again)
				must(err)
				e.Advance(2 * time.Second)
			}
			if got, _ := s.Nodes.Lookup(node); len(got.Status.VolumesAttached) == 0 {
				b.Fatal("the volume is not attached in the end")
			}
		})
	}
}
