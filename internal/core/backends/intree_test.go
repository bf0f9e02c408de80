package backends_test

import (
	"errors"
	"testing"

	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/storage"
)

func TestVolumeInUse(t *testing.T) {
	// RECL-027: the controller distinguishes this error from all others, and shows its text.
	for _, tt := range []struct {
		rule, name string
		err        error
		want       bool
	}{
		{"RECL-027", "reported in use", backends.VolumeInUse("still attached"), true},
		{"RECL-027", "the bare error", backends.ErrVolumeInUse, true},
		{"RECL-027", "the same text is not enough", errors.New("volume is in use"), false},
		{"RECL-027", "a CSI driver has a code instead", storage.Errorf(storage.FailedPrecondition, "volume is in use"), false},
	} {
		t.Run(tt.rule+" "+tt.name, func(t *testing.T) {
			if got := errors.Is(tt.err, backends.ErrVolumeInUse); got != tt.want {
				t.Errorf("errors.Is(%v, ErrVolumeInUse) = %t, want %t", tt.err, got, tt.want)
			}
		})
	}
}

func TestHandle(t *testing.T) {
	if got := backends.Handle(fake.Volume("pv1", "1Gi", fake.CSISource("disk.example.com", "h1"))); got != "h1" {
		t.Errorf("Handle of a CSI volume = %q, want h1", got)
	}
	for _, source := range []fake.Option{fake.NFSSource("s", "/same"), fake.HostPathSource("/same")} {
		if got := backends.Handle(fake.Volume("pv1", "1Gi", source)); got != "pv1" {
			t.Errorf("Handle of another volume = %q, want the name of the PersistentVolume", got)
		}
	}
}
