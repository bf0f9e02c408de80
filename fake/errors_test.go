package fake_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/volsim/volsim/fake"
)

var allCodes = []fake.Code{fake.OK, fake.Canceled, fake.Unknown, fake.InvalidArgument, fake.DeadlineExceeded, fake.NotFound,
	fake.AlreadyExists, fake.PermissionDenied, fake.ResourceExhausted, fake.FailedPrecondition, fake.Aborted, fake.OutOfRange,
	fake.Unimplemented, fake.Internal, fake.Unavailable, fake.DataLoss, fake.Unauthenticated}

func TestCodes(t *testing.T) {
	for number, code := range allCodes {
		if got := code.Number(); got != number || !code.Valid() {
			t.Errorf("%s.Number() = %d, Valid() = %t, want %d, true", code, got, code.Valid(), number)
		}
	}
	if code := fake.Code("Broken"); code.Number() != -1 || code.Valid() {
		t.Errorf("Broken.Number() = %d, Valid() = %t, want -1, false", code.Number(), code.Valid())
	}
}

func TestCodeOf(t *testing.T) {
	status := fake.Errorf(fake.OutOfRange, "no disk of %d bytes", 7)
	for _, tt := range []struct {
		name string
		err  error
		want fake.Code
		text string
	}{
		{"no error", nil, fake.OK, "<nil>"},
		{"OK is no error", fake.Errorf(fake.OK, "fine"), fake.OK, "<nil>"},
		{"status", status, fake.OutOfRange, "rpc error: code = OutOfRange desc = no disk of 7 bytes"},
		{"wrapped status", fmt.Errorf("create: %w", status), fake.OutOfRange, "create: rpc error: code = OutOfRange desc = no disk of 7 bytes"},
		{"any error", errors.New("broken"), fake.Unknown, "broken"},
		{"in use", fake.VolumeInUse("still attached"), fake.Unknown, "still attached"},
		{"panic", &fake.PanicError{Backend: "b", Op: fake.Create, Value: "oh"}, fake.Internal, "backend b: Create panicked: oh"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := fake.CodeOf(tt.err); got != tt.want {
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
		{"RECL-027", "reported in use", fake.VolumeInUse("still attached"), true},
		{"RECL-027", "the bare error", fake.ErrVolumeInUse, true},
		{"RECL-027", "the same text is not enough", errors.New("volume is in use"), false},
		{"RECL-027", "a CSI driver's refusal is another thing", fake.Errorf(fake.FailedPrecondition, "volume is in use"), false},
	} {
		t.Run(tt.rule+" "+tt.name, func(t *testing.T) {
			if got := errors.Is(tt.err, fake.ErrVolumeInUse); got != tt.want {
				t.Errorf("errors.Is(%v, ErrVolumeInUse) = %t, want %t", tt.err, got, tt.want)
			}
		})
	}
}

func TestUnknownOutcome(t *testing.T) {
	plain, panicked := errors.New("connection reset"), error(&fake.PanicError{Value: "oh"})
	five := []fake.Code{fake.Canceled, fake.DeadlineExceeded, fake.Unavailable, fake.ResourceExhausted, fake.Aborted}
	for _, tt := range []struct {
		rule  string
		op    fake.Op
		codes []fake.Code // of unknown outcome
		plain bool        // an error without status is as well
	}{
		{"XPROV-032", fake.Create, []fake.Code{fake.Canceled, fake.DeadlineExceeded, fake.Unavailable, fake.Aborted}, true},
		{"EXP-025", fake.Expand, five, true},
		{"VAC-012", fake.Modify, five, true},
		{"MNT-240", fake.Stage, five, true},
		{"MNT-240", fake.Publish, five, true},
		{"MNT-422", fake.NodeExpand, nil, false},
		{"no rule tells errors apart:", fake.Unpublish, allCodes[1:], true},
		{"no rule tells errors apart:", fake.Unstage, allCodes[1:], true},
		{"no rule tells errors apart:", fake.Delete, allCodes[1:], true},
		{"no rule tells errors apart:", fake.Attach, allCodes[1:], true},
		{"no rule tells errors apart:", fake.Detach, allCodes[1:], true},
	} {
		t.Run(tt.rule+" "+string(tt.op), func(t *testing.T) {
			unknown := map[fake.Code]bool{}
			for _, code := range tt.codes {
				unknown[code] = true
			}
			for _, code := range allCodes {
				if got := fake.UnknownOutcome(tt.op, fake.Errorf(code, "oh")); got != unknown[code] {
					t.Errorf("UnknownOutcome(%s, %s) = %t, want %t", tt.op, code, got, unknown[code])
				}
			}
			if got := fake.UnknownOutcome(tt.op, plain); got != tt.plain {
				t.Errorf("UnknownOutcome(%s, no status) = %t, want %t", tt.op, got, tt.plain)
			}
			if got := fake.UnknownOutcome(tt.op, panicked); got != unknown[fake.Internal] {
				t.Errorf("UnknownOutcome(%s, panic) = %t, want %t as for Internal", tt.op, got, unknown[fake.Internal])
			}
		})
	}
}

func TestInfeasible(t *testing.T) {
	infeasible := map[fake.Code]bool{fake.InvalidArgument: true, fake.OutOfRange: true, fake.NotFound: true}
	for _, code := range allCodes {
		if got := fake.Infeasible(fake.Errorf(code, "oh")); got != infeasible[code] {
			t.Errorf("EXP-025, MNT-416: Infeasible(%s) = %t, want %t", code, got, infeasible[code])
		}
	}
	if fake.Infeasible(errors.New("out of range")) {
		t.Error("EXP-025, MNT-416: an error without status is infeasible")
	}
}
