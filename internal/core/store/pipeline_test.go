package store_test

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/store"
)

// TestMatrix is API-030: what each kind has.
func TestMatrix(t *testing.T) {
	for _, test := range []struct {
		rule                                            string
		good                                            api.Object
		edit                                            func(api.Object) // an allowed change of the spec, or of what there is
		namespaced, status, unconditional, graceful     bool
		generation, afterUpdate, afterStatus, afterMark int64
	}{
		{rule: "API-030.PV", good: disk("a"), status: true, unconditional: true,
			edit: func(o api.Object) { o.(*corev1.PersistentVolume).Spec.MountOptions = []string{"ro"} }},
		{rule: "API-030.PVC", good: claim("a"), namespaced: true, status: true, unconditional: true,
			edit: func(o api.Object) { o.(*corev1.PersistentVolumeClaim).Spec.VolumeName = "disk" }},
		{rule: "API-030.SC", good: class("a"), unconditional: true,
			edit: func(o api.Object) { o.(*storagev1.StorageClass).AllowVolumeExpansion = new(true) }},
		{rule: "API-030.VAC", good: attributes("a"), unconditional: true,
			edit: func(o api.Object) { o.SetLabels(map[string]string{"a": "b"}) }},
		{rule: "API-030.VA", good: attachment("a"), status: true,
			edit: func(o api.Object) { o.SetLabels(map[string]string{"a": "b"}) }},
		{rule: "API-030.CSIDriver", good: driver("a"), afterUpdate: 1, afterMark: 2,
			edit: func(o api.Object) { o.(*storagev1.CSIDriver).Spec.PodInfoOnMount = new(true) }},
		{rule: "API-030.CSINode", good: csiNode("a"),
			edit: func(o api.Object) { o.(*storagev1.CSINode).Spec.Drivers = nil }},
		{rule: "API-030.CSC", good: capacity("a"), namespaced: true,
			edit: func(o api.Object) { o.(*storagev1.CSIStorageCapacity).Capacity = new(size("1Gi")["storage"]) }},
		{rule: "API-030.Node", good: node("a"), status: true, unconditional: true,
			edit: func(o api.Object) { o.(*corev1.Node).Spec.Unschedulable = true }},
		{rule: "API-030.Pod", good: running("a"), namespaced: true, status: true, unconditional: true, graceful: true,
			generation: 1, afterUpdate: 2, afterStatus: 2, afterMark: 3,
			edit: func(o api.Object) { o.(*corev1.Pod).Spec.Containers[0].Image = "example.com/app:2" }},
	} {
		t.Run(test.rule, func(t *testing.T) {
			w := newFixture(t)
			kind, key := api.KindOf(test.good), api.KeyOf(test.good)
			// API-009: the scope decides what a namespace means.
			assert.Equal(t, test.namespaced, strings.Contains(key, "/"), "%s: key %q", test.rule, key)
			stored := create(w, held(test.good))
			assert.Equal(t, test.generation, stored.GetGeneration(), "%s: generation on create", test.rule)

			// API-012: without a version, the last write wins, or there is none.
			unversioned := with(stored, func(o api.Object) { o.SetResourceVersion(""); test.edit(o) })
			w.changes()
			updated, err := w.Update(unversioned)
			if test.unconditional {
				require.NoError(t, err, "%s: unconditional update", test.rule)
			} else {
				w.refused(test.rule+" API-012", err, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, w.Version())
				updated = update(w, with(stored, test.edit))
			}
			assert.Equal(t, test.afterUpdate, updated.GetGeneration(), "%s: generation after a change", test.rule)

			w.changes()
			labelled := with(updated, func(o api.Object) { o.SetLabels(map[string]string{"c": "d"}) })
			again, err := w.UpdateStatus(labelled)
			if test.status {
				require.NoError(t, err, "%s: /status", test.rule)
				// API-031: the status does not count.
				assert.Equal(t, max(test.generation, test.afterStatus), again.GetGeneration(), "%s: generation after a status", test.rule)
			} else {
				w.refused(test.rule+" /status", err, http.StatusNotFound, metav1.StatusReasonNotFound, w.Version())
			}

			marked := remove(w, stored)
			// API-031: the first mark of deletion counts where anything does.
			assert.Equal(t, test.afterMark, marked.GetGeneration(), "%s: generation of a deleted object", test.rule)
			grace := int64(0)
			if test.graceful {
				grace = 30
			}
			assert.Equal(t, &grace, marked.GetDeletionGracePeriodSeconds(), "%s: grace", test.rule)
			again, err = w.Get(kind, key)
			require.NoError(t, err)
			assert.Same(t, marked, again, "%s: it is still there", test.rule)
		})
	}
}

