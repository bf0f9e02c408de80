package backendtest

import (
	"fmt"

	"github.com/volsim/volsim/fake"
)

var mounts = []check{
	{name: "Attach is idempotent", needs: []fake.Op{fake.Attach}, run: func(s *subject) error {
		id, err := s.make()
		if err != nil {
			return err
		}
		return steps(func() error { return s.attachTo(id, node) }, func() error { return s.attachTo(id, node) })
	}},
	{name: "Detach is idempotent", needs: []fake.Op{fake.Detach}, run: func(s *subject) error {
		id, err := s.make()
		if err != nil {
			return err
		}
		return steps(
			func() error { return s.detach(id, node) },
			func() error { return s.attachTo(id, node) },
			func() error { return s.detach(id, node) },
			func() error { return s.detach(id, node) },
		)
	}},
	{name: "a detached volume can be attached elsewhere", needs: []fake.Op{fake.Attach}, run: func(s *subject) error {
		id, err := s.make()
		if err != nil {
			return err
		}
		return steps(
			func() error { return s.attachTo(id, node) },
			func() error { return s.detach(id, node) },
			func() error { return s.attachTo(id, "node-2") },
		)
	}},
	{name: "a deleted volume cannot be attached", needs: []fake.Op{fake.Create, fake.Delete, fake.Attach}, run: func(s *subject) error {
		id, err := s.make()
		if err != nil {
			return err
		}
		if err := s.delete(id); err != nil {
			return err
		}
		_, err = s.b.(fake.Attacher).Attach(fake.AttachRequest{ID: id, Node: node})
		return s.refused("Attach of a deleted volume", err, fake.NotFound)
	}},
	{name: "Stage is idempotent", needs: []fake.Op{fake.Stage}, run: func(s *subject) error {
		id, err := s.make()
		if err != nil {
			return err
		}
		return steps(
			func() error { return s.attachTo(id, node) },
			func() error { return s.stage(id, node) },
			func() error { return s.stage(id, node) },
		)
	}},
	{name: "Unstage is idempotent", needs: []fake.Op{fake.Unstage}, run: func(s *subject) error {
		id, err := s.make()
		if err != nil {
			return err
		}
		return steps(
			func() error { return s.attachTo(id, node) },
			func() error { return s.unstage(id, node) },
			func() error { return s.stage(id, node) },
			func() error { return s.unstage(id, node) },
			func() error { return s.unstage(id, node) },
			func() error { return s.stage(id, node) },
		)
	}},
	{name: "Publish needs Stage first", needs: []fake.Op{fake.Stage, fake.Publish}, run: func(s *subject) error {
		id, err := s.make()
		if err != nil {
			return err
		}
		if err := s.attachTo(id, node); err != nil {
			return err
		}
		err = s.b.(fake.Publisher).Publish(s.publishRequest(id, node, target, pod))
		return s.refused("Publish before Stage", err, fake.FailedPrecondition)
	}},
	{name: "Publish is idempotent", needs: []fake.Op{fake.Publish}, run: func(s *subject) error {
		id, err := s.make()
		if err != nil {
			return err
		}
		return steps(
			func() error { return s.mounted(id, node) },
			func() error { return s.publish(id, node, target, pod) },
		)
	}},
	{name: "Unpublish is idempotent", needs: []fake.Op{fake.Unpublish}, run: func(s *subject) error {
		id, err := s.make()
		if err != nil {
			return err
		}
		return steps(
			func() error { return s.unpublish(id, node, target) },
			func() error { return s.mounted(id, node) },
			func() error { return s.unpublish(id, node, target) },
			func() error { return s.unpublish(id, node, target) },
			func() error { return s.publish(id, node, target, pod) },
		)
	}},
	{name: "two pods of a node share a volume", needs: []fake.Op{fake.Publish}, run: func(s *subject) error {
		id, err := s.make()
		if err != nil {
			return err
		}
		second := fake.PodRef{Namespace: "default", Name: "pod-2", UID: "uid-2"}
		return steps(
			func() error { return s.mounted(id, node) },
			func() error { return s.publish(id, node, "/pods/2/mount", second) },
			func() error { return s.unpublish(id, node, target) },
			func() error { return s.publish(id, node, "/pods/2/mount", second) },
		)
	}},
	{name: "a volume goes all the way and back, twice", needs: []fake.Op{fake.Publish}, run: func(s *subject) error {
		id, err := s.make()
		if err != nil {
			return err
		}
		return steps(
			func() error { return s.mounted(id, node) },
			func() error { return s.unmounted(id, node) },
			func() error { return s.mounted(id, "node-2") },
			func() error { return s.unmounted(id, "node-2") },
		)
	}},
	{name: "an unused volume can be deleted", needs: []fake.Op{fake.Publish, fake.Delete}, run: func(s *subject) error {
		id, err := s.make()
		if err != nil {
			return err
		}
		return steps(
			func() error { return s.mounted(id, node) },
			func() error { return s.unmounted(id, node) },
			func() error { return s.delete(id) },
		)
	}},
	{name: "NodeExpand follows Expand", needs: []fake.Op{fake.Expand, fake.NodeExpand, fake.Publish}, run: func(s *subject) error {
		id, err := s.make()
		if err != nil {
			return err
		}
		grown, err := s.b.(fake.Expander).Expand(fake.ExpandRequest{ID: id, Size: 3 * gi})
		if err != nil {
			return fmt.Errorf("Expand(%s) = %w, want success", id, err)
		}
		if err := s.mounted(id, node); err != nil {
			return err
		}
		req := fake.NodeExpandRequest{ID: id, Node: node, Path: target, StagingPath: staging, Size: grown.Size}
		for range 2 {
			resp, err := s.b.(fake.NodeExpander).NodeExpand(req)
			if err != nil {
				return fmt.Errorf("NodeExpand(%s, %d bytes) = %w, want success", id, req.Size, err)
			}
			if resp.Size != 0 && resp.Size < req.Size {
				return fmt.Errorf("NodeExpand(%s, %d bytes) gave %d bytes", id, req.Size, resp.Size)
			}
		}
		return nil
	}},
}
