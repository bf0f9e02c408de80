package binder_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/binder"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/pvcontroller"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

const (
	disk   = "kubernetes.io/disk"
	driver = "disk.example.com"
)

func provisioningFailed(text string) string { return "EV PVC Warning ProvisioningFailed: " + text }

func waitsFor(provisioner string) string {
	return "EV PVC Normal ExternalProvisioning: Waiting for a volume to be created either by the external provisioner '" + provisioner +
		"' or manually by the system administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered."
}

const provisionedText = "EV PVC Normal ProvisioningSucceeded: Successfully provisioned volume pvc-uc using " + disk

// wanting is the claim of the tables for a volume of class gold.
func wanting(opts ...fake.Option) *corev1.PersistentVolumeClaim {
	return pending(append([]fake.Option{fake.InClass("gold")}, opts...)...)
}

func namedBy(provisioner string) fake.Option {
	return fake.Annotations(objects.AnnStorageProvisioner, provisioner, objects.AnnBetaStorageProvisioner, provisioner)
}

// TestProvision: the decision, and each step of both paths with each way to fail. ops is how often two syncs at one instant run the
// operation: once if the first run ended in an error and the operation backs off, twice if not.
func TestProvision(t *testing.T) {
	gold := func(provisioner string, opts ...fake.Option) *storagev1.StorageClass {
		return fake.Class("gold", provisioner, opts...)
	}
	selected := fake.Annotations(objects.AnnSelectedNode, "n1")
	copying := func(claim *corev1.PersistentVolumeClaim) {
		claim.Spec.DataSource = &corev1.TypedLocalObjectReference{Kind: "PersistentVolumeClaim", Name: "origin"}
	}
	exists := fake.Volume("pvc-uc", "1Gi", fake.InClass("other"), fake.Phase("Available"))
	success := []string{"PVC.U", "CALL Create", "PV.C", provisionedText}
	tests := []struct {
		rule, name string
		cfg        binder.Config
		class      *storagev1.StorageClass
		claim      *corev1.PersistentVolumeClaim
		backends   []storage.Backend
		objs       []api.Object
		inject     api.Injector
		want       []string
		ops        int
	}{
		{rule: "PROV-020", name: "dynamic provisioning is off", cfg: binder.Config{DisableProvisioning: true}, class: gold(driver),
			claim: wanting()},
		{rule: "PROV-020", name: "off, and the class is not read", cfg: binder.Config{DisableProvisioning: true}, claim: wanting()},
		{rule: "PROV-021", name: "the class is missing", claim: wanting(),
			want: []string{provisioningFailed(`storageclass.storage.k8s.io "gold" not found`)}},
		{rule: "PROV-022", name: "a migrated plugin is its CSI driver's, even if there is such a plugin",
			class: gold("kubernetes.io/aws-ebs"), backends: []storage.Backend{fake.InTree("kubernetes.io/aws-ebs")},
			claim: wanting(), want: []string{"PVC.U", waitsFor("ebs.csi.aws.com")}, ops: 2},
		{rule: "PROV-023", name: "an in-tree plugin", class: gold(disk), claim: wanting(), backends: []storage.Backend{fake.InTree(disk)},
			want: success, ops: 1},
		{rule: "PROV-024", name: "edge 32: no such plugin, and no external provisioner", class: gold("kubernetes.io/no-provisioner"),
			claim: wanting(),
			want:  []string{provisioningFailed("no volume plugin matched name: kubernetes.io/no-provisioner")}},
		{rule: "PROV-024", name: "a plugin that cannot provision", class: gold("kubernetes.io/nfs"), claim: wanting(),
			backends: []storage.Backend{fake.NFS()},
			want:     []string{provisioningFailed("no provisionable volume plugin matched")}},
		{rule: "PROV-025", name: "any other name is external", class: gold(driver), claim: wanting(),
			want: []string{"PVC.U", waitsFor(driver)}, ops: 2},
		{rule: "PROV-025", name: "also if a driver of that name is there", class: gold(driver), claim: wanting(),
			backends: []storage.Backend{fake.CSI(driver)}, want: []string{"PVC.U", waitsFor(driver)}, ops: 2},

		{rule: "PROV-030", name: "the name of the driver, not of the migrated plugin", class: gold("kubernetes.io/gce-pd"),
			claim: wanting(), want: []string{"PVC.U", waitsFor("pd.csi.storage.gke.io")}, ops: 2},
		{rule: "PROV-031", name: "named already", class: gold(driver), claim: wanting(namedBy(driver)), want: []string{waitsFor(driver)}, ops: 2},
		{rule: "PROV-031", name: "only the beta key does not do", class: gold(driver),
			claim: wanting(fake.Annotations(objects.AnnBetaStorageProvisioner, driver)), want: []string{"PVC.U", waitsFor(driver)}, ops: 2},
		{rule: "PROV-031", name: "another name", class: gold(driver), claim: wanting(namedBy("old")),
			want: []string{"PVC.U", waitsFor(driver)}, ops: 2},
		{rule: "PROV-031", name: "the claim cannot be saved", class: gold(driver), claim: wanting(), inject: failing("PVC.U", 1),
			want: []string{"PVC.U refused", provisioningFailed("Error saving claim: the server is broken")}, ops: 1},
		{rule: "PROV-032", name: "success: no backoff", class: gold(driver), claim: wanting(namedBy(driver)),
			want: []string{waitsFor(driver)}, ops: 2},

		{rule: "PROV-040", name: "a data source", class: gold(disk), claim: edit(wanting(), copying),
			backends: []storage.Backend{fake.InTree(disk)},
			want:     []string{provisioningFailed(`plugin "kubernetes.io/disk" is not a CSI plugin. Only CSI plugin can provision a claim with a datasource`)}, ops: 1},
		{rule: "PROV-040", name: "is fine with the one CSI plugin", class: gold("kubernetes.io/csi"), claim: edit(wanting(), copying),
			backends: []storage.Backend{fake.InTree("kubernetes.io/csi")},
			want: []string{"PVC.U", "CALL Create", "PV.C",
				"EV PVC Normal ProvisioningSucceeded: Successfully provisioned volume pvc-uc using kubernetes.io/csi"}, ops: 1},
		{rule: "PROV-041", name: "the claim cannot be saved: no event", class: gold(disk), claim: wanting(),
			backends: []storage.Backend{fake.InTree(disk)}, inject: failing("PVC.U", 1),
			want: []string{"PVC.U refused"}, ops: 1},
		{rule: "PROV-042", name: "edge 34: the volume exists: success without event", class: gold(disk), claim: wanting(namedBy(disk)),
			backends: []storage.Backend{fake.InTree(disk)}, objs: []api.Object{exists}, ops: 2},
		{rule: "PROV-042", name: "it cannot be annotated: no event", class: gold(disk), claim: wanting(namedBy(disk)),
			backends: []storage.Backend{fake.InTree(disk)}, inject: failing("PV.G", 1), ops: 1},
		{rule: "PROV-042", name: "an existing volume comes before the mount options", class: gold(disk, fake.MountOptions("ro")),
			claim: wanting(namedBy(disk)), backends: []storage.Backend{fake.InTree(disk)}, objs: []api.Object{exists}, ops: 2},
		{rule: "PROV-043", name: "mount options", class: gold(disk, fake.MountOptions("ro", "sync")), claim: wanting(namedBy(disk)),
			backends: []storage.Backend{fake.InTree(disk)},
			want:     []string{provisioningFailed(`Mount options are not supported by the provisioner but StorageClass "gold" has mount options [ro sync]`)}, ops: 1},
		{rule: "PROV-044", name: "a provisioner that refuses", class: gold("kubernetes.io/host-path"), claim: wanting(),
			backends: []storage.Backend{fake.HostPath()},
			want: []string{"PVC.U",
				provisioningFailed(`Failed to create provisioner: provisioning in volume plugin "kubernetes.io/host-path" is disabled`)}, ops: 1},
		{rule: "PROV-045", name: "a node that does not exist: the choice stays", class: gold(disk), claim: wanting(namedBy(disk), selected),
			backends: []storage.Backend{fake.InTree(disk)},
			want:     []string{provisioningFailed(`Failed to get target node: node "n1" not found`)}, ops: 1},
		{rule: "PROV-046", name: "a node that does", class: gold(disk), claim: wanting(selected),
			backends: []storage.Backend{fake.InTree(disk)}, objs: []api.Object{fake.Node("n1")},
			want: []string{"PVC.U", "CALL Create on n1", "PV.C", provisionedText}, ops: 1},
		{rule: "PROV-046", name: "the plugin fails", class: gold(disk), claim: wanting(namedBy(disk)),
			backends: []storage.Backend{fake.InTree(disk, fake.MaxSize("1Gi"))},
			want: []string{"CALL Create failed",
				provisioningFailed(`Failed to provision volume with StorageClass "gold": volume pvc-uc of 5368709120 bytes is out of range`)}, ops: 1},
		{rule: "PROV-046", name: "the choice of the node is dropped first", class: gold(disk), claim: wanting(selected),
			backends: []storage.Backend{fake.InTree(disk, fake.MaxSize("1Gi"))}, objs: []api.Object{fake.Node("n1")},
			want: []string{"PVC.U", "CALL Create on n1 failed", "PVC.U",
				provisioningFailed(`Failed to provision volume with StorageClass "gold": volume pvc-uc of 5368709120 bytes is out of range`)}, ops: 1},
		{rule: "PROV-046", name: "if that fails, so be it", class: gold(disk), claim: wanting(namedBy(disk), selected),
			backends: []storage.Backend{fake.InTree(disk, fake.MaxSize("1Gi"))}, objs: []api.Object{fake.Node("n1")}, inject: failing("PVC.U", 1),
			want: []string{"CALL Create on n1 failed", "PVC.U refused",
				provisioningFailed(`Failed to provision volume with StorageClass "gold": volume pvc-uc of 5368709120 bytes is out of range`)}, ops: 1},
	}
	for _, test := range tests {
		t.Run(test.rule+" "+test.name, func(t *testing.T) {
			cfg := binder.TrialConfig{Config: test.cfg, Injector: test.inject}
			cfg.Backends = set(t, test.backends...)
			ops := 0
			cfg.BeforeOperation = func(name string) {
				ops++
				if want := "provision-default/c[uc]"; name != want {
					t.Errorf("BIND-090: operation %q, want %q", name, want)
				}
			}
			objs := append([]api.Object{test.claim}, test.objs...)
			if test.class != nil {
				objs = append(objs, test.class)
			}
			tr := trial(t, cfg, objs...)
			if err := tr.SyncClaim(claimKey); err != nil {
				t.Errorf("SyncClaim() = %v: a failed operation is none of the sync's business", err)
			}
			diffLog(t, "SyncClaim()", logOf(tr.Trace()), test.want)
			if err := tr.SyncClaim(claimKey); err != nil {
				t.Errorf("second SyncClaim() = %v", err)
			}
			if ops != test.ops {
				t.Errorf("two syncs ran the operation %d times, want %d", ops, test.ops)
			}
		})
	}
}

