package volumes

import "testing"

func TestPlanMount(t *testing.T) {
	for _, tc := range []struct {
		rule, name string
		volume     PodVolume
		want       Step
	}{
		{"MNT-134", "not attached", PodVolume{Desired: true}, VerifyAttached},
		{"MNT-134", "attached", PodVolume{Desired: true, Attached: true}, MountForPod},
		{"MNT-134", "attached block volume", PodVolume{Desired: true, Attached: true, Block: true}, MapForPod},
		{"MNT-108", "uncertain", PodVolume{Desired: true, Attached: true, State: MountUncertain, Remount: true}, MountForPod},
		{"MNT-108", "mounted", PodVolume{Desired: true, Attached: true, State: Mounted}, ""},
		{"MNT-108", "to be remounted", PodVolume{Desired: true, Attached: true, State: Mounted, Remount: true}, MountForPod},
		{"MNT-133", "blocked by an operation", PodVolume{Desired: true, Attached: true, Busy: true}, Wait},
		{"MNT-133", "mounted, operation running", PodVolume{Desired: true, Attached: true, State: Mounted, Busy: true}, ""},
		{"MNT-133", "not desired", PodVolume{Attached: true}, ""},
	} {
		if got := PlanMount(tc.volume); got != tc.want {
			t.Errorf("%s %s: PlanMount(%+v) = %q, want %q", tc.rule, tc.name, tc.volume, got, tc.want)
		}
	}
}

func TestPlanUnmount(t *testing.T) {
	for _, tc := range []struct {
		rule, name string
		volume     PodVolume
		want       Step
	}{
		{"MNT-132", "desired", PodVolume{Desired: true, Attached: true, State: Mounted}, ""},
		{"MNT-132", "no longer desired", PodVolume{Attached: true, State: Mounted}, UnmountFromPod},
		{"MNT-132", "block volume", PodVolume{Attached: true, State: Mounted, Block: true}, UnmapFromPod},
		{"MNT-132", "uncertain", PodVolume{Attached: true, State: MountUncertain}, UnmountFromPod},
		{"MNT-132", "not mounted", PodVolume{Attached: true, State: NotMounted}, ""},
		{"MNT-132", "blocked by an operation", PodVolume{Attached: true, State: Mounted, Busy: true}, Wait},
	} {
		if got := PlanUnmount(tc.volume); got != tc.want {
			t.Errorf("%s %s: PlanUnmount(%+v) = %q, want %q", tc.rule, tc.name, tc.volume, got, tc.want)
		}
	}
}

func TestPlanExpansion(t *testing.T) {
	for _, tc := range []struct {
		rule, name string
		usage      Usage
		want       Step
	}{
		{"MNT-405", "larger than the node knows", Usage{DesiredSize: 2, ActualSize: 1, Expandable: true}, Expand},
		{"MNT-405", "same size", Usage{DesiredSize: 1, ActualSize: 1, Expandable: true}, ""},
		{"MNT-405", "actual size unknown", Usage{DesiredSize: 2, Expandable: true}, ""},
		{"MNT-405", "desired size unknown", Usage{ActualSize: 1, Expandable: true}, ""},
		{"MNT-405", "plugin cannot expand", Usage{DesiredSize: 2, ActualSize: 1}, ""},
		{"MNT-419", "driver refuses while in use", Usage{DesiredSize: 2, ActualSize: 1, Expandable: true, RefusesInUse: true}, ""},
		{"MNT-133", "operation running", Usage{DesiredSize: 2, ActualSize: 1, Expandable: true, Busy: true}, ""},
	} {
		if got := PlanExpansion(tc.usage); got != tc.want {
			t.Errorf("%s %s: PlanExpansion(%+v) = %q, want %q", tc.rule, tc.name, tc.usage, got, tc.want)
		}
	}
}

func TestPlanDevice(t *testing.T) {
	for _, tc := range []struct {
		rule, name string
		device     Device
		want       Step
	}{
		{"MNT-135", "desired", Device{Desired: true, State: DeviceMounted}, ""},
		{"MNT-135", "a pod may have it", Device{Pods: 1, State: DeviceMounted}, ""},
		{"MNT-135", "mounted", Device{State: DeviceMounted}, UnmountDevice},
		{"MNT-135", "uncertain", Device{State: DeviceUncertain}, UnmountDevice},
		{"MNT-135", "block volume", Device{State: DeviceMounted, Block: true}, UnmapDevice},
		{"MNT-135", "operation running", Device{State: DeviceMounted, Busy: true}, Wait},
		{"MNT-139", "not mounted", Device{State: DeviceNotMounted}, Forget},
	} {
		if got := PlanDevice(tc.device); got != tc.want {
			t.Errorf("%s %s: PlanDevice(%+v) = %q, want %q", tc.rule, tc.name, tc.device, got, tc.want)
		}
	}
}
