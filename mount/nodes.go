package mount

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/kubeletstatus"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/options"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/internal/core/strategy"
	"github.com/volsim/volsim/mount/internal/plugin"
	"github.com/volsim/volsim/mount/internal/volumes"
)

// Nodes are the nodes of a cluster.
type Nodes struct {
	engine   *engine.Engine
	backends *backends.Set
	cfg      Config
	opts     options.Kubelet
	byName   map[string]*Node
	names    []string // in the order in which they were added
	// A kubelet watches the Node of its name and the pods on that node.
	nodesByName store.Index[*corev1.Node]
	// byObject has the workers whose pods name an object, which may affect what they wait for: claims by key, Secrets and ConfigMaps by fileKey.
	// [SIM] Kubelets do not watch claims; this only decides which periodic syncs are skipped.
	byObject map[string][]*podWorker
	// attachments are all VolumeAttachments, by node and name.
	attachments map[string]map[string]*storagev1.VolumeAttachment
	// reportsLimit are the drivers whose backend reports changes of a node's limit.
	reportsLimit map[string]bool
	// lists are those of the conditions of pods.
	lists kubeletstatus.Lists
	// podRoom is the pod that a status is computed for.
	podRoom corev1.Pod
	// owners are the groups that own the files of volumes.
	owners *plugin.Owners
}

// New is for package volsim: callers use volsim.New.
// It prepares the kubelets of a cluster. Add and Follow start them. set has the storage systems that nodes can reach; nil means none,
// except volumes in the pods themselves. It returns an error that names the field for a negative value in the configuration.
func New(e *engine.Engine, set *backends.Set, cfg Config, opts options.Kubelet) (*Nodes, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	if set == nil {
		set = &backends.Set{}
	}
	ns := &Nodes{engine: e, backends: set, cfg: cfg, opts: opts}
	ns.owners = plugin.NewOwners(ns.groupChanged)
	s := e.Store()
	ns.nodesByName = s.Nodes.NewIndexWith(
		func(node *corev1.Node, list []string) []string { return append(list, node.Name) },
		func(_, _ *corev1.Node) bool { return true })
	from := s.Version()
	if _, err := s.Claims.Watch(store.WatchOptions[*corev1.PersistentVolumeClaim]{From: from}, ns.claimChanged); err != nil {
		return nil, err
	}
	if _, err := s.Volumes.Watch(store.WatchOptions[*corev1.PersistentVolume]{From: from}, ns.volumeChanged); err != nil {
		return nil, err
	}
	if _, err := s.Attachments.Watch(store.WatchOptions[*storagev1.VolumeAttachment]{From: from}, ns.attachmentChanged); err != nil {
		return nil, err
	}
	s.OnOther(ns.followFiles)
	if err := ns.followLimits(store.WatchOptions[*storagev1.CSINode]{From: from}); err != nil {
		return nil, err
	}
	return ns, nil
}

// Add makes a node with a kubelet and starts it. The kubelet creates the Node object unless it exists. A name that is taken is an error.
func (ns *Nodes) Add(name string) (*Node, error) {
	if name == "" {
		return nil, fmt.Errorf("mount: a node without a name: give it one")
	}
	if !strategy.IsSubdomain(name) {
		return nil, fmt.Errorf("mount: a node cannot have the name %q: use lower case letters, digits, '-' and '.'", name)
	}
	if _, taken := ns.byName[name]; taken {
		return nil, fmt.Errorf("mount: there is a node %q already", name)
	}
	n, err := ns.newNode(name)
	if err != nil {
		return nil, err
	}
	if ns.byName == nil {
		ns.byName, ns.byObject = map[string]*Node{}, map[string][]*podWorker{}
	}
	ns.byName[name] = n
	ns.names = append(ns.names, name)
	return n, nil
}

// Follow adds a node for every Node object, present and future. The node stays when its object is deleted.
func (ns *Nodes) Follow() error {
	follow := func(c api.Change[*corev1.Node]) {
		if _, known := ns.byName[c.Key]; known || c.Type == api.Deleted {
			return
		}
		if _, err := ns.Add(c.Key); err != nil {
			panic(fmt.Sprintf("mount: the kubelet of a Node object: %v", err)) // the name is valid and new, and AddController accepts no such name
		}
	}
	_, err := ns.engine.Store().Nodes.Watch(store.WatchOptions[*corev1.Node]{}, follow)
	return err
}

