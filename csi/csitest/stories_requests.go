package csitest

import (
	"maps"
	"slices"
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
)

// requestStories are about what requests contain beside the volume, and about errors.
var requestStories = []story{
	{name: "queries", about: "volsim asks about volumes: lists, capacity, capabilities, statistics", needs: creates, run: func(r *run) {
		r.class()
		r.claim("data")
		r.claim("logs")
		r.bound("data")
		r.bound("logs")
		r.askAbout("data", "logs")
		r.pod("web", 0, "data")
		r.running("web")
		r.askAbout("data")
		node, path := r.target("web", "data")
		id := r.handle("data")
		if r.rec.caps.Stats && path != "" {
			r.ask(node, &spec.NodeGetVolumeStatsRequest{VolumeId: id, VolumePath: path}, codes.OK, "the volume is published there")
			r.ask(node, &spec.NodeGetVolumeStatsRequest{VolumeId: id, VolumePath: path + "-elsewhere"}, codes.NotFound, "the volume is not published there")
		}
		unused := r.handle("logs") // no pod uses it, so wrong answers about pods hide nothing that is asked about it
		created := r.creationOf(unused)
		r.askIncompatible("data")
		r.askElsewhere("data")
		r.end("web")
		r.detached()
		r.askAbout("data")
		if r.rec.caps.Stats && path != "" {
			r.ask(node, &spec.NodeGetVolumeStatsRequest{VolumeId: id, VolumePath: path}, codes.NotFound, "the volume is not published there any more")
		}
		r.deleted("data", "logs")
		r.askGone(unused, created)
	}},
	{name: "invalid-requests", about: "requests lack a required field", needs: creates, run: func(r *run) {
		for _, request := range r.invalidRequests() {
			node := ""
			if _, ok := request.(interface{ GetTargetPath() string }); ok {
				node = r.node(0)
			}
			if _, ok := request.(interface{ GetStagingTargetPath() string }); ok {
				node = r.node(0)
			}
			if _, ok := request.(interface{ GetVolumePath() string }); ok {
				node = r.node(0)
			}
			r.ask(node, request, codes.InvalidArgument, missingField(request)+" is missing")
		}
	}},
	{name: "volume-vanished", about: "an administrator deletes a volume in the storage system, and its PersistentVolume is used", needs: need(creates, attaches),
		run: func(r *run) {
			r.class(fake.Policy(corev1.PersistentVolumeReclaimRetain))
			r.claim("data")
			r.bound("data")
			id, secrets := r.handle("data"), map[string]string(nil)
			if c := r.creationOf(id); c != nil {
				secrets = c.GetSecrets()
			}
			if r.stopped || id == "" {
				return
			}
			_, err := r.driver.Call("", &spec.DeleteVolumeRequest{VolumeId: id, Secrets: secrets})
			r.callers[len(r.driver.Calls())] = pending{call: api.Call{Actor: "an administrator"}}
			if err != nil {
				return
			}
			r.pod("web", 0, "data")
			r.pass(5 * time.Minute)
			r.grow("data", 2)
			r.pass(5 * time.Minute)
		}},
	{name: "create-too-much", about: "a claim requests more than any storage system has", needs: creates, run: func(r *run) {
		r.class()
		r.create(fake.Claim(r.name("data"), "1000000Ti", fake.InClass(r.name(className))))
		r.pass(5 * time.Minute)
		r.compare()
		r.remove(fake.Claim(r.name("data"), "1000000Ti"))
		r.pass(time.Minute)
	}},
	{name: "attach-limit-forced", about: "pods that name their node need more volumes than it can have", needs: need(creates, attaches, limited),
		run: func(r *run) {
			r.class()
			var pods, claims []string
			for i := range int(r.rec.caps.Limit) + 1 {
				name := string(rune('a' + i))
				pods, claims = append(pods, "pod-"+name), append(claims, "data-"+name)
				r.claim("data-" + name)
				r.pod("pod-"+name, 0, "data-"+name)
			}
			r.pass(10 * time.Minute)
			r.compare()
			for _, pod := range pods {
				r.forceDelete(pod)
			}
			r.detached()
			r.deleted(claims...)
		}},
	{name: "attach-limit-restart", about: "the kubelet restarts on a node that has as many volumes as it can have", needs: need(creates, attaches, limited),
		run: func(r *run) {
			r.class()
			var pods, claims []string
			for i := range int(r.rec.caps.Limit) {
				name := string(rune('a' + i))
				pods, claims = append(pods, "pod-"+name), append(claims, "data-"+name)
				r.claim("data-" + name)
				r.pod("pod-"+name, 0, "data-"+name)
			}
			r.running(pods...)
			r.restartKubelet(0, time.Minute)
			r.pass(5 * time.Minute)
			r.compare()
			r.end(pods...)
			r.detached()
			r.deleted(claims...)
		}},
	{name: "node-missing", about: "a volume is attached to a node that the storage system does not have any more", needs: need(creates, attaches, removes),
		run: func(r *run) {
			r.class()
			r.claim("data")
			r.bound("data")
			r.removeNode(0)
			r.pod("web", 0, "data")
			r.pass(5 * time.Minute)
			r.forceDelete("web")
			r.detached()
			r.compare()
			r.deleted("data")
		}},
	{name: "secrets", about: "each call has a secret of its own, named by templates of the StorageClass", needs: creates, run: func(r *run) {
		r.secretClass()
		r.claim("data")
		for _, kind := range secretKinds {
			r.secret("data-"+kind, kind)
		}
		r.pod("web", 0, "data")
		r.running("web")
		if expandsOnline(r.cfg, r.rec.caps) == "" {
			r.grow("data", 2)
			r.grown("data", 2)
		}
		r.compare()
		r.finishLife("web")
	}},
	{name: "secrets-late", about: "secrets are created after they are needed", needs: creates, run: func(r *run) {
		r.secretClass()
		r.claim("data")
		r.pod("web", 0, "data")
		for _, kind := range secretKinds {
			r.pass(2 * time.Minute)
			r.secret("data-"+kind, kind)
		}
		r.running("web")
		r.compare()
		r.finishLife("web")
	}},
	{name: "secrets-wrong", about: "secrets are wrong until an administrator corrects them", needs: creates, run: func(r *run) {
		r.secretClass()
		for _, kind := range secretKinds {
			r.wrongSecret("data-"+kind, kind)
		}
		r.claim("data")
		r.pod("web", 0, "data")
		for _, kind := range secretKinds {
			r.pass(2 * time.Minute)
			r.remove(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: r.name("data-" + kind)}})
			r.secret("data-"+kind, kind)
		}
		r.running("web")
		r.compare()
		r.finishLife("web")
	}},
	{name: "mount-options", about: "the StorageClass has a mount option", needs: creates, run: func(r *run) {
		r.class(fake.MountOptions("noatime"))
		r.claim("data")
		r.pod("web", 0, "data")
		r.running("web")
		r.compare()
		r.create(r.readingPod("reader", 0, "data"))
		r.running("reader")
		r.compare()
		r.end("web")
		r.finishLife("reader")
	}},
	{name: "group", about: "pods with a group use a volume one after the other", needs: creates, run: func(r *run) {
		r.class(fake.Parameters("csi.storage.k8s.io/fstype", r.fsType()))
		r.claim("data")
		for _, name := range []string{"web", "next"} {
			pod := fake.Pod(r.name(name), fake.OnNode(r.node(0)), fake.Claims(r.name("data")))
			pod.Spec.SecurityContext = &corev1.PodSecurityContext{FSGroup: new(int64(1000))}
			r.create(pod)
			r.running(name)
			r.compare()
			r.end(name)
			r.detached()
		}
		r.deleted("data")
	}},
	{name: "tokens", about: "the driver gets tokens of the pod's service account, and the volume is published again with new ones", needs: creates,
		object: republishes,
		run: func(r *run) {
			r.class()
			r.claim("data")
			r.pod("web", 0, "data")
			r.running("web")
			r.write("web", "data", "hello")
			r.pass(20 * time.Minute)
			r.read("web", "data")
			r.compare()
			r.finishLife("web")
		}},
	{name: "inline", about: "a volume in the pod itself lives as long as the pod", needs: inlines, object: inlineDriver, run: func(r *run) {
		r.create(r.inlinePod("web", 0))
		r.running("web")
		r.compare()
		r.end("web")
		r.compare()
	}},
	{name: "inline-kubelet-restart", about: "the kubelet restarts while a pod uses a volume of its own", needs: inlines, object: inlineDriver,
		run: func(r *run) {
			r.create(r.inlinePod("web", 0))
			r.create(r.inlinePod("next", 0))
			r.running("web", "next")
			r.restartKubelet(0, time.Minute)
			r.pass(5 * time.Minute)
			r.compare()
			r.end("web")
			r.compare()
			r.end("next")
			r.compare()
		}},
	{name: "inline-tokens", about: "a volume in the pod itself is published again, with new tokens of the pod's service account", needs: inlines,
		object: func(s *storagev1.CSIDriverSpec) { inlineDriver(s); republishes(s) }, run: func(r *run) {
			r.create(r.inlinePod("web", 0))
			r.running("web")
			r.pass(20 * time.Minute)
			r.compare()
			r.end("web")
			r.compare()
		}},
}

