package controller

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/grants"
	"github.com/volsim/volsim/internal/core/kubeletdefs"
	"github.com/volsim/volsim/internal/core/objkinds"
	"github.com/volsim/volsim/internal/core/plain"
)

// Populator is a volume populator with the protocol of lib-volume-populator: for each claim whose dataSourceRef is of its kind it makes a
// claim of its own with the same spec, lets a pod fill it, and gives its volume to the claim. The simulated external-provisioner leaves such
// claims to a populator.
type Populator struct {
	// Kind is the kind of the data sources, such as Hello.hello.example.com. It is required, and must exist when the controller is added: create
	// its CustomResourceDefinition first.
	Kind api.Kind
	// Prefix begins the names of the finalizer, the annotation and the controller. The default is the API group of Kind.
	Prefix string
	// Namespace is that of the claims and pods that it makes. The default is populator.
	Namespace string
	// Pod completes the pod that fills the volume, which must end as Succeeded. The default gives it annotations for the simulated containers:
	// they write to the volume, and exit after ten seconds.
	Pod func(pod *corev1.Pod, source api.Object)
}

// Controller returns the populator as a controller, for Cluster.AddController (SNAP-071 to SNAP-074).
func (cfg Populator) Controller() Controller {
	kind, group := objkinds.Split(string(cfg.Kind))
	if cfg.Prefix == "" {
		cfg.Prefix = group
	}
	if cfg.Namespace == "" {
		cfg.Namespace = "populator"
	}
	if cfg.Pod == nil {
		cfg.Pod = func(pod *corev1.Pod, _ api.Object) {
			pod.Annotations = map[string]string{kubeletdefs.AnnWrite: "true", kubeletdefs.AnnRunFor: "10s"}
		}
	}
	return Controller{Name: cfg.Prefix + "-populator", populates: &cfg.Kind, Start: func(s *Setup) {
		c := &populator{Populator: cfg, kind: kind, group: group}
		table, err := s.actor.Engine().Store().Other(cfg.Kind)
		if err != nil {
			panic(fmt.Sprintf("controller: Populator.Kind: %v", err))
		}
		queue := s.NewQueue("claims", c.sync)
		every := func(mine func(*corev1.PersistentVolumeClaim) bool) {
			for _, claim := range c.claims.List() {
				if c.source(claim) != nil && mine(claim) {
					queue.Add(api.KeyOf(claim))
				}
			}
		}
		// of queues the claim for which a pod or a claim was made.
		of := func(name string) {
			_, uid, _ := strings.Cut(name, "-")
			every(func(claim *corev1.PersistentVolumeClaim) bool { return string(claim.UID) == uid })
		}
		c.claims = Watch(s, func(e api.Change[*corev1.PersistentVolumeClaim]) {
			if e.Object.Namespace == c.Namespace {
				of(e.Object.Name)
			} else {
				queue.Add(e.Key)
			}
		})
		c.pods = Watch(s, func(e api.Change[*corev1.Pod]) {
			if e.Object.Namespace == c.Namespace {
				of(e.Object.Name)
			}
		})
		c.classes = Watch(s, func(e api.Change[*storagev1.StorageClass]) {
			every(func(claim *corev1.PersistentVolumeClaim) bool {
				return claim.Spec.StorageClassName != nil && *claim.Spec.StorageClassName == e.Key
			})
		})
		c.sources = engine.NewInformer(s.actor, table)
		// SNAP-075: an object in the namespace of the claim, wherever its source is.
		changed := func(obj *plain.Object) {
			every(func(claim *corev1.PersistentVolumeClaim) bool {
				return claim.Namespace == obj.Namespace && claim.Spec.DataSourceRef.Name == obj.Name
			})
		}
		c.startGrants(s)
		c.sources.Handle(engine.Handler[*plain.Object]{Add: changed, Update: func(_, obj *plain.Object) { changed(obj) }})
	}}
}

// populator is one life of a Populator.
type populator struct {
	Populator
	kind, group string
	claims      *Cache[*corev1.PersistentVolumeClaim]
	pods        *Cache[*corev1.Pod]
	classes     *Cache[*storagev1.StorageClass]
	sources     engine.Informer[*plain.Object]
	grants      engine.Informer[*plain.Object] // nil: no source may be in another namespace
}

// source returns the data source of a claim that is the populator's to fill; nil if it is not (SNAP-071).
func (c *populator) source(claim *corev1.PersistentVolumeClaim) *corev1.TypedObjectReference {
	ref := claim.Spec.DataSourceRef
	if claim.Namespace == c.Namespace || ref == nil || ref.Kind != c.kind || ref.APIGroup == nil || *ref.APIGroup != c.group {
		return nil
	}
	return ref
}

