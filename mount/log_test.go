package mount_test

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/storage"
)

// TestVolumeLog: the lines of reconciler_common.go and operation_generator.go of a kubelet, in the life of a pod with a volume.
func TestVolumeLog(t *testing.T) {
	var log bytes.Buffer
	c, err := volsim.New(volsim.Config{Log: &log, LogV: 2, Backends: []storage.Backend{fake.CSI("disk.example.com")}})
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.Create(fake.Node("n1"), fake.Class("fast", "disk.example.com"), fake.Claim("data", "1Gi", fake.InClass("fast")),
		fake.Pod("p", fake.Claims("data"))))
	require.NoError(t, c.Advance(time.Minute))
	pod, err := c.Pods.Get("p")
	require.NoError(t, err)
	require.NoError(t, c.Delete(pod))
	require.NoError(t, c.Advance(time.Minute))

	var lines []string
	header := regexp.MustCompile(`^([IWEF])\d{4} [0-9:.]+ +1 (\w+\.go):0\] `)
	ids := strings.NewReplacer(string(pod.UID), "POD", "pvc-"+string(claimUID(t, c)), "PV")
	for line := range strings.Lines(log.String()) {
		if found := header.FindStringSubmatch(line); found != nil && (found[2] == "reconciler_common.go" || found[2] == "operation_generator.go") {
			lines = append(lines, ids.Replace(strings.ReplaceAll(strings.TrimSuffix(line[len(found[0]):], "\n"), `\"`, `'`)))
		}
	}
	const name, path = "kubernetes.io/csi/disk.example.com^PV", "/var/lib/kubelet/plugins/kubernetes.io/csi/disk.example.com/HASH/globalmount"
	hash := regexp.MustCompile(`[0-9a-f]{64}`)
	for i := range lines {
		lines[i] = hash.ReplaceAllString(lines[i], "HASH")
	}
	forPod := "for volume 'PV' (UniqueName: '" + name + "') pod 'p' (UID: 'POD') "
	onNode := "for volume 'PV' (UniqueName: '" + name + "') on node 'n1' "
	want := []string{
		`"operationExecutor.VerifyControllerAttachedVolume started ` + forPod + `" pod="default/p"`,
		`"Controller attach succeeded ` + forPod + `device path: ''" pod="default/p"`,
		`"operationExecutor.MountVolume started ` + forPod + `" pod="default/p"`,
		`"MountVolume.WaitForAttach entering ` + forPod + `DevicePath ''" pod="default/p"`,
		`"MountVolume.WaitForAttach succeeded ` + forPod + `DevicePath 'csi-HASH'" pod="default/p"`,
		`"MountVolume.MountDevice succeeded ` + forPod + `device mount path '` + path + `'" pod="default/p"`,
		`"MountVolume.SetUp succeeded ` + forPod + `" pod="default/p"`,
		`"operationExecutor.UnmountVolume started for volume '` + name + `' (UniqueName: '` + name + `') pod 'POD' (UID: 'POD') "`,
		`UnmountVolume.TearDown succeeded for volume "` + name + `" pod "POD" (UID: "POD"). InnerVolumeSpecName "PV". PluginName "kubernetes.io/csi", ` +
			`VolumeGIDValue ""`,
		`"operationExecutor.UnmountDevice started ` + onNode + `"`,
		`UnmountDevice succeeded ` + strings.ReplaceAll(onNode, `'`, `"`),
		`"Volume detached ` + onNode + `DevicePath 'csi-HASH'"`,
	}
	// The attach/detach controller uses operation_generator.go, too.
	lines = slices.DeleteFunc(lines, func(line string) bool {
		return strings.HasPrefix(line, "AttachVolume") || strings.HasPrefix(line, "DetachVolume") || strings.HasPrefix(line, "Verified volume")
	})
	require.Equal(t, want, lines)
}

func claimUID(t *testing.T, c *volsim.Cluster) string {
	t.Helper()
	claim, err := c.Claims.Get("data")
	require.NoError(t, err)
	return string(claim.UID)
}
