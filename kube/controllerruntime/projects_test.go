package controllerruntime_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/kube"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/volsimtest"
)

// The tests of this file are those of docs/operators.md: what tests of real projects do by hand. That of karpenter is in package envtest.

// TestResizer: a claim grows.
func TestResizer(t *testing.T) {
	c := volsimtest.New(t, volsim.Config{Backends: []storage.Backend{fake.CSI("disk.example.com")}})
	c.Create(fake.Class("fast", "disk.example.com", fake.Expandable()), fake.Claim("data", "1Gi", fake.InClass("fast")))
	c.Settle()
	claim := c.Claim("data")
	claim.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("2Gi")
	c.Update(claim)
	c.Settle()
	require.Equal(t, "2Gi", c.Volume(claim.Spec.VolumeName).Spec.Capacity.Storage().String())
}

// TestProvisioner: a claim is provisioned.
func TestProvisioner(t *testing.T) {
	c := volsimtest.New(t, volsim.Config{Backends: []storage.Backend{fake.CSI("disk.example.com")}})
	c.Create(fake.Class("fast", "disk.example.com"), fake.Claim("data", "1Gi", fake.InClass("fast")))
	c.Settle()
	claim := c.Claim("data")
	require.Equal(t, corev1.ClaimBound, claim.Status.Phase)
	require.Equal(t, "disk.example.com", claim.Annotations["volume.kubernetes.io/storage-provisioner"])
	require.Equal(t, "disk.example.com", c.Volume(claim.Spec.VolumeName).Spec.CSI.Driver)
}

// TestAttacher: the request that reports the attachment fails once.
func TestAttacher(t *testing.T) {
	c := volsimtest.New(t, volsim.Config{Backends: []storage.Backend{fake.CSI("disk.example.com")}})
	fault := c.Faults.Fail(fake.Match{Kind: "VolumeAttachment", Verb: "patch-status"}, errors.New("mock error")).Once()
	c.Create(fake.Node("n1"), fake.Class("fast", "disk.example.com"), fake.Claim("data", "1Gi", fake.InClass("fast")), fake.Pod("web", fake.Claims("data")))
	c.Settle()
	require.True(t, volsim.List[*storagev1.VolumeAttachment](c.Cluster)[0].Status.Attached)
	require.Equal(t, 1, fault.Fired())
}

// TestBackup: a claim is deleted while a pod uses it.
func TestBackup(t *testing.T) {
	ctx := t.Context()
	c := volsimtest.New(t)
	claims := kube.Clientset(c.Cluster).CoreV1().PersistentVolumeClaims("default")
	c.Create(fake.Node("n1"), fake.Volume("v", "1Gi"), fake.Claim("data", "1Gi"), fake.Pod("web", fake.Claims("data")))
	c.Settle()
	require.NoError(t, claims.Delete(ctx, "data", metav1.DeleteOptions{}))
	c.Advance(time.Minute) // the claim stays as long as the pod uses it
	c.Delete(c.Pod("web"))
	c.Advance(time.Minute)
	_, err := claims.Get(ctx, "data", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err))
}

// TestOperatorsPage: each Go block of docs/operators.md is part of a test of the modules for operators, but for blanks at the beginning of lines.
func TestOperatorsPage(t *testing.T) {
	blanks := regexp.MustCompile(`(?m)^\s+`)
	var tests strings.Builder
	for _, pattern := range []string{"*_test.go", "../*_test.go", "../envtest/*_test.go"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, file := range files {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			tests.WriteString(blanks.ReplaceAllString(string(data), ""))
		}
	}
	page, err := os.ReadFile("../../docs/operators.md")
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?ms)^```go\n(.*?)^```$").FindAllStringSubmatch(string(page), -1)
	require.Len(t, blocks, 12)
	for _, block := range blocks {
		require.Contains(t, tests.String(), blanks.ReplaceAllString(block[1], ""))
	}
}
