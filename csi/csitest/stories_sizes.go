package csitest

import (
	"fmt"
	"slices"
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/volsim/volsim/fake"
)

// sizeStories are about sizes that no storage system has, and about where volumes are made.
var sizeStories = []story{
	{name: "odd-size", about: "a claim requests one byte more than its size in GiB, and grows to such a size", needs: creates, run: func(r *run) {
		r.class()
		r.create(fake.Claim(r.name("data"), r.odd(1), fake.InClass(r.name(className))))
		r.pod("web", 0, "data")
		r.running("web")
		r.compare()
		if expandsOnline(r.cfg, r.rec.caps) == "" {
			r.do(func() error {
				return r.cluster.Patch(fake.Claim(r.name("data"), "1Gi"), `{"spec":{"resources":{"requests":{"storage":"`+r.odd(2)+`"}}}}`)
			})
			r.grown("data", 2)
			r.compare()
		}
		r.finishLife("web")
	}},
	{name: "create-queries", about: "volsim creates a volume again with another size, a copy of none, and one with a limit", needs: creates, run: func(r *run) {
		r.class()
		r.claim("data")
		r.bound("data")
		create := r.creationOf(r.handle("data"))
		if create == nil || r.sizeless(create) {
			return
		}
		larger, size := proto.Clone(create).(*spec.CreateVolumeRequest), resource.MustParse(r.space(4))
		larger.CapacityRange = &spec.CapacityRange{RequiredBytes: size.Value()}
		r.ask("", larger, codes.AlreadyExists, "a volume of that name exists, and it is smaller than required_bytes")
		if r.rec.caps.Clone {
			missing := proto.Clone(create).(*spec.CreateVolumeRequest)
			missing.Name = "volsim-" + r.name("missing")
			missing.VolumeContentSource = &spec.VolumeContentSource{Type: &spec.VolumeContentSource_Volume{
				Volume: &spec.VolumeContentSource_VolumeSource{VolumeId: "volsim-" + r.name("none")}}}
			r.askWithoutSource(missing, "the volume in volume_content_source does not exist")
			r.compare()
		}
		sizeless := proto.Clone(create).(*spec.CreateVolumeRequest)
		sizeless.Name, sizeless.CapacityRange = "volsim-"+r.name("sizeless"), nil
		r.askToCreate(sizeless, codes.OK, "capacity_range is OPTIONAL")
		limited := proto.Clone(create).(*spec.CreateVolumeRequest)
		limited.Name = "volsim-" + r.name("limited")
		bytes := int64(r.cfg.Size)<<30 + 1
		limited.CapacityRange = &spec.CapacityRange{RequiredBytes: bytes, LimitBytes: bytes}
		r.askToCreate(limited, codes.OutOfRange, "the volume has at least required_bytes and at most limit_bytes")
		r.deleted("data")
	}},
	{name: "zones", about: "the volume is created for a pod that can run on the last node only, and the next pod on the first one", needs: need(creates, otherNode, zoned), run: func(r *run) {
		r.class(fake.WaitForFirstConsumer())
		r.claim("data")
		last := r.node(len(r.nodes) - 1)
		pod := fake.Pod(r.name("web"), fake.Claims(r.name("data")))
		pod.Spec.NodeSelector = map[string]string{"kubernetes.io/hostname": last}
		r.create(pod)
		r.running("web")
		r.compare()
		r.end("web")
		r.detached()
		next := fake.Pod(r.name("next"), fake.Claims(r.name("data")))
		next.Spec.NodeSelector = map[string]string{"kubernetes.io/hostname": r.node(0)}
		r.create(next)
		r.goal("pod next runs or cannot be scheduled", func() bool {
			p, err := r.cluster.Pods.Get(r.name("next"))
			return err == nil && (p.Status.Phase == corev1.PodRunning || slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
				return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse
			}))
		})
		r.compare()
		r.finishLife("next")
	}},
	{name: "capacity", about: "the driver says how much it has, and the pod is scheduled where that is enough", needs: need(creates, zoned, tellsCapacity),
		object: func(s *storagev1.CSIDriverSpec) { s.StorageCapacity = new(true) },
		run: func(r *run) {
			r.class(fake.WaitForFirstConsumer())
			r.claim("data")
			r.create(fake.Pod(r.name("web"), fake.Claims(r.name("data"))))
			r.running("web")
			r.compare()
			r.pass(90 * time.Second)
			r.finishLife("web")
		}},
	{name: "snapshot-of-writer", about: "a pod goes on writing as soon as the snapshot of its volume was taken", needs: need(creates, snapshots), run: func(r *run) {
		r.class()
		r.snapshotClass("snap", "Delete")
		r.claim("data")
		r.pod("web", 0, "data")
		r.running("web")
		r.write("web", "data", "hello")
		r.snapshot("first", "data", "snap")
		r.goal("the snapshot is taken", func() bool { return r.succeeded("CreateSnapshot") })
		r.write("web", "data", "world")
		r.snapshotReady("first")
		r.restore("copy", "first", 1)
		r.pod("next", 0, "copy")
		r.running("next")
		r.read("next", "copy")
		r.read("web", "data")
		r.compare()
		r.end("web", "next")
		r.detached()
		r.snapshotDeleted("first")
		r.deleted("data", "copy")
	}},
}

