package backendtest

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/fake"
)

var general = []check{
	{name: "name is set and stays", run: func(s *subject) error {
		name := s.b.Name()
		if again, other := s.b.Name(), s.newBackend().Name(); name != again || name != other {
			return fmt.Errorf("Name() = %q, then %q, and %q of another one: want one name", name, again, other)
		}
		_, err := fake.NewSet(s.b)
		return err
	}},
	{name: "it can do something", run: func(s *subject) error {
		for _, op := range fake.Ops() {
			if fake.Can(s.b, op) {
				return nil
			}
		}
		return fmt.Errorf("Can is false for all of %v: implement one of the interfaces of package fake", fake.Ops())
	}},
	{name: "operations come with their opposites", run: func(s *subject) error {
		for _, pair := range [][2]fake.Op{{fake.Attach, fake.Detach}, {fake.Stage, fake.Unstage}, {fake.Publish, fake.Unpublish}} {
			if fake.Can(s.b, pair[0]) != fake.Can(s.b, pair[1]) {
				return fmt.Errorf("Can(%s) = %t, Can(%s) = %t: want both or none", pair[0], fake.Can(s.b, pair[0]), pair[1], fake.Can(s.b, pair[1]))
			}
		}
		return nil
	}},
	{name: "an empty request is refused", run: func(s *subject) error {
		for _, op := range fake.Ops() {
			if !fake.Can(s.b, op) {
				continue
			}
			err := fake.Safely(s.b.Name(), op, func() error { return empty(s.b, op) })
			if err := s.refused(string(op)+" with an empty request", err, fake.InvalidArgument); err != nil {
				return err
			}
		}
		return nil
	}},
	{name: "delays are not negative and stay", only: is[fake.Delayer], run: func(s *subject) error {
		delayer := s.b.(fake.Delayer)
		for _, op := range fake.Ops() {
			d, again := delayer.Delay(op, "backendtest-1"), delayer.Delay(op, "backendtest-1")
			if d < 0 || d != again {
				return fmt.Errorf("Delay(%s) = %s, then %s: want the same, not negative", op, d, again)
			}
		}
		return nil
	}},
	{name: "no source is not supported", only: is[fake.Supporter], run: func(s *subject) error {
		plugin := s.b.(fake.Supporter)
		for _, source := range []*corev1.PersistentVolumeSource{nil, {}} {
			if plugin.Supports(source) {
				return fmt.Errorf("Supports(%v) = true, want false", source)
			}
		}
		return nil
	}},
}

// is reports whether the backend implements the interface.
func is[I any](b fake.Backend) bool {
	_, ok := b.(I)
	return ok
}

// empty makes the call with nothing in the request.
func empty(b fake.Backend, op fake.Op) (err error) {
	switch op {
	case fake.Create:
		_, err = b.(fake.Creator).Create(fake.CreateRequest{})
	case fake.Delete:
		err = b.(fake.Deleter).Delete(fake.DeleteRequest{})
	case fake.Recycle:
		err = b.(fake.Recycler).Recycle(fake.RecycleRequest{})
	case fake.Attach:
		_, err = b.(fake.Attacher).Attach(fake.AttachRequest{})
	case fake.Detach:
		err = b.(fake.Attacher).Detach(fake.DetachRequest{})
	case fake.Stage:
		err = b.(fake.Stager).Stage(fake.StageRequest{})
	case fake.Unstage:
		err = b.(fake.Stager).Unstage(fake.UnstageRequest{})
	case fake.Publish:
		err = b.(fake.Publisher).Publish(fake.PublishRequest{})
	case fake.Unpublish:
		err = b.(fake.Publisher).Unpublish(fake.UnpublishRequest{})
	case fake.Expand:
		_, err = b.(fake.Expander).Expand(fake.ExpandRequest{})
	case fake.NodeExpand:
		_, err = b.(fake.NodeExpander).NodeExpand(fake.NodeExpandRequest{})
	case fake.Modify:
		err = b.(fake.Modifier).Modify(fake.ModifyRequest{})
	}
	return err
}
