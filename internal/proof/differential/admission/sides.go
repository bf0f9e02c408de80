package admission

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/client-go/informers"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/core/install"       // defaults and conversions
	_ "k8s.io/kubernetes/pkg/apis/node/install"       // conversions
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install" // defaults and conversions
	_ "k8s.io/kubernetes/pkg/apis/storage/install"    // defaults and conversions
	"k8s.io/kubernetes/pkg/registry/core/persistentvolumeclaim"
	podregistry "k8s.io/kubernetes/pkg/registry/core/pod"
	"sigs.k8s.io/yaml"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objkinds"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/internal/proof/differential/apiserver"
)

// Sides are a store that decides itself, and one behind the plugins of kube-apiserver. They are used in a bubble of testing/synctest.
type Sides struct {
	ours   *store.Store
	theirs *apiserver.Server
	plugin chain
	wait   func()
	stop   func()
}

// New returns two empty sides. wait is synctest.Wait.
func New(wait func()) (*Sides, error) {
	s := &Sides{ours: store.New(store.Config{Now: time.Now, StrictNamespaces: true}), theirs: apiserver.New(apiserver.Config{}), wait: wait}
	s.ours.CompletePriorities()
	s.ours.AdmitServiceAccounts()
	client, err := s.theirs.Client("kube-apiserver")
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	shared := informers.NewSharedInformerFactory(client, 0)
	if s.plugin, err = newChain(ctx, client, shared); err != nil {
		stop()
		return nil, err
	}
	shared.Start(ctx.Done())
	s.stop = func() { stop(); shared.Shutdown() }
	shared.WaitForCacheSync(ctx.Done())
	return s, nil
}

// Close ends the sides.
func (s *Sides) Close() { s.stop() }

// Load stores an object on both sides, unchecked.
func (s *Sides) Load(obj api.Object) error {
	if _, err := s.ours.Load(obj.DeepCopyObject().(api.Object)); err != nil {
		return err
	}
	return s.loadTheirs(obj)
}

func (s *Sides) loadTheirs(obj api.Object) (err error) {
	s.theirs.Do(func(t *store.Store) { _, err = t.Load(obj.DeepCopyObject().(api.Object)) })
	// Watch events take no time, and caches of plugins forget after a minute.
	s.wait()
	time.Sleep(2 * time.Minute)
	s.wait()
	return err
}

// Answer is the result of a request on one side: the error or the object, and the quotas after it.
type Answer struct {
	Error  string
	Object []string
	Quotas []string
}

// strategies prepare and validate objects of kinds that plugins count.
var strategies = map[api.Kind]interface {
	rest.RESTCreateStrategy
	rest.RESTUpdateStrategy
}{api.Pod: podregistry.Strategy, api.PersistentVolumeClaim: persistentvolumeclaim.Strategy}

// Create asks both sides to create an object.
func (s *Sides) Create(obj api.Object) (ours, theirs Answer, err error) {
	created, refusal := s.ours.CreateWith(obj.DeepCopyObject().(api.Object), store.CreateOptions{})
	if ours, err = answer(s.ours, created, refusal); err != nil {
		return ours, theirs, err
	}
	given := obj.DeepCopyObject().(api.Object)
	legacyscheme.Scheme.Default(given)
	in, err := internal(given)
	if err != nil {
		return ours, theirs, err
	}
	rest.FillObjectMetaSystemFields(in.(api.Object))
	r := s.request(obj, admission.Create)
	r.in = in
	r.validate = func() error {
		if strategy := strategies[api.KindOf(obj)]; strategy != nil {
			return rest.BeforeCreate(strategy, genericapirequest.WithNamespace(context.Background(), obj.GetNamespace()), in)
		}
		return nil
	}
	return s.end(ours, r, obj)
}

// Update asks both sides to change a stored object.
func (s *Sides) Update(kind api.Kind, key string, sub api.Subresource, change func(api.Object)) (ours, theirs Answer, err error) {
	stored, err := s.ours.Get(kind, key)
	if err != nil {
		return ours, theirs, err
	}
	old, obj := stored.DeepCopyObject().(api.Object), stored.DeepCopyObject().(api.Object)
	change(obj)
	updated, refusal := s.ours.UpdateWith(obj.DeepCopyObject().(api.Object), sub, store.UpdateOptions{})
	if ours, err = answer(s.ours, updated, refusal); err != nil {
		return ours, theirs, err
	}
	r := s.request(obj, admission.Update)
	if r.old, err = internal(old); err != nil {
		return ours, theirs, err
	}
	if r.in, err = internal(obj); err != nil {
		return ours, theirs, err
	}
	r.subresource = string(sub)
	r.validate = func() error {
		var strategy rest.RESTUpdateStrategy = strategies[kind]
		if sub == api.Status {
			strategy = persistentvolumeclaim.StatusStrategy
		}
		return rest.BeforeUpdate(strategy, genericapirequest.WithNamespace(context.Background(), obj.GetNamespace()), r.in, r.old)
	}
	return s.end(ours, r, obj)
}

