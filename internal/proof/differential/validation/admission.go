package validation

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	_ "k8s.io/kubernetes/pkg/apis/node/install" // conversions
	"k8s.io/kubernetes/plugin/pkg/admission/defaulttolerationseconds"
	"k8s.io/kubernetes/plugin/pkg/admission/priority"
	"k8s.io/kubernetes/plugin/pkg/admission/runtimeclass"
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
	if k.Kind == api.Pod {
		for _, class := range runtimes() {
			if _, err := s.Load(class); err != nil {
				return nil, err
			}
		}
	}
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

// runtimes are the RuntimeClasses that exist on both sides: with overhead, and with a selector and tolerations.
func runtimes() []*nodev1.RuntimeClass {
	heavy := &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Handler: "a"}
	heavy.Overhead = &nodev1.Overhead{PodFixed: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m")}}
	picky := &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "db"}, Handler: "b"}
	picky.Scheduling = &nodev1.Scheduling{NodeSelector: map[string]string{"a": "1"}, Tolerations: []corev1.Toleration{
		{Key: "a", Operator: corev1.TolerationOpExists}, {Key: "x", Operator: corev1.TolerationOpEqual, Value: "1", Effect: corev1.TaintEffectNoSchedule}}}
	return []*nodev1.RuntimeClass{heavy, picky}
}

// runtimePlugin returns the API server's admission plugin for RuntimeClasses.
func runtimePlugin() (*runtimeclass.RuntimeClass, error) {
	shared := informers.NewSharedInformerFactory(nil, 0)
	for _, class := range runtimes() {
		if err := shared.Node().V1().RuntimeClasses().Informer().GetIndexer().Add(class); err != nil {
			return nil, err
		}
	}
	client := fake.NewClientset()
	// Without a name there is no request; a fake client would answer one.
	client.PrependReactor("get", "runtimeclasses", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if action.(clienttesting.GetAction).GetName() != "" {
			return false, nil, nil
		}
		return true, nil, &apierrors.StatusError{ErrStatus: metav1.Status{Message: "resource name may not be empty"}}
	})
	plugin := runtimeclass.NewRuntimeClass()
	plugin.SetExternalKubeClientSet(client)
	plugin.SetExternalKubeInformerFactory(shared)
	return plugin, nil
}

// checkRuntime runs what the plugin for RuntimeClasses does with a new pod after validation.
func (k Kind) checkRuntime(in runtime.Object, obj api.Object) error {
	if k.Kind != api.Pod {
		return nil
	}
	plugin, err := runtimePlugin()
	if err != nil {
		return err
	}
	return plugin.Validate(context.Background(), podRequest(in, nil, obj, admission.Create), nil)
}

// podRequest is a request about a pod as plugins see it.
func podRequest(in, old runtime.Object, obj api.Object, operation admission.Operation) admission.Attributes {
	gvk := store.GroupVersionKind(api.Pod)
	return admission.NewAttributesRecord(in, old, gvk, obj.GetNamespace(), obj.GetName(), gvk.GroupVersion().WithResource("pods"), "", operation, nil, false, nil)
}

// admitPod runs the API server's admission plugins for pods: that of priorities, without classes, that of default tolerations, and that of
// RuntimeClasses.
func (k Kind) admitPod(in, old runtime.Object, obj api.Object, operation admission.Operation) error {
	if k.Kind != api.Pod {
		return nil
	}
	plugin := defaulttolerationseconds.NewDefaultTolerationSeconds()
	plugin.InspectFeatureGates(nil)
	asked := podRequest(in, old, obj, operation)
	priorities := priority.NewPlugin()
	priorities.SetExternalKubeInformerFactory(informers.NewSharedInformerFactory(nil, 0))
	if err := priorities.Admit(context.Background(), asked, nil); err != nil {
		return err
	}
	if err := plugin.Admit(context.Background(), asked, nil); err != nil {
		return err
	}
	runtimes, err := runtimePlugin()
	if err != nil || !runtimes.Handles(operation) {
		return err
	}
	return runtimes.Admit(context.Background(), asked, nil)
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
	asked := admission.NewAttributesRecord(in, old, gvk, obj.GetNamespace(), obj.GetName(), gvk.GroupVersion().WithResource("persistentvolumeclaims"), "",
		operation, nil, false, nil)
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
