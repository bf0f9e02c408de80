package storage_test

import (
	"fmt"
	"time"

	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/storage"
)

// shares is a CSI driver for shares of a file server. It needs no attaching and no staging.
type shares struct {
	sizes map[string]int64
}

var (
	_ storage.Provisioner = &shares{}
	_ storage.Publisher   = &shares{}
)

func (s *shares) Name() string { return "shares.example.com" }

func (s *shares) Create(req storage.CreateRequest) (storage.Volume, error) {
	size, exists := s.sizes[req.Name]
	switch {
	case exists && size < req.Size:
		return storage.Volume{}, storage.Errorf(storage.AlreadyExists, "share %s has %d bytes", req.Name, size)
	case !exists:
		s.sizes[req.Name] = req.Size
	}
	return storage.Volume{ID: req.Name, Size: s.sizes[req.Name]}, nil
}

func (s *shares) Delete(req storage.DeleteRequest) error {
	delete(s.sizes, req.ID)
	return nil
}

func (s *shares) Publish(req storage.NodeRequest) error {
	if _, exists := s.sizes[req.ID]; !exists {
		return storage.Errorf(storage.NotFound, "there is no share %s", req.ID)
	}
	fmt.Printf("mount for pod %s on node %s\n", req.Pod, req.Node)
	return nil
}

func (s *shares) Unpublish(storage.NodeRequest) error { return nil }

// A CSI driver implements Backend and the interfaces of what it can do. volsimtest.TestBackend checks it.
func ExampleBackend() {
	driver := &shares{sizes: map[string]int64{}}
	c, err := volsim.New(volsim.Config{Backends: []storage.Backend{driver}})
	if err != nil {
		fmt.Println(err)
		return
	}
	// Like every driver that does not attach, it needs a CSIDriver object with attachRequired false.
	object := &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "shares.example.com"},
		Spec: storagev1.CSIDriverSpec{AttachRequired: new(false)}}
	err = c.Create(object, fake.Node("n1"), fake.Class("shared", "shares.example.com"), fake.Claim("data", "1Gi", fake.InClass("shared")),
		fake.Pod("web", fake.Claims("data")))
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := c.Advance(time.Minute); err != nil {
		fmt.Println(err)
		return
	}
	pod, _ := c.Pods.Get("default/web")
	fmt.Println(len(driver.sizes), "share, pod", pod.Status.Phase)
	// Output:
	// mount for pod default/web on node n1
	// 1 share, pod Running
}
