package trace

import (
	"testing"

	"github.com/volsim/volsim/api"
)

func TestNamed(t *testing.T) {
	pv := api.Ref{Kind: api.PersistentVolume, Key: "pv1"}
	tests := []struct {
		ref        api.Ref
		text, want string
	}{
		{pv, "synchronizing PersistentVolume: volume is unused", "synchronizing PersistentVolume[pv1]: volume is unused"},
		{pv, "synchronizing PersistentVolume", "synchronizing PersistentVolume[pv1]"},
		{pv, "PersistentVolume[pv1] has it already", "PersistentVolume[pv1]: PersistentVolume[pv1] has it already"},
		{pv, "waits for the PersistentVolumeClaim", "PersistentVolume[pv1]: waits for the PersistentVolumeClaim"},
		{pv, "nothing to do", "PersistentVolume[pv1]: nothing to do"},
		{api.Ref{Kind: api.PersistentVolumeClaim, Key: "shop/data"}, "synchronizing bound PersistentVolumeClaim: all is well",
			"synchronizing bound PersistentVolumeClaim[shop/data]: all is well"},
		{api.Ref{}, "PersistentVolume of nobody", "PersistentVolume of nobody"},
	}
	for _, test := range tests {
		if got := named(test.ref, test.text); got != test.want {
			t.Errorf("named(%s, %q) = %q, want %q", test.ref, test.text, got, test.want)
		}
	}
}

func TestLogFile(t *testing.T) {
	tests := []struct{ actor, want string }{
		{"persistentvolume-controller", "pv_controller.go"},
		{"kubelet/node-1", "reconciler.go"},
		{"external-attacher csi.test", "controller.go"},
		{"my-operator", "my_operator.go"},
		{"pvc-protection-controller", "pvc_protection_controller.go"},
	}
	for _, test := range tests {
		if got := logFile(test.actor); got != test.want {
			t.Errorf("logFile(%s) = %s, want %s", test.actor, got, test.want)
		}
	}
}