// republishes makes the kubelet publish volumes again and again, with tokens.
func republishes(s *storagev1.CSIDriverSpec) {
	s.PodInfoOnMount, s.RequiresRepublish = new(true), new(true)
	if len(s.TokenRequests) == 0 {
		s.TokenRequests = []storagev1.TokenRequest{{Audience: "volsim", ExpirationSeconds: new(int64(600))}}
	}
}

func inlines(cfg *Config, _ capabilities) string {
	return lacks(cfg.Inline != nil, "Config.Inline (--inline)")
}

func inlineDriver(s *storagev1.CSIDriverSpec) {
	s.PodInfoOnMount = new(true)
	if !slices.Contains(s.VolumeLifecycleModes, storagev1.VolumeLifecycleEphemeral) {
		s.VolumeLifecycleModes = []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent, storagev1.VolumeLifecycleEphemeral}
	}
}

// inlinePod returns a pod with a CSI volume of its own.
func (r *run) inlinePod(name string, node int) *corev1.Pod {
	pod := fake.Pod(r.name(name), fake.OnNode(r.node(node)))
	source := &corev1.CSIVolumeSource{Driver: r.driver.Name(), VolumeAttributes: maps.Clone(r.cfg.Inline), ReadOnly: new(r.cfg.InlineReadOnly)}
	if len(r.cfg.Secrets) > 0 {
		source.NodePublishSecretRef = &corev1.LocalObjectReference{Name: commonSecret}
	}
	pod.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{CSI: source}}}
	pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "scratch", MountPath: "/scratch", ReadOnly: r.cfg.InlineReadOnly}}
	return pod
}