// TestProvisionerAnnotations: PROV-031, PROV-041, PROV-046, PROV-052, what a claim carries afterwards.
func TestProvisionerAnnotations(t *testing.T) {
	const aws, ebs = "kubernetes.io/aws-ebs", "ebs.csi.aws.com"
	named := func(name string, more ...string) map[string]string {
		m := map[string]string{objects.AnnStorageProvisioner: name, objects.AnnBetaStorageProvisioner: name}
		for i := 0; i < len(more); i += 2 {
			m[more[i]] = more[i+1]
		}
		return m
	}
	tests := []struct {
		rule, name, provisioner string
		before                  fake.Option
		want                    map[string]string
	}{
		{"PROV-031", "external", driver, fake.Annotations("mine", "too"), named(driver, "mine", "too")},
		{"PROV-031", "another name before, under both keys", driver,
			fake.Annotations(objects.AnnStorageProvisioner, "old", objects.AnnBetaStorageProvisioner, "older"), named(driver)},
		{"PROV-041", "in-tree", disk, fake.Annotations(), named(disk)},
		{"PROV-052", "a fresh claim of a migrated class gets no migrated-to", aws, fake.Annotations(), named(ebs)},
		{"PROV-031", "and one that had it loses it with the name of the plugin", aws,
			fake.Annotations(objects.AnnStorageProvisioner, aws, objects.AnnMigratedTo, ebs), named(ebs)},
		{"PROV-046", "a failed attempt drops the node", "kubernetes.io/small", fake.Annotations(objects.AnnSelectedNode, "n1"),
			named("kubernetes.io/small")},
		{"PROV-045", "a missing node does not", disk, fake.Annotations(objects.AnnSelectedNode, "n2"),
			named(disk, objects.AnnSelectedNode, "n2")},
	}
	for _, test := range tests {
		t.Run(test.rule+" "+test.name, func(t *testing.T) {
			cfg := binder.TrialConfig{}
			cfg.Backends = set(t, fake.InTree(disk), fake.InTree("kubernetes.io/small", fake.MaxSize("1Gi")))
			tr := trial(t, cfg, fake.Class("gold", test.provisioner), fake.Node("n1"), wanting(test.before))
			if err := tr.SyncClaim(claimKey); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(theClaim(t, tr.Store()).Annotations, test.want); diff != "" {
				t.Errorf("annotations -got +want:\n%s", diff)
			}
		})
	}
}

