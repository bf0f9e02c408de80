package csitest

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/mount"
)

// volumeStories are about pods that use volumes on healthy nodes.
var volumeStories = []story{
	{name: "wait-for-consumer", about: "the volume is created for the node of its first pod", needs: creates, run: func(r *run) {
		r.class(fake.WaitForFirstConsumer())
		r.claim("data")
		r.create(fake.Pod(r.name("web"), fake.Claims(r.name("data"))))
		r.running("web")
		r.compare()
		r.finishLife("web")
	}},
	{name: "two-volumes", about: "a pod uses two volumes", needs: creates, run: func(r *run) {
		r.class()
		r.claim("data")
		r.claim("logs")
		r.create(fake.Pod(r.name("web"), fake.OnNode(r.node(0)), fake.Claims(r.name("data"), r.name("logs"))))
		r.running("web")
		r.write("web", "data", "hello")
		r.write("web", "logs", "world")
		r.read("web", "data")
		r.compare()
		r.end("web")
		r.detached()
		r.deleted("data", "logs")
	}},
	{name: "job", about: "a pod ends by itself", needs: creates, run: func(r *run) {
		r.class()
		r.claim("data")
		r.pod("job", 0, "data", fake.Annotations(mount.AnnRunFor, "30s"))
		r.goal("pod job has succeeded", func() bool {
			p, err := r.cluster.Pods.Get(r.name("job"))
			return err == nil && p.Status.Phase == corev1.PodSucceeded
		})
		r.finishLife("job")
	}},
	{name: "pod-recreated", about: "a pod is deleted and created again with the same name at once", needs: creates, run: func(r *run) {
		r.class()
		r.claim("data")
		r.pod("web", 0, "data")
		r.running("web")
		r.write("web", "data", "hello")
		r.forceDelete("web")
		r.pod("web", 0, "data")
		r.running("web")
		r.pass(time.Minute)
		r.read("web", "data")
		r.compare()
		r.finishLife("web")
	}},
	{name: "three-pods", about: "three pods of one node share a volume, and end in another order", needs: creates, run: func(r *run) {
		r.class()
		r.claim("data")
		for _, pod := range []string{"one", "two", "three"} {
			r.pod(pod, 0, "data")
		}
		r.running("one", "two", "three")
		r.compare()
		r.end("two")
		r.pass(time.Minute)
		r.compare()
		r.end("three")
		r.write("one", "data", "hello")
		r.read("one", "data")
		r.finishLife("one")
	}},
	{name: "move-back", about: "a volume moves to another node and back", needs: need(creates, twoNodes), run: func(r *run) {
		r.class()
		r.claim("data")
		r.pod("one", 0, "data")
		r.running("one")
		r.write("one", "data", "hello")
		r.end("one")
		r.pod("two", 1, "data")
		r.running("two")
		r.write("two", "data", "world")
		r.end("two")
		r.pod("three", 0, "data")
		r.running("three")
		r.read("three", "data")
		r.compare()
		r.finishLife("three")
	}},
	{name: "move-at-once", about: "a pod of another node starts while the old one still ends", needs: need(creates, twoNodes), run: func(r *run) {
		r.class()
		r.claim("data")
		r.pod("web", 0, "data")
		r.running("web")
		r.write("web", "data", "hello")
		r.pod("next", 1, "data")
		r.pass(time.Minute)
		r.end("web")
		r.running("next")
		r.read("next", "data")
		r.compare()
		r.finishLife("next")
	}},
	{name: "shared-and-moved", about: "two nodes write to one volume, and one pod moves", needs: need(creates, twoNodes, supports("ReadWriteMany")),
		run: func(r *run) {
			r.class()
			r.claim("data", fake.Modes("RWX"))
			r.pod("one", 0, "data")
			r.pod("two", 1, "data")
			r.running("one", "two")
			r.end("one")
			r.pod("three", 1, "data")
			r.running("three")
			r.write("three", "data", "hello")
			r.read("two", "data")
			r.compare()
			r.end("two")
			r.finishLife("three")
		}},
	{name: "read-only-first", about: "the first pod mounts a volume for reading, the second one writes", needs: creates, run: func(r *run) {
		r.class()
		r.claim("data")
		r.create(r.readingPod("reader", 0, "data"))
		r.running("reader")
		r.compare()
		r.pod("writer", 0, "data")
		r.running("writer")
		r.write("writer", "data", "hello")
		r.read("reader", "data")
		r.compare()
		r.end("reader")
		r.finishLife("writer")
	}},
	{name: "ephemeral", about: "a generic ephemeral volume lives as long as its pod", needs: creates, run: func(r *run) {
		r.class()
		r.create(fake.Pod(r.name("web"), fake.OnNode(r.node(0)), fake.Ephemeral("scratch", r.gib(1), r.name(className))))
		r.running("web")
		r.compare()
		r.end("web")
		r.detached()
		r.goal("the volume is gone", func() bool { return r.cluster.Volumes.Len() == 0 })
	}},
	{name: "retained", about: "a retained volume is used again by another PersistentVolume", needs: creates, run: func(r *run) {
		r.class(fake.Policy(corev1.PersistentVolumeReclaimRetain))
		r.claim("data")
		r.pod("web", 0, "data")
		r.running("web")
		r.write("web", "data", "hello")
		handle, attributes := r.handle("data"), r.attributes("data")
		r.end("web")
		r.detached()
		r.remove(fake.Claim(r.name("data"), r.gib(1)))
		r.goal("the volume is released", func() bool {
			return !slices.ContainsFunc(r.cluster.Volumes.List(), func(pv *corev1.PersistentVolume) bool { return pv.Status.Phase != corev1.VolumeReleased })
		})
		for _, pv := range r.cluster.Volumes.List() {
			r.remove(pv)
		}
		pv := fake.Volume(r.name("again"), r.gib(1), fake.CSISource(r.driver.Name(), handle), fake.InClass(r.name(className)),
			fake.Policy(corev1.PersistentVolumeReclaimDelete))
		pv.Spec.CSI.VolumeAttributes = attributes
		r.create(pv)
		r.claim("next", fake.VolumeName(r.name("again")))
		r.pod("reader", 0, "next")
		r.running("reader")
		r.read("reader", "next")
		r.compare()
		r.end("reader")
		r.detached()
		r.deleted("next")
	}},
	{name: "claim-in-use", about: "a claim is deleted while a pod uses it", needs: creates, run: func(r *run) {
		r.class()
		r.claim("data")
		r.pod("web", 0, "data")
		r.running("web")
		r.remove(fake.Claim(r.name("data"), r.gib(1)))
		r.pass(5 * time.Minute)
		r.compare()
		r.end("web")
		r.detached()
		r.goal("the volume is gone", func() bool { return r.cluster.Volumes.Len() == 0 })
	}},
	{name: "never-used", about: "a volume is created and deleted without a pod", needs: creates, run: func(r *run) {
		r.class()
		r.claim("data")
		r.bound("data")
		r.compare()
		r.deleted("data")
	}},
	{name: "recreated", about: "a claim is deleted and created again with the same name", needs: creates, run: func(r *run) {
		r.class()
		r.claim("data")
		r.bound("data")
		r.deleted("data")
		r.claim("data")
		r.pod("web", 0, "data")
		r.running("web")
		r.compare()
		r.finishLife("web")
	}},
	{name: "create-after-delete", about: "two volumes are created, one is deleted, and a third one is created", needs: creates, run: func(r *run) {
		r.class()
		r.claim("data")
		r.bound("data")
		r.claim("logs")
		r.bound("logs")
		r.remove(fake.Claim(r.name("data"), r.gib(1)))
		r.goal("one volume is left", func() bool { return r.cluster.Volumes.Len() == 1 })
		r.claim("more")
		r.bound("more")
		r.compare()
		r.deleted("logs", "more")
	}},
	{name: "attach-limit", about: "more pods than a node can have volumes", needs: need(creates, limited), run: func(r *run) {
		r.class(fake.WaitForFirstConsumer())
		var pods, claims []string
		for i := range int(r.driver.AttachLimit(r.node(0)))*len(r.nodes) + 1 {
			name := string(rune('a' + i))
			pods, claims = append(pods, "pod-"+name), append(claims, "data-"+name)
			r.claim("data-" + name)
			r.create(fake.Pod(r.name("pod-"+name), fake.Claims(r.name("data-"+name))))
		}
		r.pass(10 * time.Minute)
		r.compare()
		first := slices.IndexFunc(pods, func(pod string) bool {
			p, err := r.cluster.Pods.Get(r.name(pod))
			return err == nil && p.Status.Phase == corev1.PodRunning
		})
		if first < 0 {
			first = 0
		}
		r.end(pods[first])
		r.running(slices.Delete(slices.Clone(pods), first, first+1)...)
		r.compare()
		r.end(slices.Delete(slices.Clone(pods), first, first+1)...)
		r.detached()
		r.deleted(claims...)
	}},
	{name: "block-moved", about: "a device moves to another node", needs: need(creates, twoNodes, supports("Block")), run: func(r *run) {
		r.class()
		r.claim("data", fake.Block())
		r.create(fake.Pod(r.name("web"), fake.OnNode(r.node(0)), fake.BlockClaims(r.name("data"))))
		r.running("web")
		r.end("web")
		r.create(fake.Pod(r.name("next"), fake.OnNode(r.node(1)), fake.BlockClaims(r.name("data"))))
		r.running("next")
		r.compare()
		r.finishLife("next")
	}},
	{name: "block-two-pods", about: "two pods of one node use a device", needs: need(creates, supports("Block")), run: func(r *run) {
		r.class()
		r.claim("data", fake.Block())
		for _, pod := range []string{"one", "two"} {
			r.create(fake.Pod(r.name(pod), fake.OnNode(r.node(0)), fake.BlockClaims(r.name("data"))))
		}
		r.running("one", "two")
		r.compare()
		r.end("one")
		r.pass(time.Minute)
		r.compare()
		r.finishLife("two")
	}},
	{name: "modify", about: "the VolumeAttributesClass of a claim changes while a pod uses it", needs: need(creates, modifies, attributes),
		run: func(r *run) {
			r.class()
			r.claim("data")
			r.pod("web", 0, "data")
			r.running("web")
			r.create(&storagev1.VolumeAttributesClass{ObjectMeta: metav1.ObjectMeta{Name: r.name("gold")}, DriverName: r.driver.Name(),
				Parameters: r.cfg.Attributes})
			r.do(func() error {
				return r.cluster.Patch(fake.Claim(r.name("data"), "1Gi"), `{"spec":{"volumeAttributesClassName":"`+r.name("gold")+`"}}`)
			})
			r.goal("the volume is modified", func() bool {
				c, err := r.cluster.Claims.Get(r.name("data"))
				return err == nil && c.Status.CurrentVolumeAttributesClassName != nil && *c.Status.CurrentVolumeAttributesClassName == r.name("gold")
			})
			r.askToModify("data")
			r.compare()
			r.finishLife("web")
		}},
}

// finishLife ends a pod and deletes the claim "data" with its volume.
func (r *run) finishLife(pod string) {
	r.end(pod)
	r.detached()
	r.deleted("data")
}

// attributes returns the volume_context of the volume of a claim.
func (r *run) attributes(claim string) map[string]string {
	c, err := r.cluster.Claims.Get(r.name(claim))
	if err != nil || c.Spec.VolumeName == "" {
		return nil
	}
	pv, err := r.cluster.Volumes.Get(c.Spec.VolumeName)
	if err != nil || pv.Spec.CSI == nil {
		return nil
	}
	return pv.Spec.CSI.VolumeAttributes
}

func limited(_ *Config, c capabilities) string {
	return lacks(c.Limit > 0 && c.Limit <= 8, "max_volumes_per_node of at most 8")
}

func attributes(cfg *Config, _ capabilities) string {
	return lacks(len(cfg.Attributes) > 0, "Config.Attributes (--attribute)")
}