// startGrants gives the populator ReferenceGrants, if the gate CrossNamespaceVolumeDataSource is on.
func (c *populator) startGrants(s *Setup) {
	all := s.actor.Engine().Store()
	if !all.Gates().CrossNamespaceVolumeDataSource {
		return
	}
	table, err := all.Other(grants.Kind)
	if err != nil {
		panic(fmt.Sprintf("controller: no table of %s: %v", grants.Kind, err))
	}
	c.grants = engine.NewInformer(s.actor, table)
	// SNAP-075: a new grant syncs no claim.
	c.grants.Handle(engine.Handler[*plain.Object]{})
}

// sourceNamespace returns the namespace of a claim's data source, and an error unless a ReferenceGrant allows another one than the claim's
// (SNAP-075).
func (c *populator) sourceNamespace(claim *corev1.PersistentVolumeClaim) (string, error) {
	if !grants.Needed(claim) {
		return claim.Namespace, nil
	}
	var list []*plain.Object
	if c.grants != nil {
		list = c.grants.List()
	}
	// SNAP-075: there is no Event, and a retry.
	if err := grants.Check(claim, list); err != nil {
		return "", err
	}
	namespace, _ := grants.Namespace(claim)
	return namespace, nil
}

func (c *populator) sync(p *Process, key string) error {
	claim, ok := c.claims.Get(key)
	if !ok || c.source(claim) == nil {
		return nil
	}
	// SNAP-071: the data source and the class must exist. Their creation syncs the claim again.
	namespace, err := c.sourceNamespace(claim)
	if err != nil {
		return err
	}
	source, ok := c.sources.Get(api.Key(namespace, claim.Spec.DataSourceRef.Name))
	if !ok {
		return nil
	}
	node, ok := c.nodeFor(claim)
	if !ok {
		return nil
	}
	pod, hasPod := c.pods.Get(api.Key(c.Namespace, "populate-"+string(claim.UID)))
	prime, hasPrime := c.claims.Get(api.Key(c.Namespace, "prime-"+string(claim.UID)))
	if claim.Spec.VolumeName == "" {
		if err := c.protect(p, claim, true); err != nil {
			return err
		}
		if !hasPod {
			return c.begin(p, claim, source, node, hasPrime)
		}
		if done, err := c.populated(p, claim, pod); !done {
			return err
		}
		if !hasPrime {
			return fmt.Errorf("Failed to find PVC for populator pod")
		}
		if done, err := c.rebind(p, claim, prime); !done {
			return err
		}
	}
	// SNAP-074: the end waits until the PersistentVolume controller has noticed that the volume has another claim.
	if hasPrime && prime.Status.Phase != corev1.ClaimLost {
		return nil
	}
	return c.end(p, claim, hasPod, hasPrime)
}

// nodeFor returns the node for the pod of a claim that waits for its consumer; ok is false while the claim has to wait (SNAP-071).
func (c *populator) nodeFor(claim *corev1.PersistentVolumeClaim) (node string, ok bool) {
	if claim.Spec.StorageClassName == nil {
		return "", true
	}
	class, ok := c.classes.Get(*claim.Spec.StorageClassName)
	// SNAP-071: volumes of in-tree plugins cannot be populated.
	if !ok || strings.HasPrefix(class.Provisioner, "kubernetes.io/") && claim.Annotations["volume.kubernetes.io/migrated-to"] == "" {
		return "", false
	}
	if class.VolumeBindingMode == nil || *class.VolumeBindingMode != storagev1.VolumeBindingWaitForFirstConsumer {
		return "", true
	}
	node = claim.Annotations["volume.kubernetes.io/selected-node"]
	return node, node != ""
}

// protect adds or removes the finalizer of the claim.
func (c *populator) protect(p *Process, claim *corev1.PersistentVolumeClaim, want bool) error {
	name := c.Prefix + "/populate-target-protection"
	if slices.Contains(claim.Finalizers, name) == want {
		return nil
	}
	edited := claim.DeepCopy()
	if want {
		edited.Finalizers = append(edited.Finalizers, name)
	} else {
		edited.Finalizers = slices.DeleteFunc(edited.Finalizers, func(f string) bool { return f == name })
	}
	_, err := Update(p, edited)
	return err
}

