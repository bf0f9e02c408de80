package history

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/objects"
)

func (r *runner) size() string { return pick(r.choose, "1Gi", "2Gi", "3Gi", "5Gi", "5Gi", "10Gi") }

func (r *runner) modes() []string {
	if r.opts.Nodes {
		// No RWO together with RWX: such a volume is attached to any number of nodes, but the driver is asked for a single writer.
		return pick(r.choose, []string{"RWO"}, []string{"RWO"}, []string{"RWX"}, []string{"ROX"}, []string{"RWOP"})
	}
	return pick(r.choose, []string{"RWO"}, []string{"RWO"}, []string{"RWO", "ROX"}, []string{"RWX"}, []string{"RWO", "RWX"})
}

func (r *runner) class() string {
	return pick(r.choose, "", "", "static", "fast", "late", "external", "external-late")
}

func (r *runner) volume() string { return pick(r.choose, "pv1", "pv2", "pv3", "pv4", "pv5") }

func (r *runner) claim() string {
	return pick(r.choose, "default/c1", "default/c2", "default/c3", "other/c1")
}

func (r *runner) createVolume() error {
	opts := []fake.Option{
		fake.Modes(r.modes()...), fake.InClass(r.class()),
		fake.Policy(pick(r.choose, corev1.PersistentVolumeReclaimRetain, corev1.PersistentVolumeReclaimDelete,
			corev1.PersistentVolumeReclaimRecycle)),
	}
	name := r.volume()
	switch r.choose(3) {
	case 0:
		opts = append(opts, fake.NFSSource("nfs.example.com", "/"+name))
	case 1:
		opts = append(opts, fake.CSISource(Driver, name))
	}
	if r.oneIn(5) {
		opts = append(opts, fake.ForClaim(r.claim()))
	}
	if r.oneIn(8) {
		opts = append(opts, fake.Block())
	}
	if r.oneIn(3) {
		opts = append(opts, fake.Labels("tier", "gold"))
	}
	return r.try(r.Create(fake.Volume(name, r.size(), opts...)))
}

func (r *runner) createClaim() error {
	opts := []fake.Option{fake.Modes(r.modes()...)}
	if r.oneIn(4) {
		opts = append(opts, fake.NoClass())
	} else {
		opts = append(opts, fake.InClass(r.class()))
	}
	if r.oneIn(6) {
		opts = append(opts, fake.VolumeName(r.volume()))
	}
	if r.oneIn(8) {
		opts = append(opts, fake.Block())
	}
	if r.oneIn(6) {
		opts = append(opts, fake.Selector("tier", "gold"))
	}
	return r.try(r.Create(fake.Claim(r.claim(), r.size(), opts...)))
}

func (r *runner) createClass() error {
	var opts []fake.Option
	if r.opts.Growth {
		opts = append(opts, fake.Expandable())
	}
	switch r.choose(5) {
	case 0:
		return r.try(r.Create(fake.Class("fast", InTree, opts...)))
	case 1:
		return r.try(r.Create(fake.Class("late", InTree, append(opts, fake.WaitForFirstConsumer())...)))
	case 2:
		return r.try(r.Create(fake.Class("external", Driver, opts...)))
	case 3:
		return r.try(r.Create(fake.Class("external-late", Driver, append(opts, fake.WaitForFirstConsumer())...)))
	}
	return r.try(r.Create(fake.Class("default", InTree, append(opts, fake.Default())...)))
}

func (r *runner) deleteClaim() error {
	namespace, name := objects.SplitKey(r.claim())
	return r.try(r.Delete(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}))
}

// anyVolume returns a volume that exists, also a provisioned one; nil if there is none.
func (r *runner) anyVolume() *corev1.PersistentVolume {
	volumes := r.Volumes.List()
	if len(volumes) == 0 {
		return nil
	}
	return &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: volumes[r.choose(len(volumes))].Name}}
}

func (r *runner) onVolume(fn func(pv *corev1.PersistentVolume) error) error {
	if pv := r.anyVolume(); pv != nil {
		return r.try(fn(pv))
	}
	return nil
}