// TestProvisionWorksOnWhatWasScheduled: PROV-026, a claim that changes before its operation begins makes the save a conflict.
func TestProvisionWorksOnWhatWasScheduled(t *testing.T) {
	cfg := binder.TrialConfig{}
	var tr *binder.Trial
	cfg.BeforeOperation = func(string) {
		claim := theClaim(t, tr.Store()).DeepCopy()
		claim.Labels = map[string]string{"changed": "meanwhile"}
		if _, err := tr.Store().Claims.Update(claim); err != nil {
			t.Fatal(err)
		}
	}
	tr = trial(t, cfg, fake.Class("gold", driver), wanting())
	if err := tr.SyncClaim(claimKey); err != nil {
		t.Fatal(err)
	}
	log := logOf(tr.Trace())
	if len(log) != 2 || log[0] != "PVC.U refused" ||
		!strings.HasPrefix(log[1], provisioningFailed("Error saving claim: Operation cannot be fulfilled")) {
		t.Errorf("PROV-026: log %q, want a refused PVC.U and its event", log)
	}
}

// plugin is an in-tree plugin by functions.
type plugin struct {
	name   string
	create func(storage.CreateRequest) (storage.Volume, error)
	remove func(storage.DeleteRequest) error
}

func (p plugin) Name() string { return p.name }
func (p plugin) Create(r storage.CreateRequest) (storage.Volume, error) {
	return p.create(r)
}
func (p plugin) Delete(r storage.DeleteRequest) error { return p.remove(r) }

