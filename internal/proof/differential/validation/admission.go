package validation

import (
	"context"
	"fmt"
	"time"

	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/client-go/informers"
	"k8s.io/kubernetes/plugin/pkg/admission/defaulttolerationseconds"
	"k8s.io/kubernetes/plugin/pkg/admission/priority"
	"k8s.io/kubernetes/plugin/pkg/admission/storage/persistentvolume/resize"
	"k8s.io/kubernetes/plugin/pkg/admission/storage/storageclass/setdefault"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/store"
)

// present are the classes that exist on both sides: one per value of allowVolumeExpansion, and a default.
func present() []*storagev1.StorageClass {
	var all []*storagev1.StorageClass
	for name, allowed := range map[string]*bool{"fast": new(true), "a": new(false), "db": nil} {
		class := classes()[0].(*storagev1.StorageClass)
		class.Name, class.AllowVolumeExpansion, class.UID = name, allowed, "u"
		class.CreationTimestamp = metav1.NewTime(At)
		if name == "db" {
			class.Annotations = map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}
		}
		all = append(all, class)
	}
	return all
}

// ourStore returns a store, with these classes in it if that matters.
func (k Kind) ourStore() (*store.Store, error) {
	s := store.New(store.Config{Now: func() time.Time { return At }, Gates: k.gates})
	s.CompletePriorities()
	if k.Kind != api.PersistentVolumeClaim {
		return s, nil
	}
	for _, class := range present() {
		if _, err := s.Load(class); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// admitPod runs the API server's admission plugins for pods: that of priorities, without classes, and that of default tolerations.
func (k Kind) admitPod(in, old runtime.Object, obj api.Object, operation admission.Operation) error {
	if k.Kind != api.Pod {
		return nil
	}
	plugin := defaulttolerationseconds.NewDefaultTolerationSeconds()
	plugin.InspectFeatureGates(nil)
	gvk := store.GroupVersionKind(k.Kind)
	asked := admission.NewAttributesRecord(in, old, gvk, obj.GetNamespace(), obj.GetName(), gvk.GroupVersion().WithResource("pods"), "",
		operation, nil, false, nil)
	priorities := priority.NewPlugin()
	priorities.SetExternalKubeInformerFactory(informers.NewSharedInformerFactory(nil, 0))
	if err := priorities.Admit(context.Background(), asked, nil); err != nil {
		return err
	}
	return plugin.Admit(context.Background(), asked, nil)
}

// admit runs the API server's admission plugins for claims. Pods have admitPod, and other kinds none.
func (k Kind) admit(name string, in, old runtime.Object, obj api.Object, operation admission.Operation) error {
	if k.Kind != api.PersistentVolumeClaim {
		return nil
	}
	plugins := admission.NewPlugins()
	resize.Register(plugins)
	setdefault.Register(plugins)
	shared := informers.NewSharedInformerFactory(nil, 0)
	for _, class := range present() {
		if err := shared.Storage().V1().StorageClasses().Informer().GetIndexer().Add(class); err != nil {
			return err
		}
	}
	plugin, err := plugins.InitPlugin(name, nil, giver{shared})
	if err != nil {
		return err
	}
	gvk := store.GroupVersionKind(k.Kind)
	resource := gvk.GroupVersion().WithResource("persistentvolumeclaims")
	asked := admission.NewAttributesRecord(in, old, gvk, obj.GetNamespace(), obj.GetName(), resource, "", operation, nil, false, nil)
	switch plugin := plugin.(type) {
	case admission.MutationInterface:
		return plugin.Admit(context.Background(), asked, nil)
	case admission.ValidationInterface:
		return plugin.Validate(context.Background(), asked, nil)
	}
	return fmt.Errorf("%s neither changes nor validates", name)
}

// giver passes plugins what they ask for.
type giver struct {
	shared informers.SharedInformerFactory
}

func (g giver) Initialize(plugin admission.Interface) {
	if wants, ok := plugin.(initializer.WantsExternalKubeInformerFactory); ok {
		wants.SetExternalKubeInformerFactory(g.shared)
	}
}
