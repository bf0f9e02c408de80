package klog

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func start() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC) }

// TestLines compares lines with those that k8s.io/klog v2.140 writes for the same calls.
func TestLines(t *testing.T) {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data"}}
	pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv1"}}
	tests := []struct {
		name  string
		write func(*Logger)
		want  string
	}{
		{"objects", func(l *Logger) { l.Info(2, "Bound", Object("PVC", claim), Object("PV", pv)) },
			`I0102 03:04:05.000006       1 pv.go:0] "Bound" logger="binder" PVC="default/data" PV="pv1"`},
		{"quotes", func(l *Logger) { l.Info(2, "a", String("key", `a "b"`)) }, `I0102 03:04:05.000006       1 pv.go:0] "a" logger="binder" key="a \"b\""`},
		{"several lines", func(l *Logger) { l.Info(2, "a", String("key", "x\ny\n"), Duration("d", time.Second)) },
			"I0102 03:04:05.000006       1 pv.go:0] \"a\" logger=\"binder\" key=<\n\tx\n\ty\n > d=\"1s\""},
		{"an error", func(l *Logger) { l.Error(errors.New("full"), "a", JSON("list", []string{"x"})) },
			`E0102 03:04:05.000006       1 pv.go:0] "a" err="full" logger="binder" list=["x"]`},
		{"no error", func(l *Logger) { l.Error(nil, "a", Err(nil)) }, `E0102 03:04:05.000006       1 pv.go:0] "a" logger="binder"`},
		{"a higher level", func(l *Logger) { l.Info(5, "a") }, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var out strings.Builder
			test.write(New(&Config{Out: &out, V: 4}, start).Logger("pv", "binder"))
			require.Equal(t, test.want, strings.TrimSuffix(out.String(), "\n"))
		})
	}
}

func TestModules(t *testing.T) {
	modules, err := ParseModules("pv_controller*=5,reconciler=2")
	require.NoError(t, err)
	log := New(&Config{Out: &strings.Builder{}, V: 1, Modules: modules}, start)
	require.True(t, log.Enabled(5))
	require.False(t, log.Enabled(6))
	require.True(t, log.Logger("pv_controller_base", "").Enabled(5))
	require.False(t, log.Logger("reconciler", "").Enabled(3))
	require.True(t, log.Logger("event", "").Enabled(1))
	require.False(t, log.Logger("event", "").Enabled(2))
	for _, text := range []string{"pv", "pv=x", "=2", "[=1", "a=-1"} {
		_, err := ParseModules(text)
		require.Error(t, err, text)
	}
}

// TestNoLog proves that a call without a log allocates nothing.
func TestNoLog(t *testing.T) {
	var none *Log
	log := none.Logger("pv", "")
	claim := &corev1.PersistentVolumeClaim{}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		log.Info(4, "Bound", Object("PVC", claim), String("phase", claim.Status.Phase), String("name", claim.Name))
	}))
	require.NoError(t, none.Err())
}