func (r *runner) onClaim(patch string) error {
	namespace, name := objects.SplitKey(r.claim())
	return r.try(r.Patch(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}, patch))
}

func (r *runner) deleteVolume() error {
	return r.onVolume(func(pv *corev1.PersistentVolume) error { return r.Delete(pv) })
}

func (r *runner) changePolicy() error {
	policy := pick(r.choose, "Retain", "Delete", "Recycle")
	return r.onVolume(func(pv *corev1.PersistentVolume) error {
		return r.Patch(pv, `{"spec":{"persistentVolumeReclaimPolicy":"`+policy+`"}}`)
	})
}

func (r *runner) clearClaimRef() error {
	return r.onVolume(func(pv *corev1.PersistentVolume) error { return r.Patch(pv, `{"spec":{"claimRef":null}}`) })
}

func (r *runner) clearUID() error {
	return r.onVolume(func(pv *corev1.PersistentVolume) error { return r.Patch(pv, `{"spec":{"claimRef":{"uid":null}}}`) })
}

func (r *runner) dropFinalizers() error {
	return r.onVolume(func(pv *corev1.PersistentVolume) error { return r.Patch(pv, `{"metadata":{"finalizers":null}}`) })
}

func (r *runner) dropAnnotation() error {
	return r.onClaim(`{"metadata":{"annotations":{"` +
		pick(r.choose, "pv.kubernetes.io/bind-completed", "pv.kubernetes.io/bound-by-controller") + `":null}}}`)
}

func (r *runner) selectNode() error {
	return r.onClaim(`{"metadata":{"annotations":{"volume.kubernetes.io/selected-node":"n1"}}}`)
}

func (r *runner) createPod() error {
	r.pods++
	_, claim := objects.SplitKey(r.claim())
	opts := []fake.Option{fake.Claims(claim)}
	if !r.oneIn(3) {
		opts = append(opts, fake.OnNode(r.node()))
	}
	if r.oneIn(3) {
		opts = append(opts, fake.Annotations("volsim.dev/write-every", "30s"))
	} else if r.oneIn(4) {
		opts = append(opts, fake.Annotations("volsim.dev/run-for", "20s"))
	}
	return r.try(r.Create(fake.Pod(fmt.Sprintf("default/p%d", r.pods%4), opts...)))
}

// createDatabase creates a pod with a disk that allows one node only, and the disk if it does not exist.
func (r *runner) createDatabase() error {
	r.pods++
	n := r.choose(2)
	claim, disk := fmt.Sprintf("db%d", n), fmt.Sprintf("disk%d", n)
	class := ""
	if r.opts.Growth {
		// Only a class can allow expansion.
		class = "external"
		_ = r.try(r.Create(fake.Class(class, Driver, fake.Expandable())))
	}
	_ = r.try(r.Create(fake.Volume(disk, "1Gi", fake.CSISource(Driver, disk), fake.ForClaim("default/"+claim), fake.InClass(class))))
	_ = r.try(r.Create(fake.Claim(claim, "1Gi", fake.VolumeName(disk), fake.InClass(class))))
	opts := []fake.Option{fake.Claims(claim)}
	if !r.oneIn(3) {
		opts = append(opts, fake.OnNode(r.node()))
	}
	return r.try(r.Create(fake.Pod(fmt.Sprintf("default/p%d", r.pods%4), opts...)))
}

func (r *runner) deletePod() error {
	pods := r.Pods.List()
	if len(pods) == 0 {
		return nil
	}
	if r.opts.Nodes && !r.opts.Faults {
		return r.deletePodGracefully() // a forced deletion removes a pod whose volumes are still mounted
	}
	now := int64(0)
	pod := pods[r.choose(len(pods))]
	return r.try(r.DeleteWith(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}},
		api.DeleteOptions{GracePeriodSeconds: &now}))
}

func (r *runner) deletePodGracefully() error {
	pods := r.Pods.List()
	if len(pods) == 0 {
		return nil
	}
	pod := pods[r.choose(len(pods))]
	return r.try(r.Delete(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}))
}