func TestGeneration(t *testing.T) {
	w := newFixture(t)
	// API-031: a value sent on create is kept where the type does not set it, and ignored on update.
	pv := create(w, held(with(disk("disk"), func(v *corev1.PersistentVolume) { v.Generation = 5 })))
	assert.EqualValues(t, 5, pv.Generation, "API-031 on create")
	pv = update(w, with(pv, func(v *corev1.PersistentVolume) { v.Generation, v.Spec.MountOptions = 9, []string{"ro"} }))
	assert.EqualValues(t, 5, pv.Generation, "API-031, API-041 on update")
	assert.EqualValues(t, 6, remove(w, pv).GetGeneration(), "API-031 first mark")
	p := create(w, with(pod("web"), func(p *corev1.Pod) { p.Generation = 7 }))
	assert.EqualValues(t, 1, p.Generation, "API-031 a pod's begins at 1")
	before := w.Version()
	p = update(w, with(p, func(p *corev1.Pod) { p.Generation = 7 }))
	assert.Equal(t, before, w.Version(), "API-041: a generation alone is no change")
}

func TestCreate(t *testing.T) {
	t.Run("API-001 what a client may not say is wiped", func(t *testing.T) {
		for _, obj := range every() {
			w := newFixture(t)
			yesterday := metav1.NewTime(noon.Add(-24 * time.Hour))
			sent := with(obj, func(o api.Object) {
				o.SetUID("mine")
				o.SetCreationTimestamp(yesterday)
				o.SetDeletionTimestamp(&yesterday)
				o.SetDeletionGracePeriodSeconds(new(int64(3)))
			})
			before := sent.DeepCopyObject()
			stored := create(w, sent)
			kind := api.KindOf(obj)
			assert.NotContains(t, []string{"", "mine"}, string(stored.GetUID()), kind)
			assert.True(t, stored.GetCreationTimestamp().Time.Equal(noon), "%s: created at %v", kind, stored.GetCreationTimestamp())
			assert.Nil(t, stored.GetDeletionTimestamp(), kind)
			assert.Nil(t, stored.GetDeletionGracePeriodSeconds(), kind)
			assert.Empty(t, cmp.Diff(before, any(sent)), "%s: the request was written to", kind)
		}
	})
	t.Run("API-001 the status is reset, defaults and admission are applied", func(t *testing.T) {
		w := newFixture(t)
		pv := create(w, with(disk("disk"), func(v *corev1.PersistentVolume) { v.Status.Phase = corev1.VolumeBound }))
		assert.Equal(t, corev1.VolumePending, pv.Status.Phase)
		assert.Equal(t, corev1.PersistentVolumeReclaimRetain, pv.Spec.PersistentVolumeReclaimPolicy)
		assert.Equal(t, []string{"kubernetes.io/pv-protection"}, pv.Finalizers)
	})
	t.Run("API-001 a refused create leaves nothing behind", func(t *testing.T) {
		w := newFixture(t)
		_, err := w.Create(with(disk("disk"), func(v *corev1.PersistentVolume) { v.Spec.AccessModes = nil }))
		w.refused("API-001", err, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, 0)
		assert.Zero(t, w.Len())
	})
	t.Run("API-017 a version is a server error, once everything else is right", func(t *testing.T) {
		w := newFixture(t)
		_, err := w.Create(with(disk("disk"), func(v *corev1.PersistentVolume) { v.ResourceVersion = "7" }))
		status := w.refused("API-017", err, http.StatusInternalServerError, "", 0)
		assert.Equal(t, "resourceVersion should not be set on objects to be created", status.Message)
		_, err = w.Create(with(disk("Disk"), func(v *corev1.PersistentVolume) { v.ResourceVersion = "7" }))
		w.refused("API-017 after validation", err, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, 0)
		create(w, with(disk("zero"), func(v *corev1.PersistentVolume) { v.ResourceVersion = "0" }))
		create(w, with(disk("nonsense"), func(v *corev1.PersistentVolume) { v.ResourceVersion = "x" }))
		version := w.Version()
		w.changes()
		_, err = w.Create(with(disk("zero"), func(v *corev1.PersistentVolume) { v.ResourceVersion = "7" }))
		w.refused("API-017 before the name", err, http.StatusInternalServerError, "", version)
	})
	t.Run("API-036 an owner that is given twice counts once", func(t *testing.T) {
		w := newFixture(t)
		owner := metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: "p", UID: "u", Controller: new(true)}
		other := metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: "q", UID: "v"}
		twice := func(c *corev1.PersistentVolumeClaim) {
			c.OwnerReferences = []metav1.OwnerReference{owner, other, owner, other}
		}
		stored := create(w, with(claim("data"), twice))
		assert.Equal(t, []metav1.OwnerReference{owner, other}, stored.OwnerReferences)
		version := w.Version()
		update(w, with(stored, twice))
		assert.Equal(t, version, w.Version(), "on update, too")
	})
	t.Run("dry run", func(t *testing.T) {
		w := newFixture(t)
		obj, err := w.CreateWith(disk("disk"), store.CreateOptions{DryRun: true})
		require.NoError(t, err)
		assert.NotEmpty(t, obj.GetUID())
		assert.Empty(t, w.changes())
		assert.Zero(t, w.Version())
		_, err = w.CreateWith(with(disk("Disk"), func(*corev1.PersistentVolume) {}), store.CreateOptions{DryRun: true})
		w.refused("validated", err, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, 0)
		_, err = w.CreateWith(with(disk("d"), func(v *corev1.PersistentVolume) { v.ResourceVersion = "7" }), store.CreateOptions{DryRun: true})
		w.refused("API-017", err, http.StatusInternalServerError, "", 0)
		w.DryRun(func() {
			tried, err := w.Create(with(disk("d"), func(v *corev1.PersistentVolume) { v.ResourceVersion = "7" }))
			require.NoError(t, err, "API-017: only storing finds out")
			assert.Equal(t, "7", tried.GetResourceVersion(), "API-017: as it was sent")
		})
		real := create(w, disk("disk"))
		assert.Equal(t, obj.GetUID(), real.UID, "the same would have come out")
		w.changes()
		_, err = w.CreateWith(disk("disk"), store.CreateOptions{DryRun: true})
		w.refused("API-023", err, http.StatusConflict, metav1.StatusReasonAlreadyExists, 1)
	})
	t.Run("skip validation", func(t *testing.T) {
		w := newFixture(t)
		bad := with(disk("disk"), func(v *corev1.PersistentVolume) { v.Spec.AccessModes, v.Spec.Capacity = nil, nil })
		obj, err := w.CreateWith(bad, store.CreateOptions{SkipValidation: true})
		require.NoError(t, err)
		assert.Equal(t, []string{"kubernetes.io/pv-protection"}, obj.GetFinalizers(), "admitted")
		worse := with(obj.(*corev1.PersistentVolume), func(v *corev1.PersistentVolume) { v.Spec.VolumeMode = new(corev1.PersistentVolumeBlock) })
		_, err = w.Update(worse)
		require.Error(t, err, "API-212")
		_, err = w.UpdateWith(worse, api.Main, store.UpdateOptions{SkipValidation: true})
		require.NoError(t, err)
		_, err = w.UpdateWith(worse, api.Main, store.UpdateOptions{SkipValidation: true})
		require.Error(t, err, "API-011 holds all the same")
	})
}

