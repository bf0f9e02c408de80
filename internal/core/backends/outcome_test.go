package backends_test

import (
	"errors"
	"testing"

	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/storage"
)

var allCodes = []storage.Code{"OK", storage.Canceled, storage.Unknown, storage.InvalidArgument, storage.DeadlineExceeded, storage.NotFound,
	storage.AlreadyExists, "PermissionDenied", storage.ResourceExhausted, storage.FailedPrecondition, storage.Aborted, storage.OutOfRange,
	storage.Unimplemented, storage.Internal, storage.Unavailable, "DataLoss", "Unauthenticated"}

func TestCodes(t *testing.T) {
	for number, code := range allCodes {
		if got := backends.CodeNumber(code); got != number {
			t.Errorf("CodeNumber(%s) = %d, want %d", code, got, number)
		}
	}
	if got := backends.CodeNumber("Broken"); got != -1 {
		t.Errorf("CodeNumber(Broken) = %d, want -1", got)
	}
}

func TestUnknownOutcome(t *testing.T) {
	plain, panicked := errors.New("connection reset"), error(&backends.PanicError{Value: "oh"})
	five := []storage.Code{storage.Canceled, storage.DeadlineExceeded, storage.Unavailable, storage.ResourceExhausted, storage.Aborted}
	for _, tt := range []struct {
		rule  string
		op    storage.Op
		codes []storage.Code // of unknown outcome
		plain bool           // an error without a code is, too
	}{
		{"XPROV-032", storage.Create, []storage.Code{storage.Canceled, storage.DeadlineExceeded, storage.Unavailable, storage.Aborted}, true},
		{"EXP-025", storage.Expand, five, true},
		{"VAC-012", storage.Modify, five, true},
		{"MNT-240", storage.Stage, five, true},
		{"MNT-240", storage.Publish, five, true},
		{"MNT-422", storage.NodeExpand, nil, false},
		{"no rule distinguishes errors:", storage.Unpublish, allCodes[1:], true},
		{"no rule distinguishes errors:", storage.Unstage, allCodes[1:], true},
		{"no rule distinguishes errors:", storage.Delete, allCodes[1:], true},
		{"no rule distinguishes errors:", storage.Attach, allCodes[1:], true},
		{"no rule distinguishes errors:", storage.Detach, allCodes[1:], true},
	} {
		t.Run(tt.rule+" "+string(tt.op), func(t *testing.T) {
			unknown := map[storage.Code]bool{}
			for _, code := range tt.codes {
				unknown[code] = true
			}
			for _, code := range allCodes {
				if got := backends.UnknownOutcome(tt.op, storage.Errorf(code, "oh")); got != unknown[code] {
					t.Errorf("UnknownOutcome(%s, %s) = %t, want %t", tt.op, code, got, unknown[code])
				}
			}
			if got := backends.UnknownOutcome(tt.op, plain); got != tt.plain {
				t.Errorf("UnknownOutcome(%s, no code) = %t, want %t", tt.op, got, tt.plain)
			}
			if got := backends.UnknownOutcome(tt.op, panicked); got != unknown[storage.Internal] {
				t.Errorf("UnknownOutcome(%s, panic) = %t, want %t as for Internal", tt.op, got, unknown[storage.Internal])
			}
		})
	}
}

func TestInfeasible(t *testing.T) {
	infeasible := map[storage.Code]bool{storage.InvalidArgument: true, storage.OutOfRange: true, storage.NotFound: true}
	for _, code := range allCodes {
		if got := backends.Infeasible(storage.Errorf(code, "oh")); got != infeasible[code] {
			t.Errorf("EXP-025, MNT-416: Infeasible(%s) = %t, want %t", code, got, infeasible[code])
		}
	}
	if backends.Infeasible(errors.New("out of range")) {
		t.Error("EXP-025, MNT-416: an error without a code is infeasible")
	}
}