// TestProvisionedVolume: PROV-046, PROV-047, what the plugin is asked for and what becomes of its answer.
func TestProvisionedVolume(t *testing.T) {
	var asked storage.CreateRequest
	b := plugin{name: disk, create: func(r storage.CreateRequest) (storage.Volume, error) {
		asked = r
		return storage.Volume{ID: r.Name, Source: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/x"}}}, nil
	}}
	topologies := func(class *storagev1.StorageClass) {
		class.AllowedTopologies = []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{
			{Key: "zone", Values: []string{"a", "b"}}, {Key: "rack", Values: []string{"1"}}}}}
	}
	tests := []struct {
		rule, name string
		class      *storagev1.StorageClass
		finalizers []string
	}{
		{"PROV-047", "policy Delete: the finalizer", edit(fake.Class("gold", disk, fake.Parameters("speed", "high")), topologies),
			[]string{"kubernetes.io/pv-controller", "kubernetes.io/pv-protection"}},
		{"PROV-047", "policy Retain: none",
			edit(fake.Class("gold", disk, fake.Parameters("speed", "high"), fake.Policy(corev1.PersistentVolumeReclaimRetain)), topologies),
			[]string{"kubernetes.io/pv-protection"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cfg := binder.TrialConfig{}
			cfg.Backends = set(t, b)
			claim := wanting(fake.Modes("RWO", "ROX"), fake.Annotations(objects.AnnSelectedNode, "n1"))
			tr := trial(t, cfg, test.class, fake.Node("n1"), claim)
			if err := tr.SyncClaim(claimKey); err != nil {
				t.Fatal(err)
			}
			want := storage.CreateRequest{Name: "pvc-uc", Size: 5 << 30, Modes: claim.Spec.AccessModes,
				VolumeMode: corev1.PersistentVolumeFilesystem,
				Parameters: map[string]string{"speed": "high"}, Class: "gold", Claim: asked.Claim, Node: "n1",
				Requisite: []storage.Segment{{"zone": "a", "rack": "1"}, {"zone": "b", "rack": "1"}}}
			if diff := cmp.Diff(asked, want); diff != "" || asked.Claim.String() != claimKey {
				t.Errorf("PROV-046: request for %s -got +want:\n%s", asked.Claim, diff)
			}
			pv, err := tr.Store().Volumes.Get("pvc-uc")
			if err != nil {
				t.Fatal(err)
			}
			annotations := map[string]string{byController: "yes", objects.AnnProvisionedBy: disk}
			if diff := cmp.Diff(pv.Annotations, annotations); diff != "" {
				t.Errorf("annotations -got +want:\n%s", diff)
			}
			slices.Sort(pv.Finalizers)
			if !slices.Equal(pv.Finalizers, test.finalizers) {
				t.Errorf("finalizers %v, want %v", pv.Finalizers, test.finalizers)
			}
			// The reference is that of the claim as PROV-041 left it.
			if got, want := pv.Spec.ClaimRef.ResourceVersion,
				theClaim(t, tr.Store()).ResourceVersion; refText(pv) != "default/c[uc]" || got != want {
				t.Errorf("claimRef %s of version %s, want version %s", refText(pv), got, want)
			}
			if pv.Spec.StorageClassName != "gold" || pv.Spec.PersistentVolumeReclaimPolicy != *test.class.ReclaimPolicy ||
				pv.Spec.Capacity.Storage().String() != "5Gi" {
				t.Errorf("class %q, policy %q, capacity %v", pv.Spec.StorageClassName, pv.Spec.PersistentVolumeReclaimPolicy, pv.Spec.Capacity)
			}
			// BIND-010: edge 36, the phase of the request is ignored.
			if pv.Status.Phase != corev1.VolumePending {
				t.Errorf("edge 36: phase %s, want Pending", pv.Status.Phase)
			}
		})
	}
}