func TestVersions(t *testing.T) {
	w := newFixture(t)
	// API-005: one counter for all kinds and namespaces.
	for i, obj := range every() {
		stored := create(w, obj)
		assert.Equal(t, strconv.Itoa(i+1), stored.GetResourceVersion(), "API-005 %s", api.KindOf(obj))
	}
	assert.EqualValues(t, len(every()), w.Version(), "API-005: a list carries it")
	pv := update(w, with(w.Volumes.List()[0], func(v *corev1.PersistentVolume) { v.Labels = map[string]string{"a": "b"} }))
	assert.Equal(t, "12", pv.ResourceVersion, "API-005 an update")
	gone := remove(w, w.Classes.List()[0])
	assert.Equal(t, "13", gone.GetResourceVersion(), "API-005, API-072 a deletion")
	w.changes()
	_, err := w.Create(pv)
	w.refused("API-005: a failure takes none", err, http.StatusInternalServerError, "", 13)
	update(w, pv)
	assert.EqualValues(t, 13, w.Version(), "API-014 neither does nothing")
}

func TestTimes(t *testing.T) {
	w := newFixture(t)
	w.now = noon.Add(1999 * time.Millisecond)
	second := metav1.NewTime(noon.Add(time.Second))
	pv := create(w, disk("disk"))
	assert.Equal(t, second, pv.CreationTimestamp, "API-006 the answer shows it, too")
	assert.Equal(t, second, *pv.Status.LastPhaseTransitionTime, "API-006")
	assert.Equal(t, &second, remove(w, pv).GetDeletionTimestamp(), "API-006")
	c := create(w, claim("data"))
	c, err := w.Claims.UpdateStatus(with(c, func(c *corev1.PersistentVolumeClaim) {
		c.Status.Conditions = []corev1.PersistentVolumeClaimCondition{{Type: "Resizing", Status: "True", LastTransitionTime: metav1.NewTime(w.now)}}
	}))
	require.NoError(t, err)
	assert.Equal(t, second, c.Status.Conditions[0].LastTransitionTime, "API-006 conditions")
	loaded := load(w, held(with(disk("old"), func(v *corev1.PersistentVolume) {
		v.CreationTimestamp, v.DeletionTimestamp = metav1.NewTime(w.now), new(metav1.NewTime(w.now))
	})))
	assert.Equal(t, second, loaded.CreationTimestamp, "API-006 loaded")
	assert.Equal(t, &second, loaded.DeletionTimestamp, "API-006 loaded")
}

