package trace

import "testing"

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
