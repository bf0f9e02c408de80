package store_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/store"
)

// TestTried checks when an object that was tried is validated again: after writes of kinds that admission may read, other than its own.
func TestTried(t *testing.T) {
	for _, tt := range []struct {
		name    string
		between func(s *store.Store) error
		again   bool
	}{
		{"nothing was written", func(*store.Store) error { return nil }, false},
		{"another volume was written", func(s *store.Store) error { _, err := s.Create(fake.Volume("b", "1Gi")); return err }, false},
		{"a claim was written", func(s *store.Store) error { _, err := s.Create(fake.Claim("c", "1Gi")); return err }, false},
		{"a class was written", func(s *store.Store) error { _, err := s.Create(fake.Class("d", "x.example.com")); return err }, true},
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

// TestPrepare: an object that Prepare completed is stored as CreateWith would have stored it, unless something was written that may change it.
func TestPrepare(t *testing.T) {
	s, plain := store.New(store.Config{}), store.New(store.Config{})
	prepared := fake.Claim("a", "1Gi", fake.NoClass())
	tried, err := s.Prepare(prepared)
	if err != nil {
		t.Fatalf("Prepare(a) = %v", err)
	}
	if s.Len() != 0 || !s.Holds(api.PersistentVolumeClaim, tried) {
		t.Fatalf("after Prepare(a): %d objects, holds %v; want 0, true", s.Len(), s.Holds(api.PersistentVolumeClaim, tried))
	}
	got, err := s.CreateWith(prepared, store.CreateOptions{Owned: true, Tried: tried})
	if err != nil {
		t.Fatalf("CreateWith(a) = %v", err)
	}
	want, err := plain.Create(fake.Claim("a", "1Gi", fake.NoClass()))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("CreateWith(prepared) differs from Create (-want +got):\n%s", diff)
	}
	if _, err := s.CreateWith(prepared, store.CreateOptions{Owned: true, Tried: tried}); !apierrors.IsAlreadyExists(err) {
		t.Errorf("CreateWith(a) again = %v, want AlreadyExists", err)
	}
	if _, err := s.Prepare(fake.Claim("a", "1Gi")); !apierrors.IsAlreadyExists(err) {
		t.Errorf("Prepare(a) again = %v, want AlreadyExists", err)
	}
	tried, err = s.Prepare(fake.Claim("b", "1Gi", fake.NoClass()))
	if err != nil {
		t.Fatalf("Prepare(b) = %v", err)
	}
	if _, err := s.Create(fake.Class("fast", "x.example.com")); err != nil {
		t.Fatal(err)
	}
	if s.Holds(api.PersistentVolumeClaim, tried) {
		t.Error("Prepare(b) holds after a class was created, which may be its default")
	}
}
