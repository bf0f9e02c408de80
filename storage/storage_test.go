package storage_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/storage"
)

func TestCodeOf(t *testing.T) {
	status := storage.Errorf(storage.OutOfRange, "no disk of %d bytes", 7)
	for _, tt := range []struct {
		name string
		err  error
		want storage.Code
		text string
	}{
		{"no error", nil, storage.OK, "<nil>"},
		{"OK is no error", storage.Errorf(storage.OK, "fine"), storage.OK, "<nil>"},
		{"status", status, storage.OutOfRange, "rpc error: code = OutOfRange desc = no disk of 7 bytes"},
		{"wrapped status", fmt.Errorf("create: %w", status), storage.OutOfRange, "create: rpc error: code = OutOfRange desc = no disk of 7 bytes"},
		{"any error", errors.New("broken"), storage.Unknown, "broken"},
		{"in use", storage.VolumeInUse("still attached"), storage.Unknown, "still attached"},
		{"panic", &backends.PanicError{Backend: "b", Op: storage.Create, Value: "oh"}, storage.Internal, "backend b: Create panicked: oh"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := storage.CodeOf(tt.err); got != tt.want {
				t.Errorf("CodeOf(%v) = %s, want %s", tt.err, got, tt.want)
			}
			if got := fmt.Sprint(tt.err); got != tt.text {
				t.Errorf("text = %q, want %q", got, tt.text)
			}
		})
	}
}

func TestVolumeInUse(t *testing.T) {
	// RECL-027: the controller must tell it from any other error, and shows its text.
	for _, tt := range []struct {
		rule, name string
		err        error
		want       bool
	}{
		{"RECL-027", "reported in use", storage.VolumeInUse("still attached"), true},
		{"RECL-027", "the bare error", storage.ErrVolumeInUse, true},
		{"RECL-027", "the same text is not enough", errors.New("volume is in use"), false},
		{"RECL-027", "a CSI driver's refusal is another thing", storage.Errorf(storage.FailedPrecondition, "volume is in use"), false},
	} {
		t.Run(tt.rule+" "+tt.name, func(t *testing.T) {
			if got := errors.Is(tt.err, storage.ErrVolumeInUse); got != tt.want {
				t.Errorf("errors.Is(%v, ErrVolumeInUse) = %t, want %t", tt.err, got, tt.want)
			}
		})
	}
}

func TestHandle(t *testing.T) {
	if got := storage.Handle(fake.Volume("pv1", "1Gi", fake.CSISource("disk.example.com", "h1"))); got != "h1" {
		t.Errorf("Handle of a CSI volume = %q, want h1", got)
	}
	for _, source := range []fake.Option{fake.NFSSource("s", "/same"), fake.HostPathSource("/same")} {
		if got := storage.Handle(fake.Volume("pv1", "1Gi", source)); got != "pv1" {
			t.Errorf("Handle of another volume = %q, want the name of the PersistentVolume", got)
		}
	}
}
