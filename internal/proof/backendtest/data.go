package backendtest

import (
	"fmt"
	"time"

	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/storage"
)

// writeTime is the time of all writes.
var writeTime = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// data checks the content of volumes, for a storage.DataHolder.
var data = []check{
	{name: "data survives a move to another node", needs: []storage.Op{storage.Publish}, only: is[storage.DataHolder],
		run: withData(func(s *subject, holder storage.DataHolder, id string) error {
			written, err := holder.Write(id, pod, node, writeTime)
			if err != nil {
				return wrap(err, "Write(%s)", id)
			}
			err = steps(
				func() error { return s.unmounted(id, node) },
				func() error { return s.mounted(id, "node-2") },
			)
			if err != nil {
				return err
			}
			return expect(holder, id, "node-2", written)
		})},
	{name: "data survives a repeated Publish", needs: []storage.Op{storage.Publish}, only: is[storage.DataHolder],
		run: withData(func(s *subject, holder storage.DataHolder, id string) error {
			written, err := holder.Write(id, pod, node, writeTime)
			if err != nil {
				return wrap(err, "Write(%s)", id)
			}
			if err := s.publish(id, node, target, pod); err != nil {
				return err
			}
			return expect(holder, id, node, written)
		})},
	{name: "a pod without the volume cannot write", needs: []storage.Op{storage.Publish}, only: is[storage.DataHolder],
		run: withData(func(s *subject, holder storage.DataHolder, id string) error {
			if err := s.unpublish(id, node, target); err != nil {
				return err
			}
			if _, err := holder.Write(id, pod, node, writeTime); err == nil {
				return fmt.Errorf("Write(%s) succeeded after Unpublish", id)
			}
			return nil
		})},
	{name: "a recycled volume is empty", needs: []storage.Op{storage.Publish, storage.Recycle}, only: is[storage.DataHolder],
		run: withData(func(s *subject, holder storage.DataHolder, id string) error {
			if _, err := holder.Write(id, pod, node, writeTime); err != nil {
				return wrap(err, "Write(%s)", id)
			}
			err := steps(
				func() error { return s.unmounted(id, node) },
				func() error {
					return wrap(s.b.(backends.Recycler).Recycle(id, s.source), "Recycle(%s)", id)
				},
				func() error { return s.mounted(id, node) },
			)
			if err != nil {
				return err
			}
			return expect(holder, id, node, storage.Write{})
		})},
	{name: "a volume that is created again is empty",
		needs: []storage.Op{storage.Publish, storage.Create, storage.Delete}, only: is[storage.DataHolder],
		run: withData(func(s *subject, holder storage.DataHolder, id string) error {
			if _, err := holder.Write(id, pod, node, writeTime); err != nil {
				return wrap(err, "Write(%s)", id)
			}
			err := steps(
				func() error { return s.unmounted(id, node) },
				func() error { return s.delete(id) },
			)
			if err != nil {
				return err
			}
			again, err := s.newVolume()
			if err != nil {
				return err
			}
			if err := s.mounted(again, node); err != nil {
				return err
			}
			return expect(holder, again, node, storage.Write{})
		})},
}

// withData starts a check with a volume that is published to the pod on the node.
func withData(run func(s *subject, holder storage.DataHolder, id string) error) func(*subject) error {
	return func(s *subject) error {
		id, err := s.newVolume()
		if err != nil {
			return err
		}
		if err := s.mounted(id, node); err != nil {
			return err
		}
		return run(s, s.b.(storage.DataHolder), id)
	}
}

func expect(holder storage.DataHolder, id, node string, want storage.Write) error {
	got, err := holder.Read(id, pod, node)
	if err != nil {
		return wrap(err, "Read(%s) on %s", id, node)
	}
	if got != want {
		return fmt.Errorf("Read(%s) on %s = %+v, want %+v", id, node, got, want)
	}
	return nil
}
