package storage_test

import (
	"errors"
	"fmt"
	"testing"

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
		{"no error", nil, "OK", "<nil>"},
		{"the code OK", storage.Errorf("OK", "fine"), "OK", "<nil>"},
		{"status", status, storage.OutOfRange, "rpc error: code = OutOfRange desc = no disk of 7 bytes"},
		{"wrapped status", fmt.Errorf("create: %w", status), storage.OutOfRange,
			"create: rpc error: code = OutOfRange desc = no disk of 7 bytes"},
		{"any error", errors.New("broken"), storage.Unknown, "broken"},
		{"in use", backends.VolumeInUse("still attached"), storage.Unknown, "still attached"},
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