// fsType returns the file system of volumes with a group: that of Config.Parameters, or ext4.
func (r *run) fsType() string { return orElse(r.cfg.Parameters["csi.storage.k8s.io/fstype"], "ext4") }

// secretKinds are the calls that have a secret of their own.
var secretKinds = []string{"provisioner", "controller-publish", "node-stage", "node-publish", "controller-expand", "node-expand"}

// secretClass creates a StorageClass that names a secret for each call.
func (r *run) secretClass() {
	var pairs []string
	for _, kind := range secretKinds {
		pairs = append(pairs, "csi.storage.k8s.io/"+kind+"-secret-name", "${pvc.name}-"+kind, "csi.storage.k8s.io/"+kind+"-secret-namespace", "${pvc.namespace}")
	}
	r.class(fake.Parameters(pairs...))
}

// secret creates a Secret for one kind of call.
func (r *run) secret(name, kind string) { r.createSecret(name, r.secretContent(kind)) }

// wrongSecret creates a Secret with which no storage system lets a driver in.
func (r *run) wrongSecret(name, kind string) {
	content := r.secretContent(kind)
	for key := range content {
		content[key] += "-wrong"
	}
	r.createSecret(name, content)
}

func (r *run) secretContent(kind string) map[string]string {
	if r.cfg.Secrets == nil {
		return map[string]string{"volsim": "secret-of-" + kind}
	}
	return maps.Clone(r.cfg.Secrets)
}

