package differential

import (
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
)

// GenerateFSGroup returns the scenario of a seed with pods that set fsGroup.
func GenerateFSGroup(seed uint64) Scenario {
	g := newKubeletGenerator(seed, 13)
	g.groups, g.inline = true, g.chance(3)
	change, mountGroup := g.groupChange(), g.chance(4)
	s := g.scenario()
	s.GroupChange, s.MountGroup = change, mountGroup
	return s
}

// source returns a source of the driver, or a directory on a node.
func (g *kubeletGenerator) source(name, handle string) fake.Option {
	if g.groups && g.chance(2) {
		return fake.LocalSource(LocalDir+"/"+name, "n1")
	}
	return fake.CSISource(Driver, handle)
}

// groupChange is how long it takes to give the files of a volume to a group. It never ends at the instant of a pass.
func (g *kubeletGenerator) groupChange() time.Duration {
	return pick(g.generator, 0, 0, 7*time.Second+30*time.Millisecond, 40*time.Second+30*time.Millisecond, 100*time.Second+30*time.Millisecond)
}

// Groups are the groups that pods request. Files are really given to them; without root only the user's own groups work.
func Groups() (none, some, others int) {
	if os.Geteuid() == 0 {
		return 0, 5, 7
	}
	own := os.Getegid()
	if all, err := os.Getgroups(); err == nil && len(all) > 0 {
		return own, own, all[len(all)-1]
	}
	return own, own, own
}

// setGroup sets fsGroup of a pod, most of the time, and makes some of its claims read-only.
func (g *kubeletGenerator) setGroup(pod *corev1.Pod) {
	none, some, others := Groups()
	if group := pick(g.generator, -1, none, some, some, others, others); group >= 0 {
		pod.Spec.SecurityContext = &corev1.PodSecurityContext{FSGroup: new(int64(group))}
		if policy := pick(g.generator, "", corev1.FSGroupChangeAlways, corev1.FSGroupChangeOnRootMismatch,
			corev1.FSGroupChangeOnRootMismatch); policy != "" {
			pod.Spec.SecurityContext.FSGroupChangePolicy = new(policy)
		}
	}
	for i := range pod.Spec.Volumes {
		if claim := pod.Spec.Volumes[i].PersistentVolumeClaim; claim != nil {
			claim.ReadOnly = g.chance(6)
		}
	}
}

// groupPolicy returns an fsGroupPolicy of the driver.
func (g *kubeletGenerator) groupPolicy() storagev1.FSGroupPolicy {
	return pick(g.generator, storagev1.FileFSGroupPolicy, storagev1.FileFSGroupPolicy, storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy,
		storagev1.NoneFSGroupPolicy)
}

// changeGroupPolicy changes the driver's fsGroupPolicy.
func (g *kubeletGenerator) changeGroupPolicy() Step {
	return Step{Op: Patch, Ref: api.Ref{Kind: api.CSIDriver, Key: Driver},
		Patch: `{"spec":{"fsGroupPolicy":"` + string(g.groupPolicy()) + `"}}`}
}
