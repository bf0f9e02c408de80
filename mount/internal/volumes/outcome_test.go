package volumes

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
		want ErrorClass
	}{
		{"MNT-240", ClassifyRPC(storage.Stage, storage.Errorf(storage.Canceled, "x")), Uncertain},
		{"MNT-240", ClassifyRPC(storage.Stage, storage.Errorf(storage.DeadlineExceeded, "x")), Uncertain},
		{"MNT-240", ClassifyRPC(storage.Publish, storage.Errorf(storage.Unavailable, "x")), Uncertain},
		{"MNT-240", ClassifyRPC(storage.Publish, storage.Errorf(storage.ResourceExhausted, "x")), Uncertain},
		{"MNT-240", ClassifyRPC(storage.Publish, storage.Errorf(storage.Aborted, "x")), Uncertain},
		{"MNT-240", ClassifyRPC(storage.Publish, errors.New("connection refused")), Uncertain},
		{"MNT-241", TransientError{errors.New("x")}, Transient},
		{"MNT-242", ClassifyRPC(storage.Stage, storage.Errorf(storage.Internal, "x")), Final},
		{"MNT-242", ClassifyRPC(storage.Publish, storage.Errorf(storage.InvalidArgument, "x")), Final},
		{"MNT-242", fmt.Errorf("wrapped: %w", UncertainError{errors.New("x")}), Final},
		{"MNT-242", errors.New("local"), Final},
	} {
		if got := ClassOf(tc.err); got != tc.want {
			t.Errorf("%s: classOf(%v) = %v, want %v", tc.rule, tc.err, got, tc.want)
		}
	}
}

func TestDeviceAfterFailure(t *testing.T) {
	for _, tc := range []struct {
		rule          string
		prior         DeviceState
		class         ErrorClass
		reconstructed bool
		want          DeviceState
	}{
		{"MNT-243", DeviceNotMounted, Final, false, DeviceNotMounted},
		{"MNT-243", DeviceNotMounted, Uncertain, false, DeviceUncertain},
		{"MNT-243", DeviceNotMounted, Transient, false, DeviceNotMounted},
		{"MNT-244", DeviceUncertain, Final, false, DeviceNotMounted},
		{"MNT-244", DeviceUncertain, Final, true, DeviceUncertain},
		{"MNT-244", DeviceUncertain, Uncertain, false, DeviceUncertain},
		{"MNT-913", DeviceUncertain, Transient, false, DeviceUncertain},
		{"MNT-245", DeviceMounted, Final, false, DeviceMounted},
		{"MNT-929", DeviceUncertain, Final, true, DeviceUncertain},
	} {
		if got := DeviceAfterFailure(tc.prior, tc.class, tc.reconstructed); got != tc.want {
			t.Errorf("%s: deviceAfter(%s, %v, %v) = %s, want %s", tc.rule, tc.prior, tc.class, tc.reconstructed, got, tc.want)
		}
	}
}

func TestPodAfterFailure(t *testing.T) {
	for _, tc := range []struct {
		rule          string
		prior         PodState
		class         ErrorClass
		reconstructed bool
		want          PodState
	}{
		{"MNT-246", NotMounted, Final, false, NotMounted},
		{"MNT-246", NotMounted, Uncertain, false, MountUncertain},
		{"MNT-246", NotMounted, Transient, false, NotMounted},
		{"MNT-247", MountUncertain, Final, false, NotMounted},
		{"MNT-247", MountUncertain, Final, true, MountUncertain},
		{"MNT-456", MountUncertain, Final, true, MountUncertain},
		{"MNT-247", MountUncertain, Uncertain, false, MountUncertain},
		{"MNT-247", MountUncertain, Transient, false, MountUncertain},
		{"MNT-248", Mounted, Final, false, Mounted},
		{"MNT-248", Mounted, Uncertain, false, Mounted},
		{"MNT-248", Mounted, Transient, false, Mounted},
	} {
		if got := PodAfterFailure(tc.prior, tc.class, tc.reconstructed); got != tc.want {
			t.Errorf("%s: podAfter(%s, %v, %v) = %s, want %s", tc.rule, tc.prior, tc.class, tc.reconstructed, got, tc.want)
		}
	}
}
