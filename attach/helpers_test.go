package attach_test

import (
	"errors"

	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/controllers/podgc"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/storage"
)

var (
	errBroken     = errors.New("broken")
	fakeInternal  = storage.Errorf(storage.Internal, "boom")
	matchGetNode  = fake.Match{Actor: actors.AttachDetach, Verb: "get", Kind: "Node"}
	matchAttach   = fake.Match{Target: driver, Verb: string(storage.Attach)}
	matchDetach   = fake.Match{Target: driver, Verb: string(storage.Detach)}
	matchNodeList = fake.Match{Actor: actors.AttachDetach, Verb: "patch-status", Kind: "Node"}
)

func csiNodeNamed(name string) *storagev1.CSINode {
	return &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func newPodGC(w *fixture) (*engine.Actor, error) { return podgc.New(w.Engine, podgc.Config{}) }

func attachmentOn(node string) string { return objects.AttachmentName("h1", driver, node) }

var storeNow = api.DeleteOptions{GracePeriodSeconds: new(int64)}
