package mount

import (
	"errors"
	"fmt"
	"testing"

	"github.com/volsim/volsim/storage"
)

func TestErrorClasses(t *testing.T) {
	for _, tc := range []struct {
		rule string
		err  error
		want errorClass
	}{
		{"MNT-240", rpcError(storage.Stage, storage.Errorf(storage.Canceled, "x")), uncertain},
		{"MNT-240", rpcError(storage.Stage, storage.Errorf(storage.DeadlineExceeded, "x")), uncertain},
		{"MNT-240", rpcError(storage.Publish, storage.Errorf(storage.Unavailable, "x")), uncertain},
		{"MNT-240", rpcError(storage.Publish, storage.Errorf(storage.ResourceExhausted, "x")), uncertain},
		{"MNT-240", rpcError(storage.Publish, storage.Errorf(storage.Aborted, "x")), uncertain},
		{"MNT-240", rpcError(storage.Publish, errors.New("connection refused")), uncertain},
		{"MNT-241", transientError{errors.New("x")}, transient},
		{"MNT-242", rpcError(storage.Stage, storage.Errorf(storage.Internal, "x")), final},
		{"MNT-242", rpcError(storage.Publish, storage.Errorf(storage.InvalidArgument, "x")), final},
		{"MNT-242", fmt.Errorf("wrapped: %w", uncertainError{errors.New("x")}), final},
		{"MNT-242", errors.New("local"), final},
	} {
		if got := classOf(tc.err); got != tc.want {
			t.Errorf("%s: classOf(%v) = %v, want %v", tc.rule, tc.err, got, tc.want)
		}
	}
}

func TestDeviceAfterFailure(t *testing.T) {
	for _, tc := range []struct {
		rule          string
		prior         deviceState
		class         errorClass
		reconstructed bool
		want          deviceState
	}{
		{"MNT-243", deviceNotMounted, final, false, deviceNotMounted},
		{"MNT-243", deviceNotMounted, uncertain, false, deviceUncertain},
		{"MNT-243", deviceNotMounted, transient, false, deviceNotMounted},
		{"MNT-244", deviceUncertain, final, false, deviceNotMounted},
		{"MNT-244", deviceUncertain, final, true, deviceUncertain},
		{"MNT-244", deviceUncertain, uncertain, false, deviceUncertain},
		{"MNT-913", deviceUncertain, transient, false, deviceUncertain},
		{"MNT-245", deviceMounted, final, false, deviceMounted},
		{"MNT-929", deviceUncertain, final, true, deviceUncertain},
	} {
		if got := deviceAfter(tc.prior, tc.class, tc.reconstructed); got != tc.want {
			t.Errorf("%s: deviceAfter(%s, %v, %v) = %s, want %s", tc.rule, tc.prior, tc.class, tc.reconstructed, got, tc.want)
		}
	}
}

func TestPodAfterFailure(t *testing.T) {
	for _, tc := range []struct {
		rule          string
		prior         podState
		class         errorClass
		reconstructed bool
		want          podState
	}{
		{"MNT-246", volumeNotMounted, final, false, volumeNotMounted},
		{"MNT-246", volumeNotMounted, uncertain, false, volumeUncertain},
		{"MNT-246", volumeNotMounted, transient, false, volumeNotMounted},
		{"MNT-247", volumeUncertain, final, false, volumeNotMounted},
		{"MNT-247", volumeUncertain, final, true, volumeUncertain},
		{"MNT-456", volumeUncertain, final, true, volumeUncertain},
		{"MNT-247", volumeUncertain, uncertain, false, volumeUncertain},
		{"MNT-247", volumeUncertain, transient, false, volumeUncertain},
		{"MNT-248", volumeMounted, final, false, volumeMounted},
		{"MNT-248", volumeMounted, uncertain, false, volumeMounted},
		{"MNT-248", volumeMounted, transient, false, volumeMounted},
	} {
		if got := podAfter(tc.prior, tc.class, tc.reconstructed); got != tc.want {
			t.Errorf("%s: podAfter(%s, %v, %v) = %s, want %s", tc.rule, tc.prior, tc.class, tc.reconstructed, got, tc.want)
		}
	}
}
