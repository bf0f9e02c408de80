package csitest

import (
	"slices"
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/volsim/volsim/fake"
)

// askToShrink repeats the expansion of the volume of a claim with its first size, as a call does that arrives late.
func (r *run) askToShrink(claim string) {
	for _, c := range r.driver.Calls() {
		if last, ok := c.Request.(*spec.ControllerExpandVolumeRequest); ok && last.GetVolumeId() == r.handle(claim) && c.Err == nil {
			late := proto.Clone(last).(*spec.ControllerExpandVolumeRequest)
			late.CapacityRange.RequiredBytes = int64(r.cfg.Size) << 30
			r.ask("", late, codes.OK, "the volume is larger already")
			return
		}
	}
}

// askToLimit asks for a volume of a claim that has one byte more, and no further one.
func (r *run) askToLimit(claim string) {
	for _, c := range slices.Backward(r.driver.Calls()) {
		if last, ok := c.Request.(*spec.ControllerExpandVolumeRequest); ok && last.GetVolumeId() == r.handle(claim) && c.Err == nil {
			limited := proto.Clone(last).(*spec.ControllerExpandVolumeRequest)
			bytes := last.GetCapacityRange().GetRequiredBytes() + 1
			limited.CapacityRange = &spec.CapacityRange{RequiredBytes: bytes, LimitBytes: bytes}
			r.ask("", limited, codes.OK, "a volume can have these bytes") // or an error
			return
		}
	}
}

// expansionStories are about volumes that grow.
var expansionStories = []story{
	{name: "expand-online", about: "a volume grows while a pod uses it", needs: need(creates, expandsOnline), run: func(r *run) {
		r.class()
		r.claim("data")
		r.pod("web", 0, "data")
		r.running("web")
		r.measure("web", "data")
		r.grow("data", 2)
		r.grown("data", 2)
		r.measure("web", "data")
		r.compare()
		r.finishLife("web")
	}},
	{name: "expand-offline", about: "a volume grows between two pods", needs: need(creates, expands), run: func(r *run) {
		r.class()
		r.claim("data")
		r.pod("first", 0, "data")
		r.running("first")
		r.measure("first", "data")
		r.write("first", "data", "hello")
		r.end("first")
		r.detached()
		r.grow("data", 2)
		r.pass(10 * time.Minute)
		r.askToLimit("data")
		r.compare()
		r.pod("web", 0, "data")
		r.running("web")
		r.grown("data", 2)
		r.measure("web", "data")
		r.read("web", "data")
		r.finishLife("web")
	}},
	{name: "expand-when-unused", about: "a volume grows as soon as no pod uses it", needs: need(creates, attaches, expandsOffline), run: func(r *run) {
		r.class()
		r.claim("data")
		r.pod("first", 0, "data")
		r.running("first")
		r.measure("first", "data")
		r.grow("data", 2)
		r.pass(5 * time.Minute)
		r.compare()
		r.end("first")
		r.detached()
		r.pass(10 * time.Minute)
		r.pod("web", 0, "data")
		r.running("web")
		r.grown("data", 2)
		r.measure("web", "data")
		r.finishLife("web")
	}},
	{name: "expand-unused", about: "a volume grows before its first pod", needs: need(creates, expands), run: func(r *run) {
		r.class()
		r.claim("data")
		r.bound("data")
		r.grow("data", 2)
		r.pass(time.Minute)
		r.askToShrink("data")
		r.compare()
		r.pod("web", 0, "data")
		r.running("web")
		r.grown("data", 2)
		r.finishLife("web")
	}},
	{name: "expand-while-ending", about: "a volume grows while its pod ends", needs: need(creates, expandsOnline), run: func(r *run) {
		r.class()
		r.claim("data")
		r.pod("web", 0, "data")
		r.running("web")
		r.grow("data", 2)
		r.end("web")
		r.pod("next", 0, "data")
		r.running("next")
		r.grown("data", 2)
		r.compare()
		r.finishLife("next")
	}},
	{name: "expand-twice", about: "a volume grows, and again before the first expansion has ended", needs: need(creates, expandsOnline), run: func(r *run) {
		r.class()
		r.claim("data")
		r.pod("web", 0, "data")
		r.running("web")
		r.measure("web", "data")
		r.grow("data", 2)
		r.pass(50 * time.Millisecond)
		r.grow("data", 3)
		r.grown("data", 3)
		r.measure("web", "data")
		r.compare()
		r.finishLife("web")
	}},
	{name: "expand-shared", about: "a volume grows while pods on two nodes use it", needs: need(creates, expandsOnline, twoNodes, supports("ReadWriteMany")),
		run: func(r *run) {
			r.class()
			r.claim("data", fake.Modes("RWX"))
			r.pod("one", 0, "data")
			r.pod("two", 1, "data")
			r.running("one", "two")
			r.grow("data", 2)
			r.grown("data", 2)
			r.compare()
			r.end("one")
			r.finishLife("two")
		}},
	{name: "expand-block", about: "a device grows while a pod uses it", needs: need(creates, expandsOnline, supports("Block")), run: func(r *run) {
		r.class()
		r.claim("data", fake.Block())
		r.create(fake.Pod(r.name("web"), fake.OnNode(r.node(0)), fake.BlockClaims(r.name("data"))))
		r.running("web")
		r.grow("data", 2)
		r.grown("data", 2)
		r.compare()
		r.finishLife("web")
	}},
	{name: "expand-and-delete", about: "a claim is deleted while its volume grows", needs: need(creates, expands), run: func(r *run) {
		r.class()
		r.claim("data")
		r.bound("data")
		r.grow("data", 2)
		r.pass(50 * time.Millisecond)
		r.deleted("data")
	}},
	{name: "expand-too-much", about: "a request for too much space fails and is taken back", needs: need(creates, expandsOnline), run: func(r *run) {
		r.class()
		r.claim("data")
		r.pod("web", 0, "data")
		r.running("web")
		r.do(func() error {
			return r.cluster.Patch(fake.Claim(r.name("data"), "1Gi"), `{"spec":{"resources":{"requests":{"storage":"1000000Ti"}}}}`)
		})
		r.pass(5 * time.Minute)
		if c, err := r.cluster.Claims.Get(r.name("data")); err == nil && c.Status.Capacity.Storage().Value() > impossible {
			r.finishLife("web") // the driver has no limit, and claims do not shrink
			return
		}
		r.grow("data", 2)
		r.grown("data", 2)
		r.compare()
		r.finishLife("web")
	}},
	{name: "expand-kubelet-down", about: "a volume grows while the kubelet is down", needs: need(creates, expandsOnline), run: func(r *run) {
		r.class()
		r.claim("data")
		r.pod("web", 0, "data")
		r.running("web")
		r.measure("web", "data")
		r.stopKubelet(0)
		r.grow("data", 2)
		r.pass(time.Minute)
		r.powerOn(0)
		r.grown("data", 2)
		r.measure("web", "data")
		r.compare()
		r.finishLife("web")
	}},
	{name: "expand-and-move", about: "a volume grows while it moves to another node", needs: need(creates, expandsOnline, twoNodes), run: func(r *run) {
		r.class()
		r.claim("data")
		r.pod("web", 0, "data")
		r.running("web")
		r.grow("data", 2)
		r.end("web")
		r.pod("next", 1, "data")
		r.running("next")
		r.grown("data", 2)
		r.compare()
		r.finishLife("next")
	}},
}
