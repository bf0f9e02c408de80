package mount

import (
	"maps"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/storage"
)

// optionKeeper records the mount options of requests.
type optionKeeper struct {
	*fake.Memory
	requests []string
}

func (k *optionKeeper) keep(op storage.Op, req storage.NodeRequest) {
	line := string(op)
	for _, option := range req.MountOptions {
		line += " " + option
	}
	k.requests = append(k.requests, line)
}

func (k *optionKeeper) Stage(req storage.NodeRequest) error {
	k.keep(storage.Stage, req)
	return k.Memory.Stage(req)
}

func (k *optionKeeper) Publish(req storage.NodeRequest) error {
	k.keep(storage.Publish, req)
	return k.Memory.Publish(req)
}

// newLabelFixture returns a node with SELinux, and a driver that mounts with labels.
func newLabelFixture(t *testing.T, mode string) (*fixture, *optionKeeper) {
	keeper := &optionKeeper{}
	w := newFixture(t, func(s *setup) {
		s.volume = []fake.Option{fake.Modes(mode), fake.MountOptions("noatime")}
		s.object = func(d *storagev1.CSIDriver) { d.Spec.SELinuxMount = new(true) }
		s.wrap = func(driver *fake.Memory) storage.Backend { keeper.Memory = driver; return keeper }
	})
	w.labelNode("true")
	return w, keeper
}

func (w *fixture) labelNode(value string) {
	w.T.Helper()
	node, err := w.Store().Nodes.Get(nodeName)
	w.OK(err)
	changed := *node
	changed.Labels = maps.Clone(node.Labels)
	if changed.Labels == nil {
		changed.Labels = map[string]string{}
	}
	changed.Labels[labelSELinux] = value
	_, err = w.Store().Nodes.Update(&changed)
	w.OK(err)
	w.Advance(0)
}

// labeledPod creates a pod at a level.
func (w *fixture) labeledPod(name, level string) *corev1.Pod {
	w.T.Helper()
	pod := fake.Pod(name, fake.OnNode(nodeName))
	pod.Spec.SecurityContext = &corev1.PodSecurityContext{SELinuxOptions: &corev1.SELinuxOptions{Level: level}}
	addClaim(pod, "data", "c1")
	w.Create(pod)
	w.Advance(0)
	return w.stored(name)
}

const context = `context="system_u:object_r:container_file_t:`

// A volume is mounted with the label of its pod (MNT-335, MNT-340), and a kubelet that restarts knows it (MNT-451).
func TestMountWithLabel(t *testing.T) {
	for _, tc := range []struct {
		rule, name, mode, host string
		want                   string
	}{
		{"MNT-340", "a volume for one pod", "RWOP", "true", ` noatime ` + context + `s0:c1,c2"`},
		{"MNT-335", "a volume for one node", "RWO", "true", " noatime"},
		{"MNT-341", "a node without SELinux", "RWOP", "false", " noatime"},
	} {
		w, keeper := newLabelFixture(t, tc.mode)
		w.labelNode(tc.host)
		pod := w.labeledPod("p1", "s0:c1,c2")
		w.Advance(11 * time.Second)
		w.attach(handle)
		w.Advance(time.Second)
		want(t, tc.rule+" "+tc.name, keeper.requests, []string{"Stage" + tc.want, "Publish" + tc.want})
		w.Mark()
		w.node.Stop()
		w.Advance(time.Second)
		w.node.Start()
		w.Advance(20 * time.Second)
		want(t, "MNT-451: not unmounted after a restart", slices.Contains(w.calls(), "Unpublish h1"), false)
		want(t, "MNT-451: state", w.state(pod.UID), "VolumeMounted DeviceGloballyMounted")
	}
}

// A pod with another label waits until the first one is gone (MNT-339), and then until the volume is unmounted (MNT-336, MNT-134).
func TestOtherLabelWaits(t *testing.T) {
	w, keeper := newLabelFixture(t, "RWOP")
	w.labeledPod("p1", "s0:c1")
	w.Advance(11 * time.Second)
	w.attach(handle)
	w.Advance(time.Second)
	w.Mark()
	w.labeledPod("p2", "s0:c2")
	w.Advance(time.Second)
	const failed = "FailedMount default/p2: Unable to attach or mount volumes: unmounted volumes=[data], unattached volumes=[], "
	want(t, "MNT-339: events", w.events(), []string{failed + `failed to process volumes=[data]: conflicting SELinux labels of volume pv1: ` +
		`"system_u:object_r:container_file_t:s0:c1" and "system_u:object_r:container_file_t:s0:c2"`})
	w.Mark()
	keeper.requests = nil
	w.Faults.Fail(fake.Match{Target: driverName, Verb: "Unpublish"}, storage.Errorf(storage.Internal, "no")).Times(6)
	w.deletePod("p1")
	w.forceDelete("p1")
	w.Advance(2 * time.Minute)
	events := w.events()
	waiting := failed + `failed to process volumes=[]: waiting for unmount of volume "` + string(volumeName) +
		`", because it is already mounted to a different pod with a different SELinux label`
	want(t, "MNT-134: waits for the unmount", slices.Contains(events, waiting), true)
	want(t, "MNT-336: requests", keeper.requests, []string{`Stage noatime ` + context + `s0:c2"`, `Publish noatime ` + context + `s0:c2"`})
	calls := w.calls()
	want(t, "MNT-336: order", calls[len(calls)-4:], []string{"Unpublish h1", "Unstage h1", "Stage h1", "Publish h1"})
	want(t, "MNT-336: phase", w.phase("p2"), corev1.PodRunning)
}
