package expand_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/controllers/expand"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/options"
	"github.com/volsim/volsim/internal/core/sidecar"
	"github.com/volsim/volsim/storage"
)

var errSome = errors.New("some error")

const flex = "example.com/flex"

// newFlexWorld has the claim bound to a volume of a FlexVolume driver.
func newFlexWorld(t *testing.T, opts ...fake.Option) *fixture {
	t.Helper()
	w := &fixture{t: t, pv: "static-1"}
	w.start(volsim.Config{Backends: []storage.Backend{fake.FlexVolume(flex)}, Without: []string{volsim.Kubelets}})
	claim := append([]fake.Option{fake.InClass("fast")}, opts...)
	w.must(w.Create(fake.Class("fast", "kubernetes.io/no-provisioner", fake.Expandable()),
		fake.Volume("static-1", "1Gi", append(claim, fake.FlexSource(flex))...),
		fake.Claim("data", "1Gi", claim...)))
	w.settle()
	require.Equal(t, "static-1", w.claim().Spec.VolumeName)
	w.mark()
	return w
}

func TestFlexVolume(t *testing.T) {
	w := newFlexWorld(t)
	w.must(w.ask("2Gi"))
	w.settle()
	w.want("EXP-016, EXP-023",
		"0s claim 1Gi, allocated 2Gi, ControllerResizeInProgress, [Resizing], by "+flex,
		"0s volume 2Gi",
		"0s claim 1Gi, allocated 2Gi, NodeResizePending, [Resizing FileSystemResizePending], by "+flex,
		"0s volume 2Gi before 1Gi")
	w.nodeStatus("NodeResizeInfeasible", "")
	w.must(w.ask("3Gi"))
	w.settle()
	w.want("EXP-030: what is infeasible on the node is tried there again, of the same size",
		"0s claim 1Gi, allocated 2Gi, ControllerResizeInProgress, [Resizing], by "+flex,
		"0s volume 2Gi before 1Gi",
		"0s claim 1Gi, allocated 2Gi, NodeResizePending, [Resizing FileSystemResizePending], by "+flex)
	w.nodeStatus("", "2Gi")
	w.settle()
	w.wantState("EXP-010, EXP-016: the node is done, so the next size is begun",
		"2Gi, allocated 3Gi, NodeResizePending, [Resizing FileSystemResizePending], by "+flex+" | 3Gi before 1Gi")
	w.nodeStatus("", "3Gi")
	w.mark()
	w.settle()
	w.want("EXP-015", "0s volume 3Gi")
}

func TestFlexVolumeInfeasibleOnNode(t *testing.T) {
	w := newFlexWorld(t)
	w.must(w.ask("3Gi"))
	w.settle()
	w.nodeStatus("NodeResizeInfeasible", "")
	// EXP-010: none of these changes queues the claim; a restarted controller reads it.
	w.must(w.Crash(actors.Expander))
	w.mark()
	w.must(w.Restart(actors.Expander))
	w.settle()
	w.want("EXP-030: the volume is large enough, so the plugin is not asked",
		"0s claim 1Gi, allocated 3Gi, NodeResizePending, [Resizing FileSystemResizePending], by "+flex)
}

func TestFlexVolumeBlock(t *testing.T) {
	w := newFlexWorld(t, fake.Block())
	w.must(w.ask("2Gi"))
	w.settle()
	w.want("EXP-016, EXP-024: a block device has no file system",
		"0s claim 1Gi, allocated 2Gi, ControllerResizeInProgress, [Resizing], by "+flex,
		"0s volume 2Gi",
		"0s claim 2Gi, allocated 2Gi, by "+flex,
		"0s Normal VolumeResizeSuccessful: ExpandVolume succeeded for volume default/data")
}

// An in-tree plugin of one's own, without anything to do on nodes.
func TestInTreePlugin(t *testing.T) {
	w := &fixture{t: t, pv: "static-1"}
	w.start(volsim.Config{Backends: []storage.Backend{fake.InTree("kubernetes.io/grows", fake.Only(storage.Expand))},
		Without: []string{volsim.Kubelets}})
	w.must(w.Create(fake.Class("fast", "kubernetes.io/no-provisioner", fake.Expandable()),
		fake.Volume("static-1", "1Gi", fake.InClass("fast"), fake.HostPathSource("/tmp/x")),
		fake.Claim("data", "1Gi", fake.InClass("fast"))))
	w.settle()
	w.mark()
	w.Faults.Fail(fake.Match{Verb: "Expand"}, errSome).Once()
	w.must(w.ask("2Gi"))
	w.settle()
	w.want("EXP-016, EXP-024",
		"0s claim 1Gi, allocated 2Gi, ControllerResizeInProgress, [Resizing], by kubernetes.io/grows",
		"0s Expand Unknown",
		"0s Warning VolumeResizeFailed: error expanding pvc default/data: some error",
		"5ms claim 1Gi, allocated 2Gi, ControllerResizeInProgress, [Resizing], by kubernetes.io/grows",
		"5ms Expand OK",
		"5ms volume 2Gi",
		"5ms claim 2Gi, allocated 2Gi, by kubernetes.io/grows",
		"5ms Normal VolumeResizeSuccessful: ExpandVolume succeeded for volume default/data")
}