// Get returns the node of that name.
func (ns *Nodes) Get(name string) (*Node, bool) {
	n, ok := ns.byName[name]
	return n, ok
}

// watchObjects requeues the pod of a worker when the objects change that it names; unwatchObjects ends that.
func (ns *Nodes) watchObjects(w *podWorker) {
	w.objects = appendFiles(objects.ClaimsOf(w.pod), w.pod)
	for _, key := range w.objects {
		if !slices.Contains(ns.byObject[key], w) {
			ns.byObject[key] = append(ns.byObject[key], w)
		}
	}
}

func (ns *Nodes) unwatchObjects(w *podWorker) {
	for _, key := range w.objects {
		rest := slices.DeleteFunc(ns.byObject[key], func(other *podWorker) bool { return other == w })
		if len(rest) == 0 {
			delete(ns.byObject, key)
		} else {
			ns.byObject[key] = rest
		}
	}
}

func (ns *Nodes) claimChanged(c api.Change[*corev1.PersistentVolumeClaim]) {
	ns.requeuePods(c.Key)
	for _, w := range ns.byObject[c.Key] {
		// MNT-406, MNT-925: an undecided or deferred expansion is checked again.
		if w.k.expansion.undecided[c.Key] || w.k.expansion.isDeferred(c.Key) {
			delete(w.k.expansion.undecided, c.Key)
			w.k.reconciler.ticker.Arm()
		}
	}
}

func (ns *Nodes) volumeChanged(c api.Change[*corev1.PersistentVolume]) {
	if len(ns.byObject) == 0 {
		return
	}
	if c.Old != nil && c.Old.Spec.ClaimRef != nil {
		ns.requeuePods(api.Key(c.Old.Spec.ClaimRef.Namespace, c.Old.Spec.ClaimRef.Name))
	}
	if c.Object == nil || c.Object.Spec.ClaimRef == nil {
		return
	}
	users := ns.byObject[api.Key(c.Object.Spec.ClaimRef.Namespace, c.Object.Spec.ClaimRef.Name)]
	grown := len(users) > 0 && c.Old != nil && volumes.CapacityOf(c.Object) > volumes.CapacityOf(c.Old)
	for _, w := range users {
		w.requeue(true)
		if grown {
			// MNT-405: the next sync will expand the volume.
			w.promote()
		}
	}
}

func (ns *Nodes) requeuePods(object string) {
	for _, w := range ns.byObject[object] {
		w.requeue(true)
	}
}

// attachmentChanged keeps track of the attachments of nodes.
func (ns *Nodes) attachmentChanged(c api.Change[*storagev1.VolumeAttachment]) {
	node := c.Object.Spec.NodeName
	if c.Type == api.Deleted {
		delete(ns.attachments[node], c.Key)
	} else {
		if ns.attachments == nil {
			ns.attachments = map[string]map[string]*storagev1.VolumeAttachment{}
		}
		if ns.attachments[node] == nil {
			ns.attachments[node] = map[string]*storagev1.VolumeAttachment{}
		}
		ns.attachments[node][c.Key] = c.Object
	}
	if n, ok := ns.byName[node]; ok && n.kubelet != nil {
		n.kubelet.status.extendHeartbeats()
	}
}

// hasUnusedAttachment reports whether the node has an attachment of a volume that is not in use, or of an unknown volume.
func (ns *Nodes) hasUnusedAttachment(node string, inUse []corev1.UniqueVolumeName) bool {
	for _, va := range ns.attachments[node] {
		name := va.Spec.Source.PersistentVolumeName
		if name == nil {
			continue // ATT-132: the controller ignores these
		}
		pv, ok := ns.engine.Store().Volumes.Lookup(*name)
		if !ok {
			return true
		}
		csi := objects.CSIOf(pv)
		if csi == nil || !slices.Contains(inUse, objects.CSIVolumeName(csi.Driver, csi.VolumeHandle)) {
			return true
		}
	}
	return false
}

// groupChanged updates the mounts of a volume whose files changed their group: on one node, or with "" on all.
func (ns *Nodes) groupChanged(node, plugin, volume string, group int64) {
	for _, name := range ns.names {
		if node == "" || node == name {
			ns.byName[name].disk.SetGroup(plugin, volume, group)
		}
	}
}