func zoned(_ *Config, c capabilities) string {
	return lacks(c.Topology, "VOLUME_ACCESSIBILITY_CONSTRAINTS")
}

// askToCreate creates a volume and deletes it. The driver may refuse with the other code; OK is none.
func (r *run) askToCreate(request *spec.CreateVolumeRequest, or codes.Code, why string) {
	reply, ok := r.askOr("", request, codes.OK, or, why).(*spec.CreateVolumeResponse)
	r.compare()
	if id := reply.GetVolume().GetVolumeId(); ok && id != "" {
		r.ask("", &spec.DeleteVolumeRequest{VolumeId: id, Secrets: request.GetSecrets()}, codes.OK, "the volume is not used")
		r.compare()
	}
}

// sizeless reports whether the driver does not say how large a volume is.
func (r *run) sizeless(create *spec.CreateVolumeRequest) bool {
	for _, c := range r.driver.Calls() {
		if reply := createdBy(&c); reply != nil && c.Volume == create.GetName() {
			return reply.GetVolume().GetCapacityBytes() == 0
		}
	}
	return false
}

// odd returns a multiple of the size of volumes and one byte.
func (r *run) odd(times int) string {
	size := resource.MustParse(r.space(times))
	return fmt.Sprint(size.Value() + 1)
}

// succeeded reports whether a caller got a reply to a call of that method.
func (r *run) succeeded(method string) bool {
	for _, c := range r.driver.Calls() {
		if c.Method == method && c.Err == nil && len(c.Replies) > 0 {
			return true
		}
	}
	return false
}

// last returns the last request of a type for the volume of a claim that succeeded, with its node.
func last[R interface {
	proto.Message
	GetVolumeId() string
}](r *run, claim string) (request R, node string, ok bool) {
	for _, c := range r.driver.Calls() {
		if req, is := c.Request.(R); is && req.GetVolumeId() == r.handle(claim) && c.Err == nil {
			request, node, ok = proto.Clone(req).(R), c.Node, true
		}
	}
	return request, node, ok
}

// askSecondPath publishes a volume for one pod at a second path.
func (r *run) askSecondPath(claim string) {
	if publish, node, ok := last[*spec.NodePublishVolumeRequest](r, claim); ok && r.rec.caps.SingleNodeMultiWriter {
		publish.TargetPath += "-second"
		r.ask(node, publish, codes.FailedPrecondition, "the access mode is SINGLE_NODE_SINGLE_WRITER, and the volume is published at another path")
	}
}

// askStats asks for the statistics of a published volume.
func (r *run) askStats(claim string) {
	if publish, node, ok := last[*spec.NodePublishVolumeRequest](r, claim); ok && r.rec.caps.Stats {
		r.ask(node, &spec.NodeGetVolumeStatsRequest{VolumeId: publish.GetVolumeId(), VolumePath: publish.GetTargetPath()}, codes.OK,
			"the volume is published there")
	}
}

// askIncompatible publishes a volume again where it is published, with another readonly.
func (r *run) askIncompatible(claim string) {
	if publish, _, ok := last[*spec.ControllerPublishVolumeRequest](r, claim); ok && r.rec.caps.ReadOnly {
		publish.Readonly = !publish.GetReadonly()
		r.ask("", publish, codes.AlreadyExists, "the volume is published at the node with another readonly")
	}
	if publish, node, ok := last[*spec.NodePublishVolumeRequest](r, claim); ok {
		publish.Readonly = !publish.GetReadonly()
		r.ask(node, publish, codes.AlreadyExists, "the volume is published at target_path with another readonly")
	}
}

// askElsewhere unstages a volume at a path where it is not staged.
func (r *run) askElsewhere(claim string) {
	if stage, node, ok := last[*spec.NodeStageVolumeRequest](r, claim); ok {
		r.ask(node, &spec.NodeUnstageVolumeRequest{VolumeId: stage.GetVolumeId(), StagingTargetPath: stage.GetStagingTargetPath() + "-elsewhere"},
			codes.OK, "the volume is not staged there")
		r.compare()
	}
}

// askToModify modifies a volume with a parameter that no driver has.
func (r *run) askToModify(claim string) {
	if modify, _, ok := last[*spec.ControllerModifyVolumeRequest](r, claim); ok {
		modify.MutableParameters = map[string]string{"volsim-no-such-parameter": "1"}
		r.ask("", modify, codes.InvalidArgument, "the parameter is not supported")
		r.pass(time.Second)
	}
}
