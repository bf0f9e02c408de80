package csitest

import (
	"time"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
)

// basicStories are the first ones to run.
var basicStories = []story{
	{name: "life", about: "a volume is created, used by a pod and deleted", needs: creates, run: func(r *run) {
		r.class()
		r.claim("data")
		r.pod("web", 0, "data")
		r.running("web")
		r.write("web", "data", "hello")
		r.compare()
		r.end("web")
		r.detached()
		r.deleted("data")
	}},
	{name: "restart-pod", about: "a pod ends, and another one reads what it wrote", needs: creates, run: func(r *run) {
		r.class()
		r.claim("data")
		r.pod("web", 0, "data")
		r.running("web")
		r.write("web", "data", "hello")
		r.end("web")
		r.detached()
		r.pod("next", 0, "data")
		r.running("next")
		r.read("next", "data")
		r.compare()
		r.end("next")
		r.detached()
		r.deleted("data")
	}},
	{name: "two-pods", about: "two pods of one node share a volume, and one of them ends", needs: creates, run: func(r *run) {
		r.class()
		r.claim("data")
		r.pod("one", 0, "data")
		r.running("one")
		r.write("one", "data", "hello")
		r.pod("two", 0, "data")
		r.running("two")
		r.read("two", "data")
		r.compare()
		r.end("one")
		r.pass(time.Minute)
		r.compare()
		r.read("two", "data")
		r.end("two")
		r.detached()
		r.deleted("data")
	}},
	{name: "pod-replaced", about: "a pod ends while its successor on the same node starts", needs: creates, run: func(r *run) {
		r.class()
		r.claim("data")
		r.pod("web", 0, "data")
		r.running("web")
		r.write("web", "data", "hello")
		r.remove(fake.Pod(r.name("web")))
		r.pod("next", 0, "data")
		r.end("web")
		r.running("next")
		r.read("next", "data")
		r.compare()
		r.finishLife("next")
	}},
	{name: "move", about: "a volume moves to another node with its data", needs: need(creates, twoNodes), run: func(r *run) {
		r.class()
		r.claim("data")
		r.pod("web", 0, "data")
		r.running("web")
		r.write("web", "data", "hello")
		r.end("web")
		r.pod("next", 1, "data")
		r.running("next")
		r.read("next", "data")
		r.compare()
		r.end("next")
		r.detached()
		r.deleted("data")
	}},
	{name: "shared-writers", about: "pods on two nodes write to one volume", needs: need(creates, twoNodes, supports("ReadWriteMany")),
		run: func(r *run) { r.shared("RWX") }},
	{name: "shared-readers", about: "pods on two nodes read one volume", needs: need(creates, twoNodes, supports("ReadOnlyMany")),
		run: func(r *run) { r.shared("ROX") }},
	{name: "read-only", about: "a pod mounts a volume for reading, beside one that writes", needs: creates, run: func(r *run) {
		r.class()
		r.claim("data")
		r.pod("writer", 0, "data")
		r.running("writer")
		r.write("writer", "data", "hello")
		r.create(r.readingPod("reader", 0, "data"))
		r.running("reader")
		r.read("reader", "data")
		r.write("writer", "data", "again")
		r.read("reader", "data")
		r.compare()
		r.end("reader")
		r.end("writer")
		r.detached()
		r.deleted("data")
	}},
	{name: "block", about: "a pod uses a volume as a device", needs: need(creates, supports("Block")), run: func(r *run) {
		r.class()
		r.claim("data", fake.Block())
		r.create(fake.Pod(r.name("web"), fake.OnNode(r.node(0)), fake.BlockClaims(r.name("data"))))
		r.running("web")
		r.askStats("data")
		r.compare()
		r.end("web")
		r.detached()
		r.deleted("data")
	}},
	{name: "one-pod", about: "a ReadWriteOncePod volume", needs: need(creates, supports("ReadWriteOncePod")), run: func(r *run) {
		r.class()
		r.claim("data", fake.Modes("RWOP"))
		r.pod("web", 0, "data")
		r.running("web")
		r.askSecondPath("data")
		r.end("web")
		r.pod("next", 0, "data")
		r.running("next")
		r.end("next")
		r.detached()
		r.deleted("data")
	}},
	{name: "kubelet-restart", about: "the kubelet restarts while a pod uses a volume", needs: creates, run: func(r *run) {
		r.class()
		r.claim("data")
		r.pod("web", 0, "data")
		r.running("web")
		r.write("web", "data", "hello")
		r.restartKubelet(0, time.Minute)
		r.pass(5 * time.Minute)
		r.read("web", "data")
		r.compare()
		r.end("web")
		r.detached()
		r.deleted("data")
	}},
	{name: "kubelet-down", about: "a pod is deleted while its kubelet is down", needs: creates, run: func(r *run) {
		r.class()
		r.claim("data")
		r.pod("web", 0, "data")
		r.running("web")
		r.stopKubelet(0)
		r.remove(fake.Pod(r.name("web")))
		r.pass(30 * time.Second)
		r.powerOn(0)
		r.goal("pod web is gone", func() bool { _, err := r.cluster.Pods.Get(r.name("web")); return err != nil })
		r.detached()
		r.deleted("data")
	}},
	{name: "node-reboots", about: "a node reboots while a pod uses a volume", needs: need(creates, reboots), run: func(r *run) {
		r.class()
		r.claim("data")
		r.pod("web", 0, "data")
		r.running("web")
		r.write("web", "data", "hello")
		r.powerOff(0)
		r.pass(20 * time.Second)
		r.powerOn(0)
		r.pass(10 * time.Minute)
		r.running("web")
		r.read("web", "data")
		r.compare()
		r.end("web")
		r.detached()
		r.deleted("data")
	}},
	{name: "node-dies-forced", about: "a node dies, its pod is deleted by force, and the volume moves after six minutes",
		needs: need(creates, reboots, twoNodes), run: func(r *run) {
			r.class()
			r.claim("data")
			r.pod("web", 0, "data")
			r.running("web")
			r.write("web", "data", "hello")
			r.powerOff(0)
			r.pass(time.Minute)
			r.forceDelete("web")
			r.pod("next", 1, "data")
			r.running("next")
			r.read("next", "data")
			r.compare()
			r.powerOn(0)
			r.pass(5 * time.Minute)
			r.end("next")
			r.detached()
			r.deleted("data")
		}},
	{name: "node-dies-tainted", about: "a node dies and gets the out-of-service taint, so the volume moves at once",
		needs: need(creates, reboots, twoNodes), run: func(r *run) {
			r.class()
			r.claim("data")
			r.pod("web", 0, "data")
			r.running("web")
			r.write("web", "data", "hello")
			r.powerOff(0)
			r.pass(2 * time.Minute)
			r.do(func() error {
				return r.cluster.Patch(fake.Node(r.node(0)),
					`{"spec":{"taints":[{"key":"node.kubernetes.io/out-of-service","value":"nodeshutdown","effect":"NoExecute"}]}}`)
			})
			r.pod("next", 1, "data")
			r.running("next")
			r.read("next", "data")
			r.compare()
			r.end("next")
			r.detached()
			r.deleted("data")
		}},
	{name: "node-removed", about: "the virtual machine of a node and its Node object are deleted, and the volume moves",
		needs: need(creates, removes, twoNodes), run: func(r *run) {
			r.class()
			r.claim("data")
			r.pod("web", 0, "data")
			r.running("web")
			r.write("web", "data", "hello")
			r.powerOff(0)
			r.removeNode(0)
			r.forceDelete("web")
			r.remove(fake.Node(r.node(0)))
			r.pod("next", 1, "data")
			r.running("next")
			r.read("next", "data")
			r.compare()
			r.end("next")
			r.detached()
			r.deleted("data")
		}},
	{name: "claim-deleted-early", about: "a claim is deleted while its volume is being created", needs: creates, run: func(r *run) {
		r.class()
		r.claim("data")
		r.pass(time.Second)
		r.remove(fake.Claim(r.name("data"), r.gib(1)))
		r.pass(time.Hour)
	}},
	{name: "class-replaced", about: "the class gets other parameters while a volume is being created", needs: creates, run: func(r *run) {
		r.class()
		r.claim("data")
		r.pass(500 * time.Millisecond)
		r.remove(fake.Class(r.name(className), r.driver.Name()))
		r.class(fake.Parameters("volsim", "other"))
		r.pass(time.Hour)
	}},
	{name: "attachment-forgotten", about: "an administrator removes the finalizer of an attachment, and a pod of another node starts",
		needs: need(creates, attaches, twoNodes), run: func(r *run) {
			r.class()
			r.claim("data")
			r.pod("web", 0, "data")
			r.running("web")
			r.write("web", "data", "hello")
			r.stopKubelet(0)
			r.forceDelete("web")
			r.forget(0)
			r.pod("next", 1, "data")
			r.pass(20 * time.Minute)
			r.compare()
		}},
	{name: "attached-deleted", about: "an administrator removes the finalizer of an attachment, and deletes the claim",
		needs: need(creates, attaches), run: func(r *run) {
			r.class()
			r.claim("data")
			r.pod("web", 0, "data")
			r.running("web")
			r.stopKubelet(0)
			r.forceDelete("web")
			r.forget(0)
			r.remove(fake.Claim(r.name("data"), r.gib(1)))
			r.pass(20 * time.Minute)
			r.compare()
		}},
	{name: "attach-cancelled", about: "a pod is deleted while its volume is being attached to a node without kubelet", needs: need(creates, attaches), run: func(r *run) {
		r.class()
		r.claim("data")
		r.bound("data")
		r.compare()
		r.stopKubelet(0)
		r.pod("web", 0, "data")
		r.goal("an attachment exists", func() bool { return r.cluster.Attachments.Len() > 0 })
		r.pass(time.Second)
		r.forceDelete("web")
		r.pass(15 * time.Minute)
		r.detached()
		r.compare()
		r.deleted("data")
	}},
	{name: "pod-cancelled", about: "a pod is deleted while its volume is being mounted", needs: creates, run: func(r *run) {
		r.class()
		r.claim("data")
		r.bound("data")
		r.compare()
		r.pod("web", 0, "data")
		r.goal("the volume is being mounted", func() bool { return r.called("NodeStageVolume") || r.called("NodePublishVolume") })
		r.forceDelete("web")
		r.detached()
		r.compare()
		r.deleted("data")
	}},
	{name: "mount-lost", about: "the mounts of a node are lost while a pod runs, and a second pod starts there", needs: need(creates, reboots),
		run: func(r *run) {
			r.class()
			r.claim("data")
			r.pod("web", 0, "data")
			r.running("web")
			r.write("web", "data", "hello")
			r.loseMounts(0)
			r.pod("next", 0, "data")
			r.pass(10 * time.Minute)
			r.compare()
		}},
}

// shared lets pods of two nodes use one volume at once.
func (r *run) shared(mode string) {
	r.class()
	r.claim("data", fake.Modes(mode))
	r.pod("one", 0, "data")
	r.pod("two", 1, "data")
	r.running("one", "two")
	if mode == "RWX" {
		r.write("one", "data", "hello")
		r.read("two", "data")
	}
	r.compare()
	r.end("one")
	r.goal("one attachment is left", func() bool { return r.cluster.Attachments.Len() <= 1 })
	r.compare()
	r.read("two", "data")
	r.end("two")
	r.detached()
	r.deleted("data")
}

// readingPod returns a pod that mounts a claim for reading.
func (r *run) readingPod(name string, node int, claim string) api.Object {
	pod := fake.Pod(r.name(name), fake.OnNode(r.node(node)), fake.Claims(r.name(claim)))
	for i := range pod.Spec.Volumes {
		if source := pod.Spec.Volumes[i].PersistentVolumeClaim; source != nil {
			source.ReadOnly = true
		}
	}
	for i := range pod.Spec.Containers[0].VolumeMounts {
		pod.Spec.Containers[0].VolumeMounts[i].ReadOnly = true
	}
	return pod
}
