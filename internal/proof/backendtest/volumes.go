package backendtest

import (
	"errors"
	"fmt"
	"maps"
	"reflect"

	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/storage"
)

var volumes = []check{
	{name: "a volume is at least as large as requested", needs: []storage.Op{storage.Create}, run: func(s *subject) error {
		resp, err := s.create(request("backendtest-1", gi))
		switch {
		case err != nil:
			return err
		case resp.ID == "":
			return errors.New("Create returned no ID")
		case resp.Size != 0 && resp.Size < gi:
			return fmt.Errorf("Create(%d bytes) returned %d bytes", gi, resp.Size)
		case backends.IsInTree(s.b) && resp.ID != "backendtest-1":
			return fmt.Errorf("Create(backendtest-1) returned ID %q; the ID of an in-tree plugin is the name", resp.ID)
		}
		plugin, ok := s.b.(backends.InTreePlugin)
		if ok && !plugin.Supports(&resp.Source) {
			return fmt.Errorf("Create returned source %s, which the plugin does not support", resp.Source.String())
		}
		return nil
	}},
	{name: "Create is idempotent by name", needs: []storage.Op{storage.Create}, run: func(s *subject) error {
		first, err := s.create(request("backendtest-1", gi))
		if err != nil {
			return err
		}
		second, err := s.create(request("backendtest-1", gi))
		if err != nil {
			return fmt.Errorf("again: %w", err)
		}
		if !reflect.DeepEqual(first, second) {
			return fmt.Errorf("Create returned %s, and %s for the repeated request", show(first), show(second))
		}
		return nil
	}},
	{name: "Create rejects another size with the same name", needs: []storage.Op{storage.Create}, run: func(s *subject) error {
		first, err := s.create(request("backendtest-1", gi))
		if err != nil {
			return err
		}
		larger := max(first.Size, gi) + gi
		_, err = s.b.(storage.Provisioner).Create(request("backendtest-1", larger))
		return s.rejected(fmt.Sprintf("Create(%d bytes) after Create(%d bytes) of the same name", larger, gi), err, storage.AlreadyExists)
	}},
	{name: "two names are two volumes", needs: []storage.Op{storage.Create}, run: func(s *subject) error {
		first, err := s.create(request("backendtest-1", gi))
		if err != nil {
			return err
		}
		second, err := s.create(request("backendtest-2", gi))
		if err != nil {
			return err
		}
		if first.ID == second.ID {
			return fmt.Errorf("Create returned ID %q for both names", first.ID)
		}
		return nil
	}},
	{name: "the same calls have the same results", needs: []storage.Op{storage.Create}, run: func(s *subject) error {
		first, err := s.create(request("backendtest-1", gi))
		if err != nil {
			return err
		}
		other, err := s.newBackend().(storage.Provisioner).Create(request("backendtest-1", gi))
		if err != nil || !reflect.DeepEqual(first, other) {
			return fmt.Errorf("Create returned %s, and %s, error %v on another backend; want the same", show(first), show(other), err)
		}
		return nil
	}},
	{name: "a request is not modified or retained", needs: []storage.Op{storage.Create}, run: func(s *subject) error {
		req := request("backendtest-1", gi)
		req.Parameters = map[string]string{"a": "b"}
		if _, err := s.create(req); err != nil {
			return err
		}
		if want := map[string]string{"a": "b"}; !maps.Equal(req.Parameters, want) {
			return fmt.Errorf("Create changed the parameters to %v", req.Parameters)
		}
		req.Parameters["a"] = "c"
		again := request("backendtest-1", gi)
		again.Parameters = map[string]string{"a": "b"}
		if _, err := s.create(again); err != nil {
			return fmt.Errorf("after the caller changed the map of its first request: %w", err)
		}
		return nil
	}},
	{name: "Delete is idempotent", needs: []storage.Op{storage.Delete}, run: func(s *subject) error {
		id, err := s.newVolume()
		if err != nil {
			return err
		}
		return steps(func() error { return s.delete(id) }, func() error { return s.delete(id) })
	}},
	{name: "Delete of an unknown volume succeeds", needs: []storage.Op{storage.Create, storage.Delete}, run: func(s *subject) error {
		if _, err := s.newVolume(); err != nil { // for the source
			return err
		}
		return s.delete("backendtest-unknown")
	}},
	{name: "a deleted volume can be created again", needs: []storage.Op{storage.Create, storage.Delete}, run: func(s *subject) error {
		id, err := s.newVolume()
		if err != nil {
			return err
		}
		if err := s.delete(id); err != nil {
			return err
		}
		_, err = s.create(request("backendtest-1", 2*gi))
		return err
	}},
	{name: "Recycle is idempotent", needs: []storage.Op{storage.Recycle}, run: func(s *subject) error {
		id, err := s.newVolume()
		if err != nil {
			return err
		}
		recycle := func() error {
			return wrap(s.b.(backends.Recycler).Recycle(id, s.source), "Recycle(%s)", id)
		}
		return steps(recycle, recycle)
	}},
	{name: "Expand never shrinks", needs: []storage.Op{storage.Expand}, run: func(s *subject) error {
		id, err := s.newVolume()
		if err != nil {
			return err
		}
		reached := int64(0)
		for _, size := range []int64{3 * gi, 3 * gi, 2 * gi, 4 * gi} {
			grown, _, err := s.b.(storage.Expander).Expand(storage.ExpandRequest{ID: id, Size: size})
			switch {
			case err != nil:
				return fmt.Errorf("Expand(%s, %d bytes) = %w, want success", id, size, err)
			case grown < size:
				return fmt.Errorf("Expand(%s, %d bytes) returned %d bytes", id, size, grown)
			case grown < reached:
				return fmt.Errorf("Expand(%s, %d bytes) returned %d bytes, after %d", id, size, grown, reached)
			}
			reached = grown
		}
		return nil
	}},
	{name: "Modify is idempotent, or rejected as invalid", needs: []storage.Op{storage.Modify}, run: func(s *subject) error {
		id, err := s.newVolume()
		if err != nil {
			return err
		}
		var first error
		for i := range 2 {
			err := s.b.(storage.Modifier).Modify(storage.ModifyRequest{ID: id, Parameters: map[string]string{"backendtest": "yes"}})
			if err != nil && storage.CodeOf(err) != storage.InvalidArgument {
				return fmt.Errorf("Modify(%s, backendtest=yes) = %w, want success or code %s", id, err, storage.InvalidArgument)
			}
			if i > 0 && (err == nil) != (first == nil) {
				return fmt.Errorf("Modify(%s, backendtest=yes) = %v at first, and %v when repeated", id, first, err)
			}
			first = err
		}
		return nil
	}},
}

// show formats the fields that the checks compare.
func show(resp storage.Volume) string {
	return fmt.Sprintf("{ID %q, %d bytes, source %s, context %v, topology %v}",
		resp.ID, resp.Size, resp.Source.String(), resp.Context, resp.Topology)
}
