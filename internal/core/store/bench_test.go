package store_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/store"
)

// full is a store with n volumes and n claims.
func full(b *testing.B, n int) *store.Store {
	b.Helper()
	s := store.New(store.Config{})
	for i := range n {
		if _, err := s.Volumes.Create(disk(fmt.Sprintf("disk-%06d", i))); err != nil {
			b.Fatal(err)
		}
		if _, err := s.Claims.Create(claim(fmt.Sprintf("data-%06d", i))); err != nil {
			b.Fatal(err)
		}
	}
	return s
}

const benchObjects = 10_000

// measure runs one call per round, on objects in turn.
func measure(b *testing.B, name string, call func(s *store.Store, i int) error) {
	b.Run(name, func(b *testing.B) {
		s := full(b, benchObjects)
		b.ReportAllocs()
		b.ResetTimer()
		for i := range b.N {
			if err := call(s, i); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func volumeKey(i int) string { return fmt.Sprintf("disk-%06d", i%benchObjects) }

func claimKey(i int) string { return fmt.Sprintf("default/data-%06d", i%benchObjects) }

func BenchmarkVolumes(b *testing.B) {
	keys := make([]string, benchObjects)
	for i := range keys {
		keys[i] = volumeKey(i)
	}
	fresh := func(i int) *corev1.PersistentVolume { return disk(fmt.Sprintf("new-%09d", i)) }
	measure(b, "create", func(s *store.Store, i int) error { _, err := s.Volumes.Create(fresh(i)); return err })
	measure(b, "update", func(s *store.Store, i int) error {
		old, _ := s.Volumes.Lookup(keys[i%benchObjects])
		v := *old
		v.Spec.ClaimRef = &corev1.ObjectReference{Name: "data", UID: "u", ResourceVersion: old.ResourceVersion}
		_, err := s.Volumes.Update(&v)
		return err
	})
	measure(b, "update-status", func(s *store.Store, i int) error {
		old, _ := s.Volumes.Lookup(keys[i%benchObjects])
		v := *old
		v.Status.Message = old.ResourceVersion
		_, err := s.Volumes.UpdateStatus(&v)
		return err
	})
	measure(b, "update-same", func(s *store.Store, i int) error {
		old, _ := s.Volumes.Lookup(keys[i%benchObjects])
		_, err := s.Volumes.Update(old)
		return err
	})
	measure(b, "patch", func(s *store.Store, i int) error {
		_, err := s.Volumes.Patch(keys[i%benchObjects], []byte(`{"status":{"message":"m`+fmt.Sprint(i)+`"}}`), api.Status)
		return err
	})
	measure(b, "get", func(s *store.Store, i int) error { _, err := s.Volumes.Get(keys[i%benchObjects]); return err })
	measure(b, "key", func(s *store.Store, i int) error {
		if v, _ := s.Volumes.Lookup("disk-000000"); api.KeyOf(v) != "disk-000000" {
			return fmt.Errorf("another key")
		}
		return nil
	})
	measure(b, "list-10000", func(s *store.Store, i int) error {
		if n := len(s.Volumes.List()); n != benchObjects {
			return fmt.Errorf("%d volumes", n)
		}
		return nil
	})
	measure(b, "delete-and-create", func(s *store.Store, i int) error {
		key := keys[i%benchObjects]
		if _, err := s.Volumes.Delete(key, api.DeleteOptions{}); err != nil {
			return err
		}
		if _, err := s.Volumes.Patch(key, []byte(`{"metadata":{"finalizers":null}}`), api.Main); err != nil {
			return err
		}
		_, err := s.Volumes.Create(disk(key))
		return err
	})
}

func BenchmarkClaims(b *testing.B) {
	keys := make([]string, benchObjects)
	for i := range keys {
		keys[i] = claimKey(i)
	}
	measure(b, "create", func(s *store.Store, i int) error {
		_, err := s.Claims.Create(claim(fmt.Sprintf("new-%09d", i)))
		return err
	})
	measure(b, "update", func(s *store.Store, i int) error {
		old, _ := s.Claims.Lookup(keys[i%benchObjects])
		c := *old
		c.Labels = map[string]string{"version": old.ResourceVersion}
		_, err := s.Claims.Update(&c)
		return err
	})
	measure(b, "update-status", func(s *store.Store, i int) error {
		old, _ := s.Claims.Lookup(keys[i%benchObjects])
		c := *old
		c.Status.Phase = corev1.ClaimBound
		if old.Status.Phase == corev1.ClaimBound {
			c.Status.Phase = corev1.ClaimLost
		}
		_, err := s.Claims.UpdateStatus(&c)
		return err
	})
	measure(b, "update-same", func(s *store.Store, i int) error {
		old, _ := s.Claims.Lookup(keys[i%benchObjects])
		_, err := s.Claims.Update(old)
		return err
	})
	measure(b, "get", func(s *store.Store, i int) error { _, err := s.Claims.Get(keys[i%benchObjects]); return err })
	measure(b, "key", func(s *store.Store, i int) error {
		if c, _ := s.Claims.Lookup("default/data-000000"); api.KeyOf(c) != "default/data-000000" {
			return fmt.Errorf("another key")
		}
		return nil
	})
	measure(b, "list-10000", func(s *store.Store, i int) error {
		if n := len(s.Claims.List()); n != benchObjects {
			return fmt.Errorf("%d claims", n)
		}
		return nil
	})
}
