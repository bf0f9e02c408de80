package differential

import (
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
)

// runner runs one scenario on one side.
type runner struct {
	Side
	claims map[string]types.UID // by key: the uid of the claim that was created last
}

// do runs a step. The error is the API server's.
func (p *runner) do(step Step) error {
	switch step.Op {
	case Create:
		created, err := p.Create(p.withUIDs(step.Object.DeepCopyObject().(api.Object)))
		if claim, ok := created.(*corev1.PersistentVolumeClaim); ok && err == nil {
			p.claims[api.KeyOf(claim)] = claim.UID
		}
		return err
	case Update:
		return p.Update(step.Object.DeepCopyObject().(api.Object))
	case Patch:
		return p.Patch(p.resolve(step.Ref), step.Sub, p.resolveText(step.Patch))
	case Delete:
		return p.Delete(p.resolve(step.Ref), step.DeleteOptions())
	case Storage:
		b := p.Storage(step.Backend)
		if b == nil {
			return fmt.Errorf("there is no backend %q", step.Backend)
		}
		b.Set(step.Setting)
	case Fault:
		return p.Fail(step.Rule)
	case Evict:
		return p.Evict(p.resolve(step.Ref).Key)
	case Restart:
		return p.Restart(step.Actor)
	case Pods:
		return p.pods(step)
	case Power:
		return p.Machine(step.Node, step.Machine)
	}
	return nil
}

// resolve replaces the symbol of a provisioned volume by its name.
func (p *runner) resolve(ref api.Ref) api.Ref {
	if key, ok := strings.CutPrefix(ref.Key, Provisioned); ok {
		ref.Key = "pvc-" + string(p.claims[key])
	}
	if number, ok := strings.CutPrefix(ref.Key, nth); ok {
		ref.Key = p.nth(ref.Kind, number)
	}
	return ref
}

// uidOf, followed by the key of a claim, stands in a patch, and in the claimRef of a new volume, for the uid of the claim of that name that
// was created last.
const uidOf = "uid-of:"

func (p *runner) resolveText(patch string) string {
	for key, uid := range p.claims {
		patch = strings.ReplaceAll(patch, uidOf+key+"!", string(uid))
	}
	return liveUID.ReplaceAllStringFunc(patch, func(text string) string {
		kind, key, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(text, uidNow), "!"), "/")
		for _, obj := range p.Objects(api.Kind(kind)) {
			if api.KeyOf(obj) == key {
				return string(obj.GetUID())
			}
		}
		return "none-" + strings.ReplaceAll(key, "/", "-")
	})
}

// uidNow, followed by kind and key of an object and an exclamation mark, stands for the uid of the object that exists when the step runs, for
// another one if there is none.
const uidNow = "uid-now:"

var liveUID = regexp.MustCompile(uidNow + "[^!]*!")

// uidOfNow returns the text that stands for the uid of an object.
func uidOfNow(ref api.Ref) types.UID {
	return types.UID(uidNow + string(ref.Kind) + "/" + ref.Key + "!")
}

// withUIDs replaces what stands for the uids of owners, and for that of the claim of a volume.
func (p *runner) withUIDs(obj api.Object) api.Object {
	if pv, ok := obj.(*corev1.PersistentVolume); ok && pv.Spec.ClaimRef != nil {
		pv.Spec.ClaimRef.UID = types.UID(p.resolveText(string(pv.Spec.ClaimRef.UID)))
	}
	owners := obj.GetOwnerReferences()
	for i := range owners {
		owners[i].UID = types.UID(p.resolveText(string(owners[i].UID)))
	}
	if len(owners) > 0 {
		obj.SetOwnerReferences(owners)
	}
	return obj
}

// err returns the error of the rule.
func (r Rule) err() error {
	if r.Conflict {
		return apierrors.NewConflict(schema.GroupResource{Resource: strings.ToLower(string(r.Kind)) + "s"}, "some",
			fmt.Errorf("another client was faster"))
	}
	return apierrors.NewInternalError(fmt.Errorf("the storage of the server is broken"))
}

// Add adds the rule to an injector.
func (r Rule) Add(f *fake.Faults) error {
	match := fake.Match{Actor: r.Actor, Target: api.APIServer, Verb: r.Verb, Kind: string(r.Kind), Key: r.Key}
	if r.Lost {
		f.Lose(match, r.err()).Times(r.Times)
	} else {
		f.Fail(match, r.err()).Times(r.Times)
	}
	return f.Err()
}
