package admission

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota"
	quotaapi "k8s.io/apiserver/pkg/admission/plugin/resourcequota/apis/resourcequota"
	quota "k8s.io/apiserver/pkg/quota/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/core"
	corev1 "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	quotainstall "k8s.io/kubernetes/pkg/quota/v1/install"
	"k8s.io/kubernetes/plugin/pkg/admission/defaulttolerationseconds"
	"k8s.io/kubernetes/plugin/pkg/admission/limitranger"
	"k8s.io/kubernetes/plugin/pkg/admission/priority"
	"k8s.io/kubernetes/plugin/pkg/admission/runtimeclass"
	"k8s.io/kubernetes/plugin/pkg/admission/serviceaccount"
	"k8s.io/kubernetes/plugin/pkg/admission/storage/persistentvolume/resize"
	"k8s.io/kubernetes/plugin/pkg/admission/storage/storageclass/setdefault"
	"k8s.io/kubernetes/plugin/pkg/admission/storage/storageobjectinuseprotection"

	"github.com/volsim/volsim/internal/proof/differential/harness"
)

// order is that of kube-apiserver (AllOrderedPlugins). What is missing here is off by default, or about other objects.
var order = []string{lifecycle.PluginName, limitranger.PluginName, serviceaccount.PluginName, priority.PluginName, defaulttolerationseconds.PluginName, setdefault.PluginName,
	storageobjectinuseprotection.PluginName, resize.PluginName, runtimeclass.PluginName, resourcequota.PluginName}

// chain is the admission plugins of kube-apiserver.
type chain []admission.Interface

// newChain makes the plugins with a client and its informers, which the caller starts.
func newChain(ctx context.Context, client kubernetes.Interface, shared informers.SharedInformerFactory) (chain, error) {
	plugins := admission.NewPlugins()
	for _, register := range []func(*admission.Plugins){lifecycle.Register, limitranger.Register, serviceaccount.Register, priority.Register, defaulttolerationseconds.Register,
		setdefault.Register, storageobjectinuseprotection.Register, resize.Register, runtimeclass.Register} {
		register(plugins)
	}
	shared = inOrder{shared}
	quotas, err := quotainstall.NewQuotaConfigurationForAdmission(shared, nil)
	if err != nil {
		return nil, err
	}
	given := giver{ctx, client, shared, quotas}
	var all chain
	for _, name := range order {
		if name == resourcequota.PluginName {
			// With one evaluator, requests are decided in their order.
			plugin, err := resourcequota.NewResourceQuota(&quotaapi.Configuration{}, 1)
			if err != nil {
				return nil, err
			}
			given.Initialize(plugin)
			if err := plugin.ValidateInitialization(); err != nil {
				return nil, err
			}
			all = append(all, plugin)
			continue
		}
		plugin, err := plugins.InitPlugin(name, nil, given)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, plugin)
	}
	return all, nil
}

// giver passes plugins what they ask for.
type giver struct {
	ctx    context.Context
	client kubernetes.Interface
	shared informers.SharedInformerFactory
	quotas quota.Configuration
}

func (g giver) Initialize(plugin admission.Interface) {
	if wants, ok := plugin.(initializer.WantsDrainedNotification); ok {
		wants.SetDrainedNotification(g.ctx.Done())
	}
	if wants, ok := plugin.(initializer.WantsExternalKubeClientSet); ok {
		wants.SetExternalKubeClientSet(g.client)
	}
	if wants, ok := plugin.(initializer.WantsExternalKubeInformerFactory); ok {
		wants.SetExternalKubeInformerFactory(g.shared)
	}
	if wants, ok := plugin.(initializer.WantsFeatures); ok {
		wants.InspectFeatureGates(utilfeature.DefaultFeatureGate)
	}
	if wants, ok := plugin.(interface{ SetQuotaConfiguration(quota.Configuration) }); ok {
		wants.SetQuotaConfiguration(g.quotas)
	}
}

// request is a request as plugins see it.
type request struct {
	kind        schema.GroupVersionKind
	resource    schema.GroupVersionResource
	meta        metav1.Object
	in, old     runtime.Object // nil for none
	subresource string
	operation   admission.Operation
	// validate runs between the plugins that change the object and those that validate it.
	validate func() error
}

// decide asks the plugins in the order of a request: those that change the object, its validation, and those that validate it.
func (c chain) decide(r request) error {
	asked := admission.NewAttributesRecord(r.in, r.old, r.kind, r.meta.GetNamespace(), r.meta.GetName(), r.resource, r.subresource, r.operation, nil, false,
		nil)
	interfaces := admission.NewObjectInterfacesFromScheme(legacyscheme.Scheme)
	for _, plugin := range c {
		if mutator, ok := plugin.(admission.MutationInterface); ok && plugin.Handles(r.operation) {
			if err := mutator.Admit(context.Background(), asked, interfaces); err != nil {
				return err
			}
		}
	}
	if err := r.validate(); err != nil {
		return err
	}
	for _, plugin := range c {
		if validator, ok := plugin.(admission.ValidationInterface); ok && plugin.Handles(r.operation) {
			if err := validator.Validate(context.Background(), asked, interfaces); err != nil {
				return err
			}
		}
	}
	return nil
}

// inOrder is a factory whose LimitRanges and quotas are listed by name, as ours are (QUO-020, QUO-042). Unmodified, they come from a map.
type inOrder struct {
	informers.SharedInformerFactory
}

func (f inOrder) Core() core.Interface { return coreInOrder{f.SharedInformerFactory.Core()} }

type coreInOrder struct{ core.Interface }

func (c coreInOrder) V1() corev1.Interface { return v1InOrder{c.Interface.V1()} }

type v1InOrder struct{ corev1.Interface }

func (v v1InOrder) ResourceQuotas() corev1.ResourceQuotaInformer {
	return harness.NewInOrder(v.Interface.ResourceQuotas().Informer(), corelisters.NewResourceQuotaLister)
}

func (v v1InOrder) LimitRanges() corev1.LimitRangeInformer {
	return harness.NewInOrder(v.Interface.LimitRanges().Informer(), corelisters.NewLimitRangeLister)
}