// TestReads is API-007: every stored object has its defaults, so setting them again changes nothing.
func TestReads(t *testing.T) {
	for _, obj := range every() {
		w := newFixture(t)
		created := create(w, obj)
		version := w.Version()
		update(w, created)
		assert.Equal(t, version, w.Version(), "API-007, API-014 %s as created", api.KindOf(obj))
		_, err := w.UpdateStatus(created)
		assert.Equal(t, version, w.Version(), "API-007, API-014 status of %s: %v", api.KindOf(obj), err)
		loaded := load(w, with(obj, func(o api.Object) {
			o.SetName("other")
			if pod, ok := o.(*corev1.Pod); ok {
				// NODE-080: an update adds these.
				pod.Spec.Tolerations = created.(*corev1.Pod).Spec.Tolerations
			}
		}))
		version = w.Version()
		update(w, loaded)
		assert.Equal(t, version, w.Version(), "API-007 %s as loaded", api.KindOf(obj))
	}
	w := newFixture(t)
	pv := load(w, disk("disk"))
	assert.Equal(t, corev1.PersistentVolumeReclaimRetain, pv.Spec.PersistentVolumeReclaimPolicy, "API-007")
	assert.Equal(t, corev1.VolumePending, pv.Status.Phase, "API-007")
}

func TestGenerateName(t *testing.T) {
	w := newFixture(t)
	named := func(base string) *corev1.PersistentVolumeClaim {
		return with(claim(""), func(c *corev1.PersistentVolumeClaim) { c.GenerateName = base })
	}
	stored := create(w, named("data-"))
	assert.Regexp(t, `^data-[bcdfghjklmnpqrstvwxz2456789]{5}$`, stored.Name, "API-008")
	stored = create(w, named(strings.Repeat("a", 60)))
	assert.Regexp(t, `^a{58}[bcdfghjklmnpqrstvwxz2456789]{5}$`, stored.Name, "API-008: the base is cut")
	stored = create(w, with(named("data-"), func(c *corev1.PersistentVolumeClaim) { c.Name = "mine" }))
	assert.Equal(t, "mine", stored.Name, "API-008: a name is a name")
	// API-250, API-008: admission comes before the name.
	assert.Equal(t, []string{"kubernetes.io/pvc-protection"}, stored.Finalizers, "API-008")

	// API-008: a name that is taken is drawn again, eight times in all. Names follow from the version of the store.
	var taken []string
	const filler = 20
	draw := func() (*corev1.PersistentVolumeClaim, error) {
		w := newFixture(t)
		for i := range filler {
			name := fmt.Sprintf("other-%d", i)
			if i < len(taken) {
				name = taken[i]
			}
			create(w, claim(name))
		}
		return w.Claims.Create(named("data-"))
	}
	for range 8 {
		stored, err := draw()
		require.NoError(t, err, "API-008 attempt %d", len(taken)+1)
		require.False(t, slices.Contains(taken, stored.Name), "API-008: drawn again")
		taken = append(taken, stored.Name)
	}
	_, err := draw()
	require.Error(t, err, "API-008")
	assert.Contains(t, err.Error(), "already exists, the server was not able to generate a unique name for the object", "API-008, API-023")
}

