package csitest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/csi"
	"github.com/volsim/volsim/fake"
)

// patience is how long a story waits for a goal, in virtual time. It is more than all retries that one or two faults cause.
const patience = 40 * time.Minute

const className = "csi"

// commonSecret is the Secret with Config.Secrets.
const commonSecret = "volsim"

// do changes objects, unless a goal was missed before. A change that the API server rejects ends the story.
func (r *run) do(change func() error) {
	if r.stopped {
		return
	}
	if err := change(); err != nil {
		r.stopped, r.rec.cut = true, err.Error()
	}
}

func (r *run) create(objs ...api.Object) { r.do(func() error { return r.cluster.Create(objs...) }) }

// remove deletes an object, if it exists.
func (r *run) remove(obj api.Object) {
	r.do(func() error {
		if err := r.cluster.Delete(obj); !apierrors.IsNotFound(err) {
			return err
		}
		return nil
	})
}

// name returns the name of an object in this run.
func (r *run) name(name string) string { return r.prefix + name }

// node returns the name of a node, counted from 0.
func (r *run) node(i int) string { return r.nodes[i] }

// class creates the StorageClass of the story. Volumes that are created before their first pod are made where the first node reaches them.
func (r *run) class(opts ...fake.Option) {
	var pairs []string
	for key, value := range r.parameters() {
		pairs = append(pairs, key, value)
	}
	class := fake.Class(r.name(className), r.driver.Name(), append([]fake.Option{fake.Expandable(), fake.Parameters(pairs...)}, opts...)...)
	if class.VolumeBindingMode == nil || *class.VolumeBindingMode == storagev1.VolumeBindingImmediate {
		class.AllowedTopologies = r.allowed()
	}
	r.create(class)
}

// allowed returns the topology of the first node, if others have another one.
func (r *run) allowed() []corev1.TopologySelectorTerm {
	node, err := r.cluster.Nodes.Get(r.node(0))
	if err != nil || len(r.cfg.far) == 0 {
		return nil
	}
	term := corev1.TopologySelectorTerm{}
	for _, key := range r.cfg.topology {
		term.MatchLabelExpressions = append(term.MatchLabelExpressions, corev1.TopologySelectorLabelRequirement{Key: key, Values: []string{node.Labels[key]}})
	}
	return []corev1.TopologySelectorTerm{term}
}

// parameters returns those of the StorageClass.
func (r *run) parameters() map[string]string {
	parameters := map[string]string{}
	maps.Copy(parameters, r.cfg.Parameters)
	if len(r.cfg.Secrets) > 0 {
		parameters["csi.storage.k8s.io/secret-name"], parameters["csi.storage.k8s.io/secret-namespace"] = commonSecret, "default"
	}
	return parameters
}

// claim creates a claim.
func (r *run) claim(name string, opts ...fake.Option) {
	r.create(fake.Claim(r.name(name), r.gib(1), append([]fake.Option{fake.InClass(r.name(className))}, opts...)...))
}

// gib returns a multiple of the size of volumes.
func (r *run) gib(times int) string { return fmt.Sprintf("%dGi", r.cfg.Size*times) }

// space returns a multiple of the size that volumes have. It is larger than Config.Size if the driver makes larger ones.
func (r *run) space(times int) string {
	size := int64(r.cfg.Size) << 30
	for _, c := range r.driver.Calls() {
		reply := createdBy(&c)
		if reply == nil {
			continue
		}
		if has := reply.GetVolume().GetCapacityBytes(); has > size && has < impossible {
			size = (has + 1<<30 - 1) >> 30 << 30
		}
		break
	}
	return fmt.Sprintf("%dGi", size>>30*int64(times))
}

// createdBy returns the first reply of a CreateVolume that succeeded, nil for another call.
func createdBy(c *csi.Call) *spec.CreateVolumeResponse {
	for _, reply := range c.Replies {
		if created, ok := reply.Message.(*spec.CreateVolumeResponse); ok {
			return created
		}
	}
	return nil
}

// pod creates a pod on a node that uses a claim.
func (r *run) pod(name string, node int, claim string, opts ...fake.Option) {
	r.create(fake.Pod(r.name(name), append([]fake.Option{fake.OnNode(r.node(node)), fake.Claims(r.name(claim))}, opts...)...))
}

// goal waits until something holds. If that takes too long, the story ends.
func (r *run) goal(text string, holds func() bool) {
	if r.stopped {
		return
	}
	// What holds depends on objects only. Each write is in the trace, so without a new entry the answer is the same, and copying objects to find
	// out costs much.
	trace, seen := r.cluster.Trace(), uint64(0)
	err := r.cluster.Until(func() bool {
		r.rebootNodes()
		now := trace.Seq()
		changed := now != seen || now == 0
		seen = now
		return r.rec.broken || changed && holds()
	}, patience)
	if r.rec.broken {
		r.stopped = true
		return
	}
	if err != nil {
		r.stopped = true
		r.rec.missed = append(r.rec.missed, text)
	}
}

// pass lets time pass.
func (r *run) pass(d time.Duration) {
	if r.stopped {
		return
	}
	end := r.cluster.Now().Add(d)
	_ = r.cluster.Until(func() bool {
		r.rebootNodes()
		return r.rec.broken || !r.cluster.Now().Before(end)
	}, d)
}

func (r *run) bound(claim string) {
	r.goal("claim "+claim+" is bound", func() bool {
		c, err := r.cluster.Claims.Get(r.name(claim))
		return err == nil && c.Status.Phase == corev1.ClaimBound
	})
}