// TestSaveProvisionedVolume: PROV-048, the attempts to save a volume that exists, and to get rid of it.
func TestSaveProvisionedVolume(t *testing.T) {
	const broken = "Error creating provisioned PV object for claim default/c: the server is broken. Deleting the volume."
	cleanup := func(why string) string {
		return "EV PVC Warning ProvisioningCleanupFailed: Error cleaning provisioned volume for claim default/c: " + why +
			". Please delete manually."
	}
	refused := []string{"0s CALL Create", "0s PV.C refused", "10s PV.C refused", "20s PV.C refused", "30s PV.C refused", "40s PV.C refused",
		"50s " + provisioningFailed(broken)}
	tests := []struct {
		rule, name string
		fails      int // how many attempts to save it fail
		exists     bool
		removal    []error // what the plugin answers to Delete, in order; the last for ever
		cannot     bool    // the plugin cannot delete
		want       []string
	}{
		{rule: "PROV-048", name: "the last attempt", fails: 4, want: append(slices.Clone(refused[:5]), "40s PV.C", "40s "+provisionedText)},
		{rule: "PROV-048", name: "edge 34: it exists meanwhile: a success like any other", exists: true,
			want: []string{"0s CALL Create", "0s PV.C refused", "0s " + provisionedText}},
		// What is deleted has no object whose finalizer could be removed, and that counts as a failure.
		{rule: "PROV-048", name: "edge 35: it is deleted, and reported as not cleaned up", fails: 5, removal: []error{nil},
			want: append(slices.Clone(refused), "50s CALL Delete", "1m0s CALL Delete", "1m10s CALL Delete", "1m20s CALL Delete",
				"1m30s CALL Delete", "1m40s "+cleanup(`persistentvolumes "pvc-uc" not found`))},
		{rule: "PROV-048", name: "it cannot be deleted", fails: 5, removal: []error{errors.New("stuck")},
			want: append(slices.Clone(refused), "50s CALL Delete failed", "1m0s CALL Delete failed", "1m10s CALL Delete failed",
				"1m20s CALL Delete failed", "1m30s CALL Delete failed", "1m40s "+cleanup("stuck"))},
		{rule: "PROV-048", name: "no plugin can delete it", fails: 5, cannot: true,
			want: append(slices.Clone(refused), "50s "+cleanup("no deletable volume plugin matched"))},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			calls, ops := 0, 0
			var b storage.Backend = plugin{name: disk,
				create: func(r storage.CreateRequest) (storage.Volume, error) {
					return storage.Volume{ID: r.Name, Source: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/x"}}}, nil
				},
				remove: func(storage.DeleteRequest) error {
					calls++
					return test.removal[min(calls, len(test.removal))-1]
				}}
			if test.cannot {
				b = fake.InTree(disk, fake.Without(storage.Delete))
			}
			attempts := 0
			var tr *binder.Trial
			cfg := binder.TrialConfig{BeforeOperation: func(string) { ops++ }}
			cfg.Backends = set(t, b)
			cfg.Injector = engine.InjectorFunc(func(c api.Call) api.Fault {
				if c.Verb != "create" || c.Kind != "PersistentVolume" {
					return api.Fault{}
				}
				if test.exists {
					if _, err := tr.Store().Volumes.Create(fake.Volume("pvc-uc", "1Gi")); err != nil {
						t.Fatal(err)
					}
				}
				if attempts++; attempts > test.fails {
					return api.Fault{}
				}
				return api.Fault{Err: errBroken}
			})
			tr = trial(t, cfg, fake.Class("gold", disk), wanting(namedBy(disk)))
			if err := tr.SyncClaim(claimKey); err != nil {
				t.Fatal(err)
			}
			log := timed(tr.Trace(), 0)
			onTheSecond := strings.NewReplacer(".000000001s", "s", "1ns ", "0s ") // BeforeOperation takes a nanosecond
			for i := range log {
				log[i] = onTheSecond.Replace(log[i])
			}
			diffLog(t, "SyncClaim()", log, test.want)
			if test.fails < 5 {
				return
			}
			// Not an error of the operation: the next sync starts over at once.
			if err := tr.SyncClaim(claimKey); err != nil || ops != 2 {
				t.Errorf("the next sync: %v, and %d operations, want 2", err, ops)
			}
		})
	}
	t.Run("edge 34: a volume that was saved although the reply was lost loses its finalizer", func(t *testing.T) {
		lost := 0
		cfg := binder.TrialConfig{}
		cfg.Backends = set(t, fake.InTree(disk))
		cfg.Injector = engine.InjectorFunc(func(c api.Call) api.Fault {
			if c.Verb != "create" || c.Kind != "PersistentVolume" || lost == 5 {
				return api.Fault{}
			}
			lost++
			return api.Fault{Err: errBroken, Effect: lost == 5}
		})
		tr := trial(t, cfg, fake.Class("gold", disk), wanting(namedBy(disk)))
		if err := tr.SyncClaim(claimKey); err != nil {
			t.Fatal(err)
		}
		want := []string{"CALL Create", "PV.C refused", "PV.C refused", "PV.C refused", "PV.C refused", "PV.C", provisioningFailed(broken),
			"CALL Delete", "PV.U"}
		diffLog(t, "SyncClaim()", logOf(tr.Trace()), want)
		pv, err := tr.Store().Volumes.Get("pvc-uc")
		if err != nil || slices.Contains(pv.Finalizers, "kubernetes.io/pv-controller") {
			t.Errorf("finalizers %v, %v", pv.Finalizers, err)
		}
	})
}

