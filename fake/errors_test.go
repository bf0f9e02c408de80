package fake_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/volsim/volsim/storage"
)

var allCodes = []storage.Code{storage.OK, storage.Canceled, storage.Unknown, storage.InvalidArgument, storage.DeadlineExceeded, storage.NotFound,
	storage.AlreadyExists, storage.PermissionDenied, storage.ResourceExhausted, storage.FailedPrecondition, storage.Aborted, storage.OutOfRange,
	storage.Unimplemented, storage.Internal, storage.Unavailable, storage.DataLoss, storage.Unauthenticated}

func TestCodes(t *testing.T) {
	for number, code := range allCodes {
		if got := code.Number(); got != number || !code.Valid() {
			t.Errorf("%s.Number() = %d, Valid() = %t, want %d, true", code, got, code.Valid(), number)
		}
	}
	if code := storage.Code("Broken"); code.Number() != -1 || code.Valid() {
		t.Errorf("Broken.Number() = %d, Valid() = %t, want -1, false", code.Number(), code.Valid())
	}
}

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
		{"panic", &storage.PanicError{Backend: "b", Op: storage.Create, Value: "oh"}, storage.Internal, "backend b: Create panicked: oh"},
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

func TestUnknownOutcome(t *testing.T) {
	plain, panicked := errors.New("connection reset"), error(&storage.PanicError{Value: "oh"})
	five := []storage.Code{storage.Canceled, storage.DeadlineExceeded, storage.Unavailable, storage.ResourceExhausted, storage.Aborted}
	for _, tt := range []struct {
		rule  string
		op    storage.Op
		codes []storage.Code // of unknown outcome
		plain bool           // an error without status is as well
	}{
		{"XPROV-032", storage.Create, []storage.Code{storage.Canceled, storage.DeadlineExceeded, storage.Unavailable, storage.Aborted}, true},
		{"EXP-025", storage.Expand, five, true},
		{"VAC-012", storage.Modify, five, true},
		{"MNT-240", storage.Stage, five, true},
		{"MNT-240", storage.Publish, five, true},
		{"MNT-422", storage.NodeExpand, nil, false},
		{"no rule tells errors apart:", storage.Unpublish, allCodes[1:], true},
		{"no rule tells errors apart:", storage.Unstage, allCodes[1:], true},
		{"no rule tells errors apart:", storage.Delete, allCodes[1:], true},
		{"no rule tells errors apart:", storage.Attach, allCodes[1:], true},
		{"no rule tells errors apart:", storage.Detach, allCodes[1:], true},
	} {
		t.Run(tt.rule+" "+string(tt.op), func(t *testing.T) {
			unknown := map[storage.Code]bool{}
			for _, code := range tt.codes {
				unknown[code] = true
			}
			for _, code := range allCodes {
				if got := storage.UnknownOutcome(tt.op, storage.Errorf(code, "oh")); got != unknown[code] {
					t.Errorf("UnknownOutcome(%s, %s) = %t, want %t", tt.op, code, got, unknown[code])
				}
			}
			if got := storage.UnknownOutcome(tt.op, plain); got != tt.plain {
				t.Errorf("UnknownOutcome(%s, no status) = %t, want %t", tt.op, got, tt.plain)
			}
			if got := storage.UnknownOutcome(tt.op, panicked); got != unknown[storage.Internal] {
				t.Errorf("UnknownOutcome(%s, panic) = %t, want %t as for Internal", tt.op, got, unknown[storage.Internal])
			}
		})
	}
}

func TestInfeasible(t *testing.T) {
	infeasible := map[storage.Code]bool{storage.InvalidArgument: true, storage.OutOfRange: true, storage.NotFound: true}
	for _, code := range allCodes {
		if got := storage.Infeasible(storage.Errorf(code, "oh")); got != infeasible[code] {
			t.Errorf("EXP-025, MNT-416: Infeasible(%s) = %t, want %t", code, got, infeasible[code])
		}
	}
	if storage.Infeasible(errors.New("out of range")) {
		t.Error("EXP-025, MNT-416: an error without status is infeasible")
	}
}