func TestNamespaces(t *testing.T) {
	w := newFixture(t)
	inNamespace := func(v *corev1.PersistentVolume) { v.Namespace = "somewhere" }
	pv := create(w, with(disk("disk"), inNamespace))
	assert.Empty(t, pv.Namespace, "API-009: cleared on create")
	pv = update(w, with(pv, func(v *corev1.PersistentVolume) { inNamespace(v); v.Labels = map[string]string{"a": "b"} }))
	assert.Empty(t, pv.Namespace, "API-009: cleared on update")
	assert.Equal(t, "b", pv.Labels["a"], "API-009")
	pv = load(w, with(disk("disk"), inNamespace))
	assert.Empty(t, pv.Namespace, "API-009: cleared on load")
	pv, err := w.Volumes.Patch("disk", []byte(`{"metadata":{"namespace":"somewhere"}}`), api.Main)
	require.NoError(t, err, "API-009 patch")
	assert.Empty(t, pv.Namespace, "API-009: cleared in a patch")
	assert.Equal(t, "disk", api.KeyOf(with(pv, inNamespace)), "API-009: the key does not have it")
	assert.Equal(t, "default/data", api.KeyOf(claim("data")), "API-009")
	w.changes()
	_, err = w.Create(with(claim("data"), func(c *corev1.PersistentVolumeClaim) { c.Namespace = "" }))
	w.refused("API-034", err, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, w.Version())
}

func TestUpdate(t *testing.T) {
	expand := func(c *corev1.PersistentVolumeClaim) { c.Spec.Resources.Requests = size("50Gi") }
	bad := func(c *corev1.PersistentVolumeClaim) { c.Labels = map[string]string{"-": "-"} }
	for _, test := range []struct {
		rule, name string
		change     func(*corev1.PersistentVolumeClaim)
		code       int32
		reason     metav1.StatusReason
		message    string
	}{
		{"API-020", "no name", func(c *corev1.PersistentVolumeClaim) { c.Name = "" }, 400, metav1.StatusReasonBadRequest,
			"the name of the object ( based on URL) was undeterminable: name must be provided"},
		{"API-004", "missing, whatever else is wrong", func(c *corev1.PersistentVolumeClaim) {
			c.Name, c.UID, c.ResourceVersion = "other", "u", "99"
			bad(c)
		}, 404, metav1.StatusReasonNotFound, `persistentvolumeclaims "other" not found`},
		{"API-013", "another uid comes before a stale version", func(c *corev1.PersistentVolumeClaim) {
			c.UID, c.ResourceVersion = "u", "99"
			bad(c)
		}, 409, metav1.StatusReasonConflict, `Operation cannot be fulfilled on persistentvolumeclaims "data": StorageError: invalid object, Code: 4, ` +
			"Key: /registry/persistentvolumeclaims/default/data, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: u, "},
		{"API-011", "a stale version comes before validation", func(c *corev1.PersistentVolumeClaim) {
			c.ResourceVersion = "99"
			bad(c)
		}, 409, metav1.StatusReasonConflict, `Operation cannot be fulfilled on persistentvolumeclaims "data": the object has been modified; ` +
			"please apply your changes to the latest version and try again"},
		{"API-011", "even if nothing would change", func(c *corev1.PersistentVolumeClaim) { c.ResourceVersion = "99" }, 409, metav1.StatusReasonConflict, ""},
		{"API-011", "a version that is no number", func(c *corev1.PersistentVolumeClaim) { c.ResourceVersion = "x" }, 500, "",
			`strconv.ParseUint: parsing "x": invalid syntax`},
		{"API-002", "validation comes before admission", func(c *corev1.PersistentVolumeClaim) { expand(c); bad(c) }, 422, metav1.StatusReasonInvalid, ""},
		{"API-002", "admission comes last", expand, 403, metav1.StatusReasonForbidden,
			`persistentvolumeclaims "data" is forbidden: only dynamically provisioned pvc can be resized`},
	} {
		t.Run(test.rule+" "+test.name, func(t *testing.T) {
			w := newFixture(t)
			stored := create(w, claim("data"))
			bound, err := w.Claims.UpdateStatus(with(stored, func(c *corev1.PersistentVolumeClaim) { c.Status.Phase = corev1.ClaimBound }))
			require.NoError(t, err)
			w.changes()
			_, err = w.Update(with(bound, test.change))
			status := w.refused(test.rule, err, test.code, test.reason, 2)
			assert.Contains(t, status.Message, test.message)
			kept, err := w.Claims.Get("default/data")
			require.NoError(t, err)
			assert.Same(t, bound, kept)
		})
	}
}

