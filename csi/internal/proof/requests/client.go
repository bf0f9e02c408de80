package requests

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	clientfake "k8s.io/client-go/kubernetes/fake"
)

// Client returns a client with the objects, and informers that have synced.
func (o *Objects) Client(t *testing.T, more ...runtime.Object) (*clientfake.Clientset, informers.SharedInformerFactory) {
	all := []runtime.Object{o.Node, o.CSINode, o.CSIDriver, o.Pod}
	if o.Secret != nil {
		all = append(all, o.Secret)
	}
	if o.Claim != nil {
		all = append(all, o.Class, o.Claim, o.Volume)
	}
	if o.Attributes != nil {
		all = append(all, o.Attributes, o.Changed)
	}
	return newClient(t, append(all, more...)...)
}

// Client returns a client with the objects at the time of the call, and informers that have synced.
func (c *Call) Client(t *testing.T, more ...runtime.Object) (*clientfake.Clientset, informers.SharedInformerFactory) {
	return newClient(t, append(c.Objects(), more...)...)
}

func newClient(t *testing.T, objects ...runtime.Object) (*clientfake.Clientset, informers.SharedInformerFactory) {
	client := clientfake.NewClientset(objects...)
	factory := informers.NewSharedInformerFactory(client, 0)
	core, storage := factory.Core().V1(), factory.Storage().V1()
	core.PersistentVolumes().Informer()
	core.PersistentVolumeClaims().Informer()
	core.Nodes().Informer()
	storage.CSINodes().Informer()
	storage.StorageClasses().Informer()
	storage.VolumeAttachments().Informer()
	storage.CSIDrivers().Informer()
	stop := make(chan struct{})
	t.Cleanup(func() { close(stop) })
	factory.Start(stop)
	factory.WaitForCacheSync(stop)
	return client, factory
}
