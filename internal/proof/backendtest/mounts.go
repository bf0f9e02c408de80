package backendtest

import (
	"fmt"

	"github.com/volsim/volsim/storage"
)

var mounts = []check{
	{name: "Attach is idempotent", needs: []storage.Op{storage.Attach}, run: func(s *subject) error {
		id, err := s.newVolume()
		if err != nil {
			return err
		}
		return steps(func() error { return s.attachTo(id, node) }, func() error { return s.attachTo(id, node) })
	}},
	{name: "Detach is idempotent", needs: []storage.Op{storage.Detach}, run: func(s *subject) error {
		id, err := s.newVolume()
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
	{name: "a detached volume can be attached to another node", needs: []storage.Op{storage.Attach}, run: func(s *subject) error {
		id, err := s.newVolume()
		if err != nil {
			return err
		}
		return steps(
			func() error { return s.attachTo(id, node) },
			func() error { return s.detach(id, node) },
			func() error { return s.attachTo(id, "node-2") },
		)
	}},
	{name: "a deleted volume cannot be attached",
		needs: []storage.Op{storage.Create, storage.Delete, storage.Attach}, run: func(s *subject) error {
			id, err := s.newVolume()
			if err != nil {
				return err
			}
			if err := s.delete(id); err != nil {
				return err
			}
			_, err = s.b.(storage.Attacher).Attach(storage.NodeRequest{ID: id, Node: node})
			return s.rejected("Attach of a deleted volume", err, storage.NotFound)
		}},
	{name: "Stage is idempotent", needs: []storage.Op{storage.Stage}, run: func(s *subject) error {
		id, err := s.newVolume()
		if err != nil {
			return err
		}
		return steps(
			func() error { return s.attachTo(id, node) },
			func() error { return s.stage(id, node) },
			func() error { return s.stage(id, node) },
		)
	}},
	{name: "Unstage is idempotent", needs: []storage.Op{storage.Unstage}, run: func(s *subject) error {
		id, err := s.newVolume()
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
	{name: "Publish needs Stage first", needs: []storage.Op{storage.Stage, storage.Publish}, run: func(s *subject) error {
		id, err := s.newVolume()
		if err != nil {
			return err
		}
		if err := s.attachTo(id, node); err != nil {
			return err
		}
		err = s.b.(storage.Publisher).Publish(s.publishRequest(id, node, target, pod))
		return s.rejected("Publish before Stage", err, storage.FailedPrecondition)
	}},
	{name: "Publish is idempotent", needs: []storage.Op{storage.Publish}, run: func(s *subject) error {
		id, err := s.newVolume()
		if err != nil {
			return err
		}
		return steps(
			func() error { return s.mounted(id, node) },
			func() error { return s.publish(id, node, target, pod) },
		)
	}},
	{name: "Unpublish is idempotent", needs: []storage.Op{storage.Unpublish}, run: func(s *subject) error {
		id, err := s.newVolume()
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
	{name: "two pods of a node share a volume", needs: []storage.Op{storage.Publish}, run: func(s *subject) error {
		id, err := s.newVolume()
		if err != nil {
			return err
		}
		second := storage.PodRef{Namespace: "default", Name: "pod-2", UID: "uid-2"}
		return steps(
			func() error { return s.mounted(id, node) },
			func() error { return s.publish(id, node, "/pods/2/mount", second) },
			func() error { return s.unpublish(id, node, target) },
			func() error { return s.publish(id, node, "/pods/2/mount", second) },
		)
	}},
	{name: "a volume is mounted and unmounted on two nodes", needs: []storage.Op{storage.Publish}, run: func(s *subject) error {
		id, err := s.newVolume()
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
	{name: "an unused volume can be deleted", needs: []storage.Op{storage.Publish, storage.Delete}, run: func(s *subject) error {
		id, err := s.newVolume()
		if err != nil {
			return err
		}
		return steps(
			func() error { return s.mounted(id, node) },
			func() error { return s.unmounted(id, node) },
			func() error { return s.delete(id) },
		)
	}},
	{name: "NodeExpand follows Expand", needs: []storage.Op{storage.Expand, storage.NodeExpand, storage.Publish}, run: func(s *subject) error {
		id, err := s.newVolume()
		if err != nil {
			return err
		}
		grown, _, err := s.b.(storage.Expander).Expand(storage.ExpandRequest{ID: id, Size: 3 * gi})
		if err != nil {
			return fmt.Errorf("Expand(%s) = %w, want success", id, err)
		}
		if err := s.mounted(id, node); err != nil {
			return err
		}
		req := storage.NodeRequest{ID: id, Node: node, TargetPath: target, StagingPath: staging, Size: grown}
		for range 2 {
			size, err := s.b.(storage.NodeExpander).NodeExpand(req)
			if err != nil {
				return fmt.Errorf("NodeExpand(%s, %d bytes) = %w, want success", id, req.Size, err)
			}
			if size != 0 && size < req.Size {
				return fmt.Errorf("NodeExpand(%s, %d bytes) returned %d bytes", id, req.Size, size)
			}
		}
		return nil
	}},
}
