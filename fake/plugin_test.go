package fake_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/storage"
)

func TestHostPath(t *testing.T) {
	atPath := func(path string) *corev1.PersistentVolumeSource {
		return &corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: path}}
	}
	const rejected = "host_path deleter only supports /tmp/.+ but received provided "
	for _, tt := range []struct {
		rule, name string
		source     *corev1.PersistentVolumeSource
		want       string
	}{
		{"RECL-036", "below /tmp/", atPath("/tmp/data"), ""},
		{"RECL-036", "below another /tmp/", atPath("/mnt/tmp/data"), ""},
		{"RECL-036", "/tmp/ itself", atPath("/tmp/"), rejected + "/tmp/"},
		{"RECL-036", "elsewhere", atPath("/data"), rejected + "/data"},
		{"RECL-036", "no path", nil, rejected},
	} {
		t.Run(tt.rule+" "+tt.name, func(t *testing.T) {
			p := fake.HostPath()
			err := p.Delete(storage.DeleteRequest{ID: "pv1", Source: tt.source})
			if got := fmt.Sprint(err); got != tt.want && (err != nil || tt.want != "") {
				t.Errorf("Delete(%v) = %q, want %q", tt.source, got, tt.want)
			}
			if deleted := len(p.Deleted()) == 1; deleted != (tt.want == "") {
				t.Errorf("deleted: %t", deleted)
			}
		})
	}
	const disabled = `provisioning in volume plugin "kubernetes.io/host-path" is disabled`
	if _, err := fake.HostPath().Create(storage.CreateRequest{Name: "a"}); err == nil || err.Error() != disabled {
		t.Errorf("Create = %v, want %s", err, disabled)
	}
	if err := backends.PrepareCreate(fake.HostPath(), storage.CreateRequest{Name: "a"}); err == nil || err.Error() != disabled {
		t.Errorf("PrepareCreate = %v, want %s", err, disabled)
	}
	for _, b := range []storage.Backend{fake.InTree("kubernetes.io/a"), fake.CSI("disk.example.com")} {
		if err := backends.PrepareCreate(b, storage.CreateRequest{Name: "a"}); err != nil {
			t.Errorf("PrepareCreate of %s = %v, want nil", b.Name(), err)
		}
	}
}