// begin creates the pod and the claim that it fills (SNAP-072).
func (c *populator) begin(p *Process, claim *corev1.PersistentVolumeClaim, source *plain.Object, node string, hasPrime bool) error {
	prime := "prime-" + string(claim.UID)
	container := corev1.Container{Name: "populate", Image: "populator", ImagePullPolicy: corev1.PullIfNotPresent}
	if claim.Spec.VolumeMode != nil && *claim.Spec.VolumeMode == corev1.PersistentVolumeBlock {
		container.VolumeDevices = []corev1.VolumeDevice{{Name: "target", DevicePath: "/dev/block"}}
	} else {
		container.VolumeMounts = []corev1.VolumeMount{{Name: "target", MountPath: "/mnt"}}
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: "populate-" + string(claim.UID)}, Spec: corev1.PodSpec{
		NodeName: node, RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{container},
		Volumes: []corev1.Volume{{Name: "target", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: prime}}}},
	}}
	c.Pod(pod, source.DeepCopyObject().(api.Object))
	if _, err := Create(p, pod); err != nil {
		p.Event(claim, corev1.EventTypeWarning, "PopulatorCreationError", "Failed to create populator pod: %s", err)
		return err
	}
	p.Event(claim, corev1.EventTypeNormal, "PopulatorCreated", "Populator started")
	if hasPrime {
		return nil
	}
	made := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: prime}, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: claim.Spec.AccessModes, Resources: claim.Spec.Resources, StorageClassName: claim.Spec.StorageClassName,
		VolumeMode: claim.Spec.VolumeMode,
	}}
	if node != "" {
		made.Annotations = map[string]string{"volume.kubernetes.io/selected-node": node}
	}
	if _, err := Create(p, made); err != nil {
		p.Event(claim, corev1.EventTypeWarning, "PopulatorPVCCreationError", "Failed to create populator PVC: %s", err)
		return err
	}
	return nil
}

// populated reports whether the pod has succeeded. One that failed is deleted, and the next sync makes another one (SNAP-072).
func (c *populator) populated(p *Process, claim *corev1.PersistentVolumeClaim, pod *corev1.Pod) (bool, error) {
	switch pod.Status.Phase {
	case corev1.PodSucceeded:
		return true, nil
	case corev1.PodFailed:
		p.Event(claim, corev1.EventTypeWarning, "PopulatorFailed", "Populator failed: %s", pod.Status.Message)
		return false, Delete[*corev1.Pod](p, api.KeyOf(pod))
	}
	return false, nil
}

// rebind makes the volume that was filled refer to the claim (SNAP-073). It reports whether it did so before.
func (c *populator) rebind(p *Process, claim, prime *corev1.PersistentVolumeClaim) (bool, error) {
	pv, err := Get[*corev1.PersistentVolume](p, prime.Spec.VolumeName)
	if err != nil {
		if apierrors.IsNotFound(err) {
			err = nil
		}
		return false, err
	}
	if ref := pv.Spec.ClaimRef; ref != nil && ref.Name == claim.Name && ref.Namespace == claim.Namespace && ref.UID == claim.UID {
		return true, nil
	}
	type object = map[string]any
	patch, err := json.Marshal(object{
		"metadata": object{"annotations": object{c.Prefix + "/populated-from": claim.Namespace + "/" + claim.Spec.DataSourceRef.Name}},
		"spec": object{"claimRef": struct {
			Namespace       string    `json:"namespace"`
			Name            string    `json:"name"`
			UID             types.UID `json:"uid"`
			ResourceVersion string    `json:"resourceVersion"`
		}{claim.Namespace, claim.Name, claim.UID, claim.ResourceVersion}},
	})
	if err != nil {
		return false, err
	}
	_, err = Patch[*corev1.PersistentVolume](p, pv.Name, string(patch))
	return false, err
}

// end deletes what the populator made, and the finalizer (SNAP-074).
func (c *populator) end(p *Process, claim *corev1.PersistentVolumeClaim, hasPod, hasPrime bool) error {
	if !hasPod && !hasPrime && !slices.Contains(claim.Finalizers, c.Prefix+"/populate-target-protection") {
		return nil // upstream repeats the Event with each sync of the claim
	}
	p.Event(claim, corev1.EventTypeNormal, "PopulatorFinished", "Populator finished")
	if hasPod {
		if err := Delete[*corev1.Pod](p, api.Key(c.Namespace, "populate-"+string(claim.UID))); err != nil {
			return err
		}
	}
	if hasPrime {
		if err := Delete[*corev1.PersistentVolumeClaim](p, api.Key(c.Namespace, "prime-"+string(claim.UID))); err != nil {
			return err
		}
	}
	return c.protect(p, claim, false)
}