// TestSelectedNodeInOwn: BIND-023, after selected-node is dropped own has the edited copy under the version it was made from, and a
// sync of what the informer then delivers replaces it.
func TestSelectedNodeInOwn(t *testing.T) {
	var host pvcontroller.Host
	cfg := binder.TrialConfig{}
	cfg.Backends = set(t, fake.InTree(disk, fake.MaxSize("1Gi")))
	cfg.NewReclaimer = func(c pvcontroller.Host) pvcontroller.Reclaimer { host = c; return nil }
	tr := trial(t, cfg, fake.Class("gold", disk), fake.Node("n1"), wanting(namedBy(disk), fake.Annotations(objects.AnnSelectedNode, "n1")))
	before := theClaim(t, tr.Store()).ResourceVersion
	if err := tr.SyncClaim(claimKey); err != nil {
		t.Fatal(err)
	}
	own, ok := host.OwnClaim(claimKey)
	if !ok || own.ResourceVersion != before || slices.Contains(keys(own.Annotations), objects.AnnSelectedNode) {
		t.Errorf("own has version %s with annotations %v, want version %s without %s", own.ResourceVersion, keys(own.Annotations), before,
			objects.AnnSelectedNode)
	}
	if live := theClaim(t, tr.Store()).ResourceVersion; live == before {
		t.Error("the server has no new version")
	}
}

