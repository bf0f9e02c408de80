package backends_test

import (
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/storage"
)

var (
	hostPathSource = &corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/tmp/a"}}
	nfsSource      = &corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{Server: "s", Path: "/"}}
	fcSource       = &corev1.PersistentVolumeSource{FC: &corev1.FCVolumeSource{}}
	csiSource      = &corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "disk.example.com", VolumeHandle: "h"}}
)

func TestPluginLookup(t *testing.T) {
	s := setOf(t, fake.InTree("kubernetes.io/mock-storage"), fake.NFS(), fake.CSI("disk.example.com"))
	stock := setOf(t, fake.HostPath(), fake.NFS())
	crowded := setOf(t, greedy{"z.example.com"}, fake.HostPath(), fake.InTree("kubernetes.io/mock-storage"))
	type result struct {
		b   storage.Backend
		err error
	}
	of := func(b storage.Backend, err error) result { return result{b, err} }
	for _, tt := range []struct {
		rule, name string
		got        result
		want       string // the plugin, or the error
	}{
		{"PROV-024", "provisionable", of(s.ProvisionableByName("kubernetes.io/mock-storage")), "kubernetes.io/mock-storage"},
		{"PROV-024", "no plugin", of(s.ProvisionableByName("kubernetes.io/no-provisioner")),
			"error: no volume plugin matched name: kubernetes.io/no-provisioner"},
		{"PROV-024", "a plugin that cannot provision", of(s.ProvisionableByName("kubernetes.io/nfs")),
			"error: no provisionable volume plugin matched"},
		{"PROV-024", "a CSI driver is no plugin", of(s.ProvisionableByName("disk.example.com")),
			"error: no volume plugin matched name: disk.example.com"},
		{"RECL-030", "deletable by name", of(s.DeletableByName("kubernetes.io/mock-storage")), "kubernetes.io/mock-storage"},
		{"RECL-032", "no plugin", of(s.DeletableByName("kubernetes.io/gone")), "error: no volume plugin matched name: kubernetes.io/gone"},
		{"RECL-032", "a plugin that cannot delete", of(s.DeletableByName("kubernetes.io/nfs")), "error: no deletable volume plugin matched"},
		{"RECL-035", "deletable by source", of(s.DeletableBySource(hostPathSource)), "kubernetes.io/mock-storage"},
		{"RECL-035", "no plugin for the source", of(s.DeletableBySource(fcSource)), "error: no volume plugin matched"},
		{"RECL-035", "a CSI source", of(s.DeletableBySource(csiSource)), "error: no volume plugin matched"},
		{"RECL-035", "no source", of(s.DeletableBySource(nil)), "error: no volume plugin matched"},
		{"RECL-035", "a plugin that cannot delete", of(s.DeletableBySource(nfsSource)), "error: no deletable volume plugin matched"},
		{"RECL-035", "two plugins", of(crowded.DeletableBySource(hostPathSource)),
			"error: multiple volume plugins matched: kubernetes.io/host-path,kubernetes.io/mock-storage,z.example.com"},
		{"RECL-035", "a plugin that panics", of(crowded.DeletableBySource(csiSource)),
			"error: backend z.example.com: Supports panicked: cannot read this"},
		{"RECL-036", "hostPath can delete", of(stock.DeletableBySource(hostPathSource)), "kubernetes.io/host-path"},
		{"RECL-036", "NFS is registered but cannot delete", of(stock.DeletableBySource(nfsSource)), "error: no deletable volume plugin matched"},
		{"RECL-036", "others are not registered", of(stock.DeletableBySource(fcSource)), "error: no volume plugin matched"},
		{"RECL-064", "hostPath recycles", of(stock.RecyclableBySource(hostPathSource)), "kubernetes.io/host-path"},
		{"RECL-064", "NFS recycles", of(stock.RecyclableBySource(nfsSource)), "kubernetes.io/nfs"},
		{"RECL-064", "no plugin recycles CSI volumes", of(stock.RecyclableBySource(csiSource)), "error: no volume plugin matched"},
		{"RECL-064", "a plugin that cannot recycle", of(setOf(t, fake.NFS(fake.Without(storage.Recycle))).RecyclableBySource(nfsSource)),
			"error: no recyclable volume plugin matched"},
	} {
		t.Run(tt.rule+" "+tt.name, func(t *testing.T) {
			var got string
			if tt.got.err != nil {
				got = fmt.Sprintf("error: %v", tt.got.err)
			} else {
				got = tt.got.b.Name()
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	expandable := setOf(t, fake.InTree("kubernetes.io/grows", fake.Only(storage.Expand)), fake.FlexVolume("example.com/flex"), fake.NFS())
	flexSource := &corev1.PersistentVolumeSource{FlexVolume: &corev1.FlexPersistentVolumeSource{Driver: "example.com/flex"}}
	if b, err := expandable.BySource(flexSource); err != nil || b.Name() != "example.com/flex" {
		t.Errorf("BySource(%v) = %v, %v, want the plugin", flexSource, b, err)
	}
	if b, err := expandable.ExpandableBySource(hostPathSource); err != nil || b == nil || b.Name() != "kubernetes.io/grows" {
		t.Errorf("EXP-014: ExpandableBySource(%v) = %v, %v, want the plugin", hostPathSource, b, err)
	}
	for _, source := range []*corev1.PersistentVolumeSource{nfsSource, csiSource, flexSource,
		{FlexVolume: &corev1.FlexPersistentVolumeSource{Driver: "example.com/other"}}} {
		if b, err := expandable.ExpandableBySource(source); b != nil || err != nil {
			t.Errorf("EXP-014: ExpandableBySource(%v) = %v, %v, want none", source, b, err)
		}
	}
	if b, err := crowded.ExpandableBySource(hostPathSource); b != nil || err == nil {
		t.Errorf("EXP-014: ExpandableBySource(%v) of several plugins = %v, %v, want an error", hostPathSource, b, err)
	}
	if _, err := s.BySource(fcSource); !errors.Is(err, backends.ErrNoPluginMatched) {
		t.Errorf("BySource = %v, want ErrNoPluginMatched", err)
	}
}

func TestMountOptions(t *testing.T) {
	for _, tt := range []struct {
		rule, name string
		b          storage.Backend
		want       bool
	}{
		{"PROV-043", "a plugin without support", fake.HostPath(), false},
		{"PROV-043", "a plugin with support", fake.NFS(), true},
		{"PROV-043", "a plugin without capabilities", named("kubernetes.io/quiet"), false},
		{"PROV-043", "a CSI driver", fake.CSI("disk.example.com"), true},
	} {
		t.Run(tt.rule+" "+tt.name, func(t *testing.T) {
			if got := backends.TakesMountOptions(tt.b); got != tt.want {
				t.Errorf("TakesMountOptions(%s) = %t, want %t", tt.b.Name(), got, tt.want)
			}
		})
	}
}
