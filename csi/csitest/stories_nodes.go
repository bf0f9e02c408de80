package csitest

import (
	"time"

	"github.com/volsim/volsim/fake"
)

// nodeStories are about nodes, kubelets and sidecars that fail.
var nodeStories = []story{
	{name: "kubelet-restart-early", about: "the kubelet restarts before the pod runs", needs: creates, run: func(r *run) {
		r.class()
		r.claim("data")
		r.bound("data")
		r.pod("web", 0, "data")
		r.goal("the volume is being mounted", func() bool { return r.called("NodeStageVolume") || r.called("NodePublishVolume") })
		r.restartKubelet(0, time.Second)
		r.running("web")
		r.compare()
		r.finishLife("web")
	}},
	{name: "kubelet-restart-ending", about: "the kubelet restarts while the pod ends", needs: creates, run: func(r *run) {
		r.class()
		r.claim("data")
		r.pod("web", 0, "data")
		r.running("web")
		r.remove(fake.Pod(r.name("web")))
		r.goal("the volume is being unmounted", func() bool { return r.called("NodeUnpublishVolume") })
		r.restartKubelet(0, time.Second)
		r.finishLife("web")
	}},
	{name: "kubelet-restart-two-pods", about: "the kubelet restarts while two pods use a volume, and one is gone meanwhile", needs: creates,
		run: func(r *run) {
			r.class()
			r.claim("data")
			r.pod("one", 0, "data")
			r.pod("two", 0, "data")
			r.running("one", "two")
			r.stopKubelet(0)
			r.forceDelete("one")
			r.pass(time.Minute)
			r.powerOn(0)
			r.pass(5 * time.Minute)
			r.compare()
			r.finishLife("two")
		}},
	{name: "block-kubelet-restart", about: "the kubelet restarts while a pod uses a device", needs: need(creates, supports("Block")), run: func(r *run) {
		r.class()
		r.claim("data", fake.Block())
		r.create(fake.Pod(r.name("web"), fake.OnNode(r.node(0)), fake.BlockClaims(r.name("data"))))
		r.running("web")
		r.restartKubelet(0, time.Minute)
		r.pass(5 * time.Minute)
		r.compare()
		r.finishLife("web")
	}},
	{name: "node-cut-off", about: "a node is cut off from the API server, its pod is deleted by force, and the volume moves while the pod still runs",
		needs: need(creates, twoNodes), run: func(r *run) {
			r.class()
			r.claim("data")
			r.pod("web", 0, "data")
			r.running("web")
			r.write("web", "data", "hello")
			r.partition(0, true)
			r.pass(time.Minute)
			r.forceDelete("web")
			r.pod("next", 1, "data")
			r.running("next")
			r.read("next", "data")
			r.partition(0, false)
			r.unstaged(0)
			r.compare()
			r.finishLife("next")
		}},
	{name: "node-shuts-down", about: "a node shuts down gracefully and returns", needs: need(creates, reboots), run: func(r *run) {
		r.class()
		r.claim("data")
		r.pod("web", 0, "data")
		r.running("web")
		r.write("web", "data", "hello")
		r.shutDown(0)
		r.pass(time.Minute)
		r.powerOn(0)
		r.end("web")
		r.pod("next", 0, "data")
		r.running("next")
		r.read("next", "data")
		r.compare()
		r.finishLife("next")
	}},
	{name: "node-reboots-shared", about: "one of two nodes that share a volume reboots", needs: need(creates, reboots, twoNodes, supports("ReadWriteMany")),
		run: func(r *run) {
			r.class()
			r.claim("data", fake.Modes("RWX"))
			r.pod("one", 0, "data")
			r.pod("two", 1, "data")
			r.running("one", "two")
			r.write("one", "data", "hello")
			r.powerOff(0)
			r.pass(20 * time.Second)
			r.powerOn(0)
			r.pass(10 * time.Minute)
			r.running("one")
			r.read("two", "data")
			r.compare()
			r.end("one")
			r.finishLife("two")
		}},
	{name: "attacher-down", about: "the external-attacher is down while a pod ends", needs: need(creates, attaches), run: func(r *run) {
		r.class()
		r.claim("data")
		r.pod("web", 0, "data")
		r.running("web")
		r.sidecarDown("external-attacher", 10*time.Minute, func() { r.remove(fake.Pod(r.name("web"))) })
		r.finishLife("web")
	}},
	{name: "provisioner-down", about: "the external-provisioner is down while a claim is deleted", needs: creates, run: func(r *run) {
		r.class()
		r.claim("data")
		r.bound("data")
		r.sidecarDown("external-provisioner", 10*time.Minute, func() { r.remove(fake.Claim(r.name("data"), r.gib(1))) })
		r.goal("the volume is gone", func() bool { return r.cluster.Volumes.Len() == 0 })
	}},
	{name: "resizer-down", about: "the external-resizer is down while a claim grows", needs: need(creates, expandsOnline), run: func(r *run) {
		r.class()
		r.claim("data")
		r.pod("web", 0, "data")
		r.running("web")
		r.sidecarDown("external-resizer", 10*time.Minute, func() { r.grow("data", 2) })
		r.grown("data", 2)
		r.compare()
		r.finishLife("web")
	}},
}

// partition cuts a node off from the API server, or ends that.
func (r *run) partition(i int, cut bool) {
	if node, err := r.cluster.Node(r.node(i)); err == nil && !r.stopped {
		node.Partition(cut)
	}
}

// unstaged waits until a kubelet uses no volume any more.
func (r *run) unstaged(i int) {
	r.pass(5 * time.Minute)
	r.goal("the volume is unstaged on node "+r.node(i), func() bool {
		node, err := r.cluster.Nodes.Get(r.node(i))
		return err == nil && len(node.Status.VolumesInUse) == 0
	})
}

// shutDown shuts a node down gracefully.
func (r *run) shutDown(i int) {
	if node, err := r.cluster.Node(r.node(i)); err == nil && !r.stopped {
		node.ShutDown(map[int32]time.Duration{0: 30 * time.Second})
	}
}

// sidecarDown stops a sidecar, makes a change, and starts the sidecar again.
func (r *run) sidecarDown(name string, d time.Duration, change func()) {
	actor := name + "/" + r.driver.Name()
	r.do(func() error { return r.cluster.Crash(actor) })
	change()
	r.pass(d)
	r.do(func() error { return r.cluster.Restart(actor) })
}
