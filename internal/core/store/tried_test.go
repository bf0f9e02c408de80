package store_test

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/store"
)

// TestTried checks when an object that was tried is validated again: after writes of other kinds, not after those of its own.
func TestTried(t *testing.T) {
	for _, tt := range []struct {
		name    string
		between func(s *store.Store) error
		again   bool
	}{
		{"nothing was written", func(*store.Store) error { return nil }, false},
		{"another volume was written", func(s *store.Store) error { _, err := s.Create(fake.Volume("b", "1Gi")); return err }, false},
		{"a claim was written", func(s *store.Store) error { _, err := s.Create(fake.Claim("c", "1Gi")); return err }, true},
	} {
		s := store.New(store.Config{})
		volume := fake.Volume("a", "1Gi")
		tried, err := s.Try(volume)
		if err != nil {
			t.Fatalf("%s: Try(a) = %v", tt.name, err)
		}
		if _, found := s.Volumes.Lookup("a"); found {
			t.Errorf("%s: Try stored the volume", tt.name)
		}
		if err := tt.between(s); err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		volume.Spec.Capacity = nil // only a validation notices it
		if _, err := s.CreateWith(volume, store.CreateOptions{Tried: tried}); apierrors.IsInvalid(err) != tt.again {
			t.Errorf("%s: CreateWith(a) = %v, want a second validation %v", tt.name, err, tt.again)
		}
	}
}