func TestUpdateIsAccepted(t *testing.T) {
	w := newFixture(t)
	old := create(w, disk("disk"))
	label := func(value string) func(*corev1.PersistentVolume) {
		return func(v *corev1.PersistentVolume) { v.Labels = map[string]string{"a": value} }
	}
	newer := update(w, with(old, label("1")))
	assert.Equal(t, []string{"ADDED PersistentVolume/disk 1", "MODIFIED PersistentVolume/disk 2"}, w.changes(), "API-002, API-070")
	// API-012: last write wins for those that may leave the version out; "0" is none, and versions are numbers.
	for i, version := range []string{"", "0", "00"} {
		newer = update(w, with(old, func(v *corev1.PersistentVolume) {
			v.ResourceVersion = version
			label(fmt.Sprint("again-", i))(v)
		}))
		assert.Equal(t, fmt.Sprint("again-", i), newer.Labels["a"], "API-012 %q", version)
	}
	newer = update(w, with(newer, func(v *corev1.PersistentVolume) { v.ResourceVersion = "000" + v.ResourceVersion; label("n")(v) }))
	assert.Equal(t, "n", newer.Labels["a"], "API-011: the same number")
	newer = update(w, with(newer, func(v *corev1.PersistentVolume) { v.UID = ""; label("u")(v) }))
	assert.Equal(t, old.UID, newer.UID, "API-013: filled in")
	assert.Equal(t, old.CreationTimestamp, newer.CreationTimestamp, "API-040")

	before, version := newer.DeepCopy(), w.Version()
	w.changes()
	same := update(w, newer.DeepCopy())
	assert.Same(t, newer, same, "API-014: what is stored stays")
	assert.Empty(t, w.changes(), "API-014: no event")
	assert.Equal(t, version, w.Version(), "API-014: no version")
	assert.Empty(t, cmp.Diff(before, newer), "API-014")
	update(w, with(newer, func(v *corev1.PersistentVolume) { v.Spec.Capacity = size("10240Mi") }))
	assert.Equal(t, version, w.Version(), "API-014, API-081: the same text in the end")
	update(w, with(newer, func(v *corev1.PersistentVolume) { v.Spec.Capacity = size("10737418240") }))
	assert.Equal(t, version+1, w.Version(), "API-083: another notation is a write")

	// API-015: a fresh claim is stored as Pending at once, so that its first update changes nothing either.
	c := create(w, claim("data"))
	assert.Equal(t, corev1.ClaimPending, c.Status.Phase, "API-015")
	version = w.Version()
	update(w, c.DeepCopy())
	assert.Equal(t, version, w.Version(), "API-015")
}