// TestAssignedClassIsNotKept: BIND-023, PROV-003, own keeps the claim as it was, until the informer brings the new version.
func TestAssignedClassIsNotKept(t *testing.T) {
	var host pvcontroller.Host
	cfg := binder.TrialConfig{}
	cfg.NewReclaimer = func(c pvcontroller.Host) pvcontroller.Reclaimer { host = c; return nil }
	tr := trial(t, cfg, fake.Class("gold", driver, fake.Default()), pending(fake.NoClass()))
	if err := tr.SyncClaim(claimKey); err != nil {
		t.Fatal(err)
	}
	own, _ := host.OwnClaim(claimKey)
	if live := theClaim(t, tr.Store()); own.Spec.StorageClassName != nil || live.Spec.StorageClassName == nil ||
		*live.Spec.StorageClassName != "gold" {
		t.Errorf("own has class %v, the server %v", own.Spec.StorageClassName, live.Spec.StorageClassName)
	}
}

// TestOperations: BIND-090 to BIND-096 as they show from outside.
func TestOperations(t *testing.T) {
	failed := provisioningFailed(`Failed to provision volume with StorageClass "gold": `)
	t.Run("BIND-094 without Events: failures are retried at those resyncs by which the backoff is over", func(t *testing.T) {
		// BIND-092, BIND-093: 0.5, 1, 2, 4, 8, 16, 32, 64, 122, 122 s.
		f := newFixture(t, engine.Config{}, binder.Config{Backends: set(t, fake.InTree(disk, fake.MaxSize("1Gi")))})
		f.Create(fake.Class("gold", disk), fake.Claim("c", "5Gi", fake.InClass("gold")))
		f.Advance(10 * time.Minute)
		var at []string
		for _, line := range f.log() {
			if when, found := strings.CutSuffix(line, " CALL Create failed"); found {
				at = append(at, when)
			}
		}
		want := []string{"0s", "15s", "30s", "45s", "1m0s", "1m15s", "1m45s", "2m30s", "3m45s", "6m0s", "8m15s"}
		if !slices.Equal(at, want) {
			t.Errorf("attempts at %v, want %v", at, want)
		}
	})
	t.Run("BIND-091 a running operation is left alone, and others run beside it", func(t *testing.T) {
		f := newFixture(t, engine.Config{}, binder.Config{Backends: set(t, fake.InTree(disk, fake.Latency(storage.Create, 40*time.Second)))})
		f.Create(fake.Class("gold", disk), fake.Claim("c", "5Gi", fake.InClass("gold")), fake.Claim("d", "5Gi", fake.InClass("gold")))
		f.Advance(39 * time.Second)
		f.want("until the plugin is done", "0s PVC.U", "0s PVC.U")
		f.Advance(time.Second)
		var done []string
		for _, line := range f.log() {
			if strings.Contains(line, "CALL") {
				done = append(done, line)
			}
		}
		if want := []string{"40s CALL Create", "40s CALL Create"}; !slices.Equal(done, want) {
			t.Errorf("done %v, want %v", done, want)
		}
	})
	t.Run("BIND-095 a panic is an error", func(t *testing.T) {
		b := plugin{name: disk, create: func(storage.CreateRequest) (storage.Volume, error) { panic("oh") }}
		f := newFixture(t, engine.Config{}, binder.Config{Backends: set(t, b)})
		f.Create(fake.Class("gold", disk), fake.Claim("c", "5Gi", fake.InClass("gold")))
		f.Advance(time.Second)
		f.want("the first attempt", "0s PVC.U", "0s CALL Create failed", "0s "+failed+"backend kubernetes.io/disk: Create panicked: oh")
	})
	t.Run("BIND-096 recycling never fails as an operation: every resync tries again", func(t *testing.T) {
		f := newFixture(t, engine.Config{}, binder.Config{})
		f.Load(ours(fake.Policy(corev1.PersistentVolumeReclaimRecycle)))
		f.Advance(0)
		f.want("the first attempt", "0s PV.S Released", "0s PV.S Failed",
			"0s EV PV Warning VolumeFailedRecycle: No recycler plugin found for the volume!")
		var at []string
		for e := range f.Since() {
			t.Error("something happened:", e)
		}
		f.Advance(31 * time.Second)
		for e := range f.Since() {
			if e.Type == trace.Decision && e.Rule == "RECL-003" {
				at = append(at, e.Time.Sub(engine.DefaultStart).String())
			}
		}
		if want := []string{"15s", "30s"}; !slices.Equal(at, want) {
			t.Errorf("started again at %v, want %v", at, want)
		}
	})
}

// TestExternalProvisioning: PROV-033, PROV-034, reference trace T2, edge 33.
func TestExternalProvisioning(t *testing.T) {
	f := newFixture(t, engine.Config{}, binder.Config{})
	f.Create(fake.Class("gold", driver), fake.Claim("c", "5Gi", fake.InClass("gold")))
	f.Advance(30 * time.Second)
	said := waitsFor(driver)
	f.want("PROV-033", "0s PVC.U", "0s "+said, "0s "+said, "15s "+said, "30s "+said)
	claim := theClaim(t, f.Store())
	f.Create(fake.Volume("pv", "5Gi", fake.InClass("gold"), fake.ForClaim("c", claim.UID), fake.CSISource(driver, "h"),
		fake.Annotations(objects.AnnProvisionedBy, driver)))
	f.Advance(time.Second)
	f.want("PROV-034: the volume sync writes nothing, the claim sync binds", "30s PV.S Bound", "30s PVC.U", "30s PVC.S Bound")
	if pv := theVolume(t, f.Store()); slices.Contains(keys(pv.Annotations), byController) {
		t.Errorf("the volume has %s", byController)
	}
}