func (s *Sides) request(obj api.Object, operation admission.Operation) request {
	kind := api.KindOf(obj)
	gvk := s.ours.GroupVersionKind(kind)
	return request{kind: gvk, resource: gvk.GroupVersion().WithResource(s.ours.Describe(kind).Plural), meta: obj, operation: operation}
}

// end decides about a request on the real side, and stores what is admitted.
func (s *Sides) end(ours Answer, r request, obj api.Object) (Answer, Answer, error) {
	refusal := s.plugin.decide(r)
	var out api.Object
	if refusal == nil {
		external, err := legacyscheme.Scheme.New(r.kind)
		if err != nil {
			return ours, Answer{}, err
		}
		if err := legacyscheme.Scheme.Convert(r.in, external, nil); err != nil {
			return ours, Answer{}, err
		}
		legacyscheme.Scheme.Default(external)
		out = external.(api.Object)
		out.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
		if err := s.loadTheirs(out); err != nil {
			return ours, Answer{}, err
		}
	}
	s.wait()
	if strategies[api.KindOf(obj)] == nil {
		// No strategy runs: ours completes the object, and only the decision can be compared.
		ours.Object, out = nil, nil
	}
	var theirs Answer
	var err error
	s.theirs.Do(func(t *store.Store) { theirs, err = answer(t, out, refusal) })
	return ours, theirs, err
}

func internal(obj api.Object) (runtime.Object, error) {
	typed := obj
	if stored, ok := obj.(*plain.Object); ok {
		known := objkinds.Get(string(api.KindOf(stored)))
		external, err := legacyscheme.Scheme.New(known.GroupVersionKind())
		if err != nil {
			return nil, err
		}
		if err := plain.Write(stored, external.(api.Object)); err != nil {
			return nil, err
		}
		typed = external.(api.Object)
	}
	gv := schema.GroupVersion{Group: store.GroupVersionKind(api.KindOf(obj)).Group, Version: runtime.APIVersionInternal}
	if known := objkinds.Get(string(api.KindOf(obj))); known != nil {
		gv.Group = known.Group
	}
	return legacyscheme.Scheme.UnsafeConvertToVersion(typed.DeepCopyObject(), gv)
}

// answer describes the result of a request, and the quotas of the store.
func answer(s *store.Store, obj api.Object, refusal error) (a Answer, err error) {
	if refusal != nil {
		a.Error = sorted(refusal.Error())
	} else if obj != nil {
		if a.Object, err = describe(obj); err != nil {
			return a, err
		}
	}
	for _, q := range s.List(store.QuotaKind) {
		lines, err := describe(q)
		if err != nil {
			return a, err
		}
		a.Quotas = append(a.Quotas, lines...)
	}
	return a, nil
}

// sorted sorts the parts of a message that come from maps: those of an aggregate, in brackets.
func sorted(message string) string {
	before, rest, ok := strings.Cut(message, "[")
	list, ok2 := strings.CutSuffix(rest, "]")
	if !ok || !ok2 {
		return message
	}
	// Within a part, a comma is followed by "but".
	parts := strings.Split(strings.ReplaceAll(list, ", but", "; but"), ", ")
	slices.Sort(parts)
	return before + "[" + strings.Join(parts, ", ") + "]"
}

func describe(obj api.Object) ([]string, error) {
	obj = obj.DeepCopyObject().(api.Object)
	for _, clear := range []func(){func() { obj.SetUID("") }, func() { obj.SetResourceVersion("") }, func() { obj.SetManagedFields(nil) },
		func() { obj.SetGeneration(0) }, func() { obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{}) }} {
		clear()
	}
	data, err := yaml.Marshal(obj)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", api.RefTo(obj), err)
	}
	return strings.Split(strings.TrimSpace(tokenVolume.ReplaceAllString(string(data), "$1(some)")), "\n"), nil
}

// tokenVolume matches the name of a volume with a token, whose end is random.
var tokenVolume = regexp.MustCompile("(name: kube-api-access-)[a-z0-9]{5}\\b")

// Any returns the key of a stored object of a kind, "" if there is none.
func (s *Sides) Any(kind api.Kind, number int) string {
	all := s.ours.List(kind)
	if len(all) == 0 {
		return ""
	}
	return api.KeyOf(all[number%len(all)])
}