func TestStatusUpdate(t *testing.T) {
	w := newFixture(t)
	pv := create(w, disk("disk"))
	changed := with(pv, func(v *corev1.PersistentVolume) {
		v.Status.Phase, v.Spec.StorageClassName, v.Labels = corev1.VolumeAvailable, "other", map[string]string{"a": "b"}
	})
	stored, err := w.Volumes.UpdateStatus(changed)
	require.NoError(t, err)
	assert.Equal(t, corev1.VolumeAvailable, stored.Status.Phase, "API-003")
	assert.Empty(t, stored.Spec.StorageClassName, "API-003, API-240: the spec is not its business")
	assert.Equal(t, "b", stored.Labels["a"], "API-240: the metadata is")
	stored = update(w, with(stored, func(v *corev1.PersistentVolume) {
		v.Status.Phase, v.Spec.StorageClassName = corev1.VolumeFailed, "other"
	}))
	assert.Equal(t, corev1.VolumeAvailable, stored.Status.Phase, "API-002, API-210: nor the status the other's")
	assert.Equal(t, "other", stored.Spec.StorageClassName, "API-002")

	for _, test := range []struct {
		rule   string
		change func(*corev1.PersistentVolume)
		code   int32
		reason metav1.StatusReason
	}{
		{"API-246 missing", func(v *corev1.PersistentVolume) { v.Name = "other" }, 404, metav1.StatusReasonNotFound},
		{"API-246, API-011 stale", func(v *corev1.PersistentVolume) { v.ResourceVersion = "1" }, 409, metav1.StatusReasonConflict},
		{"API-246, API-013 another", func(v *corev1.PersistentVolume) { v.UID = "u" }, 409, metav1.StatusReasonConflict},
	} {
		w.changes()
		_, err := w.Volumes.UpdateStatus(with(stored, test.change))
		w.refused(test.rule, err, test.code, test.reason, w.Version())
	}
	version := w.Version()
	same, err := w.Volumes.UpdateStatus(stored.DeepCopy())
	require.NoError(t, err)
	assert.Same(t, stored, same, "API-246, API-014")
	assert.Equal(t, version, w.Version(), "API-246, API-014")
	va := create(w, attachment("att"))
	w.changes()
	_, err = w.Attachments.UpdateStatus(with(va, func(va *storagev1.VolumeAttachment) { va.ResourceVersion = "" }))
	w.refused("API-246, API-012", err, 422, metav1.StatusReasonInvalid, w.Version())
	_, err = w.Volumes.UpdateWith(stored, "scale", store.UpdateOptions{})
	w.refused("an unknown subresource", err, 400, metav1.StatusReasonBadRequest, w.Version())
}

func TestWalksGoOnWhileWriting(t *testing.T) {
	w := newFixture(t)
	for _, name := range []string{"a", "b", "c"} {
		create(w, disk(name))
	}
	var seen []string
	for _, pv := range w.Volumes.List() {
		seen = append(seen, pv.Name)
		create(w, disk(pv.Name+"-more"))
		if pv.Name == "a" {
			_, err := w.Volumes.UpdateStatus(with(w.Volumes.List()[2], func(v *corev1.PersistentVolume) { v.Status.Phase = corev1.VolumeFailed }))
			require.NoError(t, err)
		}
	}
	assert.Equal(t, []string{"a", "b", "c"}, seen)
	assert.Equal(t, 6, w.Volumes.Len())
	for _, pv := range w.Volumes.List() {
		assert.Equal(t, "a", pv.Name)
		break
	}
	list := w.List(api.PersistentVolume)
	assert.True(t, slices.IsSortedFunc(list, func(a, b api.Object) int { return strings.Compare(api.KeyOf(a), api.KeyOf(b)) }))
	assert.Len(t, list, 6)
}

func TestUntyped(t *testing.T) {
	w := newFixture(t)
	var missing *corev1.PersistentVolume
	for name, call := range map[string]func() error{
		"create nil":           func() error { _, err := w.Create(nil); return err },
		"create a typed nil":   func() error { _, err := w.Create(missing); return err },
		"create, by the table": func() error { _, err := w.Volumes.Create(nil); return err },
		"update, by the table": func() error { _, err := w.Volumes.Update(nil); return err },
		"load, by the table":   func() error { _, err := w.Volumes.Load(nil); return err },
		"update nil":           func() error { _, err := w.Update(nil); return err },
		"load nil":             func() error { _, err := w.Load(nil); return err },
		"another type":         func() error { _, err := w.Create(&corev1.Secret{}); return err },
		"a type of one's own":  func() error { _, err := w.Create(odd{}); return err },
		"patch another kind":   func() error { _, err := w.Patch("Secret", "a", nil, api.Main); return err },
		"delete another kind":  func() error { _, err := w.Delete("Secret", "a", api.DeleteOptions{}); return err },
		"get another kind":     func() error { _, err := w.Get("Secret", "a"); return err },
		"bind nothing":         func() error { _, err := w.Bind("default/web", nil); return err },
		"watch without a handler": func() error {
			_, err := w.Volumes.Watch(store.WatchOptions[*corev1.PersistentVolume]{}, nil)
			return err
		},
	} {
		assert.Error(t, call(), name)
		assert.Zero(t, w.Version(), name)
	}
	assert.Nil(t, w.List("Vault"))
	assert.Empty(t, w.List("Secret"))
	assert.Equal(t, api.Ref{}, api.RefTo(missing))
	assert.Empty(t, api.RefTo(nil).String())
	assert.Equal(t, "PersistentVolumeClaim/default/data", api.RefTo(claim("data")).String())
}

// odd is an object of no kind that is not even a pointer.
type odd struct{ api.Object }