func (r *run) createSecret(name string, content map[string]string) {
	r.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: r.name(name)}, StringData: content})
}

// missingField returns the name of the required field that a request lacks.
func missingField(request proto.Message) string {
	m := request.ProtoReflect()
	for _, name := range []protoreflect.Name{"name", "volume_id", "volume_path", "node_id", "volume_capabilities", "target_path", "volume_capability",
		"staging_target_path"} {
		if field := m.Descriptor().Fields().ByName(name); field != nil && !m.Has(field) {
			return string(name)
		}
	}
	return "a required field"
}

// invalidRequests returns requests that lack a required field.
func (r *run) invalidRequests() []proto.Message {
	caps, volume := r.rec.caps, "volsim-"+r.name("invalid")
	writer := &spec.VolumeCapability{AccessType: &spec.VolumeCapability_Mount{Mount: &spec.VolumeCapability_MountVolume{}},
		AccessMode: &spec.VolumeCapability_AccessMode{Mode: spec.VolumeCapability_AccessMode_SINGLE_NODE_WRITER}}
	all := []proto.Message{
		&spec.CreateVolumeRequest{VolumeCapabilities: []*spec.VolumeCapability{writer}, Parameters: r.cfg.Parameters},
		&spec.CreateVolumeRequest{Name: volume, Parameters: r.cfg.Parameters},
		&spec.DeleteVolumeRequest{},
		&spec.ValidateVolumeCapabilitiesRequest{VolumeCapabilities: []*spec.VolumeCapability{writer}},
		&spec.NodePublishVolumeRequest{TargetPath: "/volsim/target", VolumeCapability: writer},
		&spec.NodePublishVolumeRequest{VolumeId: volume, VolumeCapability: writer},
		&spec.NodePublishVolumeRequest{VolumeId: volume, TargetPath: "/volsim/target"},
		&spec.NodeUnpublishVolumeRequest{TargetPath: "/volsim/target"},
		&spec.NodeUnpublishVolumeRequest{VolumeId: volume},
	}
	optional := func(has bool, requests ...proto.Message) {
		if has {
			all = append(all, requests...)
		}
	}
	optional(caps.Attach, &spec.ControllerPublishVolumeRequest{NodeId: r.node(0), VolumeCapability: writer},
		&spec.ControllerPublishVolumeRequest{VolumeId: volume, VolumeCapability: writer},
		&spec.ControllerPublishVolumeRequest{VolumeId: volume, NodeId: r.node(0)}, &spec.ControllerUnpublishVolumeRequest{NodeId: r.node(0)})
	optional(caps.Expand, &spec.ControllerExpandVolumeRequest{CapacityRange: &spec.CapacityRange{RequiredBytes: 1 << 30}})
	optional(caps.Stage, &spec.NodeStageVolumeRequest{StagingTargetPath: "/volsim/staging", VolumeCapability: writer},
		&spec.NodeStageVolumeRequest{VolumeId: volume, VolumeCapability: writer},
		&spec.NodeStageVolumeRequest{VolumeId: volume, StagingTargetPath: "/volsim/staging"},
		&spec.NodeUnstageVolumeRequest{StagingTargetPath: "/volsim/staging"}, &spec.NodeUnstageVolumeRequest{VolumeId: volume})
	optional(caps.Stats, &spec.NodeGetVolumeStatsRequest{VolumePath: "/volsim/target"}, &spec.NodeGetVolumeStatsRequest{VolumeId: volume})
	optional(caps.NodeExpand, &spec.NodeExpandVolumeRequest{VolumePath: "/volsim/target"}, &spec.NodeExpandVolumeRequest{VolumeId: volume})
	optional(caps.GetVolume, &spec.ControllerGetVolumeRequest{})
	return slices.Clip(all)
}