// EXP-014: a source that more than one plugin claims.
func TestTwoPlugins(t *testing.T) {
	w := &fixture{t: t, pv: "static-1"}
	w.start(volsim.Config{Backends: []storage.Backend{fake.InTree("kubernetes.io/a", fake.Only(storage.Expand)),
		fake.InTree("kubernetes.io/b", fake.Only(storage.Expand))}, Without: []string{volsim.Kubelets}})
	w.must(w.Create(fake.Class("fast", "kubernetes.io/no-provisioner", fake.Expandable()),
		fake.Volume("static-1", "1Gi", fake.InClass("fast"), fake.HostPathSource("/tmp/x")),
		fake.Claim("data", "1Gi", fake.InClass("fast"))))
	w.settle()
	w.mark()
	w.must(w.ask("2Gi"))
	w.settle()
	w.want("EXP-014", "0s Warning ExternalExpanding: waiting for an external controller to expand this PVC")
}

func TestFlexVolumeFails(t *testing.T) {
	for _, tt := range []struct {
		rule, name string
		match      fake.Match
		want       string
	}{
		{"EXP-016", "the claim", fake.Match{Actor: actors.Expander, Verb: "patch-status"},
			`error updating pvc default/data with resize in progress: patchPVCStatus failed to patch PVC "data": some error`},
		{"EXP-016", "the volume", fake.Match{Actor: actors.Expander, Verb: "patch"},
			`error updating pv for pvc default/data: error Patching PV "pv" with error : some error`},
	} {
		w := newFlexWorld(t)
		w.Faults.Fail(tt.match, errSome).Once()
		w.must(w.ask("2Gi"))
		w.settle()
		require.Contains(t, w.log(), "0s Warning VolumeResizeFailed: "+tt.want, "%s %s", tt.rule, tt.name)
		w.wantState(tt.rule+" "+tt.name,
			"1Gi, allocated 2Gi, NodeResizePending, [Resizing FileSystemResizePending], by "+flex+" | 2Gi before 1Gi")
	}
}

// A volume of an in-tree plugin that a CSI driver took over from.
func TestMigrated(t *testing.T) {
	const ebs = "ebs.csi.aws.com"
	w := &fixture{t: t, pv: "static-1", disk: fake.CSI(ebs, fake.Without(storage.NodeExpand))}
	w.start(volsim.Config{Backends: []storage.Backend{w.disk}, Without: []string{volsim.Kubelets}})
	pv := fake.Volume("static-1", "1Gi", fake.InClass("fast"))
	pv.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: "vol-1"}}
	w.must(w.Create(fake.Class("fast", ebs, fake.Expandable()), pv))
	w.settle()
	w.must(w.Create(fake.Claim("data", "1Gi", fake.InClass("fast"))))
	w.settle()
	w.mark()
	w.Faults.Fail(fake.Match{Actor: actors.Expander, Verb: "patch-status"}, apierrors.NewInternalError(errSome)).Once()
	w.must(w.ask("2Gi"))
	w.settle()
	enabled := "Normal ExternalExpanding: CSI migration enabled for kubernetes.io/aws-ebs; waiting for external resizer to expand the pvc"
	w.want("EXP-013", "0s "+enabled,
		"0s patch-status PersistentVolumeClaim/default/data failed",
		`0s Warning ExternalExpanding: error setting resizer annotation to pvc default/data, with error patchPVCStatus failed to patch PVC "data": Internal error occurred: some error`,
		"5ms "+enabled,
		"5ms claim 1Gi, by "+ebs)
	w.wantState("EXP-020: and the resizer takes over", "2Gi, allocated 2Gi, no node, by "+ebs+" | 2Gi")
}

func TestConfigs(t *testing.T) {
	for _, tt := range []struct {
		name string
		cfg  volsim.SidecarConfig
		want string
	}{
		{"retry", volsim.SidecarConfig{RetryStart: -1}, "Resizer.RetryStart is -1ns"},
		{"retries", volsim.SidecarConfig{RetryStart: 2, RetryMax: 1}, "less than RetryStart"},
		{"resync", volsim.SidecarConfig{ResyncPeriod: -1}, "Resizer.ResyncPeriod is -1ns"},
	} {
		_, err := volsim.New(volsim.Config{Backends: []storage.Backend{fake.CSI(driver)}, Resizer: tt.cfg})
		require.ErrorContains(t, err, tt.want, tt.name)
	}
	_, err := expand.NewResizer(nil, fake.HostPath(), sidecar.Config{}, options.Resizer{})
	require.ErrorContains(t, err, "must be a CSI driver")
	_, err = expand.NewResizer(nil, fake.CSI(driver, fake.Only(storage.Create, storage.Delete)), sidecar.Config{}, options.Resizer{})
	require.ErrorContains(t, err, "needs no external resizer")
}