func (r *run) running(pods ...string) {
	for _, pod := range pods {
		r.goal("pod "+pod+" runs", func() bool {
			p, err := r.cluster.Pods.Get(r.name(pod))
			return err == nil && p.Status.Phase == corev1.PodRunning
		})
	}
}

// end deletes a pod and waits until it is gone.
func (r *run) end(pods ...string) {
	for _, pod := range pods {
		r.remove(fake.Pod(r.name(pod)))
	}
	for _, pod := range pods {
		r.goal("pod "+pod+" is gone", func() bool {
			_, err := r.cluster.Pods.Get(r.name(pod))
			return err != nil
		})
	}
}

// deleted deletes claims and waits until their volumes are gone.
func (r *run) deleted(claims ...string) {
	for _, claim := range claims {
		r.remove(fake.Claim(r.name(claim), r.gib(1)))
	}
	r.goal("the volumes of deleted claims are gone", func() bool { return r.cluster.Volumes.Len() == 0 })
	for _, name := range r.kept {
		r.goal("snapshot "+name+" is gone", func() bool { return r.stored(r.object("VolumeSnapshot", name, nil)) == nil })
	}
	r.kept = nil
}

// detached waits until no volume is attached.
func (r *run) detached() {
	r.goal("volumes are detached", func() bool { return r.cluster.Attachments.Len() == 0 })
}

// grow requests more space for a claim.
func (r *run) grow(claim string, times int) {
	r.do(func() error {
		return r.cluster.Patch(fake.Claim(r.name(claim), "1Gi"), `{"spec":{"resources":{"requests":{"storage":"`+r.space(times)+`"}}}}`)
	})
}

// grown waits until a claim has its size.
func (r *run) grown(claim string, times int) {
	text := r.space(times)
	want := resource.MustParse(text)
	r.goal("claim "+claim+" has "+text, func() bool {
		c, err := r.cluster.Claims.Get(r.name(claim))
		have := c.Status.Capacity[corev1.ResourceStorage]
		return err == nil && have.Cmp(want) >= 0
	})
}

// handle returns the handle of the volume of a claim, "" if it has none.
func (r *run) handle(claim string) string {
	c, err := r.cluster.Claims.Get(r.name(claim))
	if err != nil || c.Spec.VolumeName == "" {
		return ""
	}
	pv, err := r.cluster.Volumes.Get(c.Spec.VolumeName)
	if err != nil || pv.Spec.CSI == nil {
		return ""
	}
	return pv.Spec.CSI.VolumeHandle
}

// target returns where a pod has the volume of a claim: the path of the last NodePublishVolume for it.
func (r *run) target(pod, claim string) (node, path string) {
	p, err := r.cluster.Pods.Get(r.name(pod))
	if err != nil {
		return "", ""
	}
	handle := r.handle(claim)
	for _, call := range r.driver.Calls() {
		if req, ok := call.Request.(*spec.NodePublishVolumeRequest); ok && call.Node == p.Spec.NodeName && req.GetVolumeId() == handle &&
			strings.Contains(req.GetTargetPath(), string(p.UID)) {
			node, path = call.Node, req.GetTargetPath()
		}
	}
	return node, path
}

// write writes data from a pod to the volume of a claim.
func (r *run) write(pod, claim, data string) {
	node, path := r.target(pod, claim)
	if r.stopped || r.cfg.Write == nil || path == "" {
		return
	}
	err := r.cfg.Write(node, path, data)
	r.record(step{Access: &access{Node: node, Path: path, Volume: r.handle(claim), Write: true, Data: data, Err: err}})
}

// read reads the data of the volume of a claim in a pod.
func (r *run) read(pod, claim string) {
	node, path := r.target(pod, claim)
	if r.stopped || r.cfg.Read == nil || path == "" {
		return
	}
	data, err := r.cfg.Read(node, path)
	r.record(step{Access: &access{Node: node, Path: path, Volume: r.handle(claim), Data: data, Err: err}})
}

// measure asks the driver for the size of a file system, as the kubelet does.
func (r *run) measure(pod, claim string) {
	node, path := r.target(pod, claim)
	if r.stopped || !r.rec.caps.Stats || path == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	reply, err := spec.NewNodeClient(r.conn(node)).NodeGetVolumeStats(ctx, &spec.NodeGetVolumeStatsRequest{VolumeId: r.handle(claim), VolumePath: path})
	if err != nil {
		return
	}
	for _, usage := range reply.GetUsage() {
		if usage.GetUnit() == spec.VolumeUsage_BYTES {
			r.record(step{Stats: &stats{Node: node, Path: path, Volume: r.handle(claim), Total: usage.GetTotal()}})
		}
	}
}

// forget forcibly removes a VolumeAttachment, as an administrator does who removes its finalizer.
func (r *run) forget(node int) {
	for _, va := range r.cluster.Attachments.List() {
		if va.Spec.NodeName != r.node(node) {
			continue
		}
		r.do(func() error { return r.cluster.Delete(va) })
		r.do(func() error {
			if _, err := r.cluster.Attachments.Get(va.Name); err != nil {
				return nil
			}
			return r.cluster.Patch(va, `{"metadata":{"finalizers":null}}`)
		})
	}
}

func (r *run) forceDelete(pod string) {
	r.do(func() error {
		err := r.cluster.DeleteWith(fake.Pod(r.name(pod)), api.DeleteOptions{GracePeriodSeconds: new(int64)})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
}

// called reports whether the driver got a call of that method.
func (r *run) called(method string) bool {
	return slices.ContainsFunc(r.driver.Calls(), func(c csi.Call) bool { return c.Method == method })
}
