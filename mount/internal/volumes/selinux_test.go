package volumes

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/objects"
)

// labeled returns a pod with one container for each level, all of which mount the volume data.
func labeled(uid types.UID, levels ...string) *corev1.Pod {
	pod := fake.Pod(string(uid), fake.UID(uid))
	pod.Spec.Containers = nil
	for _, level := range levels {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{
			VolumeMounts:    []corev1.VolumeMount{{Name: "data"}},
			SecurityContext: &corev1.SecurityContext{SELinuxOptions: &corev1.SELinuxOptions{Level: level, Type: "spc_t"}},
		})
	}
	return pod
}

func TestLabelFor(t *testing.T) {
	const label = "system_u:object_r:container_file_t:s0:c1,c2"
	recursive := corev1.SELinuxChangePolicyRecursive
	on := Labeling{Host: true, Plugin: true, Level: func() string { return "s0:c7,c8" }}
	for _, tc := range []struct {
		rule, name string
		how        Labeling
		modes      string
		change     func(*corev1.Pod)
		levels     []string
		want, err  string
	}{
		{rule: "MNT-335", name: "one label", how: on, modes: "RWOP", levels: []string{"s0:c1,c2", "s0:c1,c2"}, want: label},
		{rule: "MNT-335", name: "a node without SELinux", modes: "RWOP", levels: []string{"s0:c1,c2"}},
		{rule: "MNT-335", name: "a plugin without", how: Labeling{Host: true}, modes: "RWOP", levels: []string{"s0:c1,c2"}},
		{rule: "MNT-335", name: "the policy Recursive", how: on, modes: "RWOP", levels: []string{"s0:c1,c2"},
			change: func(p *corev1.Pod) {
				p.Spec.SecurityContext = &corev1.PodSecurityContext{SELinuxChangePolicy: &recursive}
			}},
		{rule: "MNT-337", name: "two labels", how: on, modes: "RWOP", levels: []string{"s0:c3", "s0:c1,c2"},
			err: "multiple SELinux labels found: " + label + ",system_u:object_r:container_file_t:s0:c3"},
		{rule: "MNT-337", name: "two labels of a plugin without", how: Labeling{Host: true}, modes: "RWOP", levels: []string{"s0:c3", "s0:c1,c2"},
			err: "multiple SELinux labels found: " + label + ",system_u:object_r:container_file_t:s0:c3"},
		{rule: "MNT-337", name: "two labels of a shared volume", how: on, modes: "RWO", levels: []string{"s0:c3", "s0:c1,c2"}},
		{rule: "MNT-338", name: "no level", how: on, modes: "RWOP", levels: []string{""}, want: "system_u:object_r:container_file_t:s0:c7,c8"},
		{rule: "MNT-338", name: "a user", how: on, modes: "RWOP", levels: []string{"s0"},
			change: func(p *corev1.Pod) { p.Spec.Containers[0].SecurityContext.SELinuxOptions.User = "u" },
			want:   "u:object_r:container_file_t:s0"},
		{rule: "MNT-335", name: "options of the pod", how: on, modes: "RWOP", levels: []string{"x"}, want: label,
			change: func(p *corev1.Pod) {
				p.Spec.Containers[0].SecurityContext = nil
				p.Spec.SecurityContext = &corev1.PodSecurityContext{SELinuxOptions: &corev1.SELinuxOptions{Level: "s0:c1,c2"}}
			}},
		{rule: "MNT-335", name: "no options", how: on, modes: "RWOP", levels: []string{"x"},
			change: func(p *corev1.Pod) { p.Spec.Containers[0].SecurityContext = nil }},
	} {
		pod := labeled("p", tc.levels...)
		if tc.change != nil {
			tc.change(pod)
		}
		spec := &Spec{VolumeSpec: objects.VolumeSpec{PV: fake.Volume("pv", "1Gi", fake.Modes(tc.modes))}, PodName: "data"}
		text := ""
		got, err := LabelFor(pod, spec, tc.how)
		if err != nil {
			text = err.Error()
		}
		if got != tc.want || text != tc.err {
			t.Errorf("%s: LabelFor(%s) = %q, %q, want %q, %q", tc.rule, tc.name, got, text, tc.want, tc.err)
		}
	}
}

func TestTakeLabel(t *testing.T) {
	const one, two = "system_u:object_r:container_file_t:s0:c1", "system_u:object_r:container_file_t:s0:c2"
	on := Labeling{Host: true, Plugin: true}
	for _, tc := range []struct {
		rule, name, mode string
		how              Labeling
		uid              types.UID
		level            string
		label, pod, err  string
	}{
		{rule: "MNT-339", name: "the same label", mode: "RWOP", how: on, uid: "b", level: "s0:c1", label: one, pod: one},
		{rule: "MNT-339", name: "another label", mode: "RWOP", how: on, uid: "b", level: "s0:c2",
			err: `conflicting SELinux labels of volume pv: "` + one + `" and "` + two + `"`},
		{rule: "MNT-339", name: "the same pod again", mode: "RWOP", how: on, uid: "a", level: "s0:c2", label: one, pod: one},
		{rule: "MNT-339", name: "a shared volume", mode: "RWO", how: on, uid: "b", level: "s0:c2", pod: one},
	} {
		d := NewDesired()
		spec := func() *Spec {
			return &Spec{VolumeSpec: objects.VolumeSpec{PV: fake.Volume("pv", "1Gi", fake.Modes(tc.mode))}, PodName: "data"}
		}
		id, first, second := Identity{Name: "v"}, spec(), spec()
		if err := d.TakeLabel(id, labeled("a", "s0:c1"), first, tc.how); err != nil {
			t.Fatal(err)
		}
		d.AddPodVolume(id, labeled("a", "s0:c1"), first)
		text := ""
		if err := d.TakeLabel(id, labeled(tc.uid, tc.level), second, tc.how); err != nil {
			text = err.Error()
		}
		want(t, tc.rule+" "+tc.name, []string{second.Label, second.PodLabel, text}, []string{tc.label, tc.pod, tc.err})
	}
}

func TestOtherLabel(t *testing.T) {
	d, a := NewDesired(), NewActual()
	spec := &Spec{VolumeSpec: objects.VolumeSpec{PV: fake.Volume("pv", "1Gi", fake.Modes("RWOP"))}, PodName: "data", Label: "new"}
	d.AddPodVolume(Identity{Name: "v"}, labeled("b"), spec)
	v := a.MarkAttached("v", spec, Attachable, "")
	want(t, "MNT-100: not mounted", v.Label, nil)
	a.SetPodState("v", "b", &Spec{VolumeSpec: spec.VolumeSpec, Label: "old"}, Mounted)
	a.SetPodState("v", "b", spec, Mounted)
	want(t, "MNT-100: the first mount decides", *v.Label, "old")
	want(t, "MNT-045: absent", []bool{d.WantsMount(v, "b"), d.WantsDevice(v), d.HasPodVolume("v", "b")}, []bool{false, false, true})
	for _, tc := range []struct {
		rule string
		v    PodVolume
		want Step
	}{
		{"MNT-108", PodVolume{Desired: true, OtherLabel: true}, VerifyAttached},
		{"MNT-134", PodVolume{Desired: true, Attached: true, OtherLabel: true, State: Mounted, Remount: true}, ""},
	} {
		want(t, tc.rule, PlanMount(tc.v), tc.want)
	}
}
