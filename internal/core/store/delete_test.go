package store_test

import (
	"net/http"
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

func TestDeleteWithoutGrace(t *testing.T) {
	w := newFixture(t)
	_, err := w.Delete(api.StorageClass, "fast", api.DeleteOptions{})
	status := w.refused("API-050", err, http.StatusNotFound, metav1.StatusReasonNotFound, 0)
	assert.Equal(t, `storageclasses.storage.k8s.io "fast" not found`, status.Message, "API-050, API-022")

	// API-051: without finalizers it is gone at once; API-060: its dependents are left alone.
	sc := create(w, class("fast"))
	create(w, with(claim("data"), func(c *corev1.PersistentVolumeClaim) {
		c.OwnerReferences = []metav1.OwnerReference{{APIVersion: "storage.k8s.io/v1", Kind: "StorageClass", Name: "fast", UID: sc.UID}}
	}))
	w.changes()
	last := remove(w, sc)
	assert.Equal(t, []string{"DELETED StorageClass/fast 3"}, w.changes(), "API-051, API-060")
	assert.Nil(t, last.GetDeletionTimestamp(), "API-051")
	assert.Empty(t, cmp.Diff(with(sc, func(c *storagev1.StorageClass) { c.ResourceVersion = "3" }), last.(*storagev1.StorageClass)), "API-051")
	assert.Equal(t, 1, w.Claims.Len(), "API-060")

	// API-052: with finalizers it stays, marked.
	pv := create(w, disk("disk"))
	w.changes()
	w.now = noon.Add(time.Minute)
	marked := remove(w, pv).(*corev1.PersistentVolume)
	assert.Equal(t, []string{"MODIFIED PersistentVolume/disk 5"}, w.changes(), "API-052")
	assert.Equal(t, metav1.NewTime(w.now), *marked.DeletionTimestamp, "API-052")
	assert.Equal(t, new(int64(0)), marked.DeletionGracePeriodSeconds, "API-052")
	assert.Zero(t, marked.Generation, "API-052")

	// API-053: deleting it again changes nothing.
	w.now = noon.Add(time.Hour)
	assert.Same(t, marked, remove(w, pv), "API-053")
	assert.Empty(t, w.changes(), "API-053, API-014")
	assert.EqualValues(t, 5, w.Version(), "API-053, API-014")

	// API-023, API-057: the name is taken as long as it is there.
	_, err = w.Create(disk("disk"))
	status = w.refused("API-023", err, http.StatusConflict, metav1.StatusReasonAlreadyExists, 5)
	assert.Equal(t, `object is being deleted: persistentvolumes "disk" already exists`, status.Message, "API-023")

	// API-054: it may be written to, but for new finalizers.
	labelled := update(w, with(marked, func(v *corev1.PersistentVolume) { v.Labels = map[string]string{"a": "b"} }))
	assert.Equal(t, marked.DeletionTimestamp, labelled.DeletionTimestamp, "API-054, API-040")
	labelled, err = w.Volumes.UpdateStatus(with(labelled, func(v *corev1.PersistentVolume) { v.Status.Phase = corev1.VolumeReleased }))
	require.NoError(t, err, "API-054")
	assert.Equal(t, []string{"MODIFIED PersistentVolume/disk 6", "MODIFIED PersistentVolume/disk 7"}, w.changes(), "API-054")
	_, err = w.Update(with(labelled, func(v *corev1.PersistentVolume) { v.Finalizers = append(v.Finalizers, hold) }))
	w.refused("API-038", err, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, 7)
}

// TestFinalizerRemovalDeletes is API-055 and API-056: the removal of the last finalizer deletes the object, by update or patch.
func TestFinalizerRemovalDeletes(t *testing.T) {
	drop := func(v *corev1.PersistentVolume) {
		v.Finalizers, v.Labels, v.Status.Phase = nil, map[string]string{"last": "words"}, corev1.VolumeFailed
	}
	for _, test := range []struct {
		name string
		call func(*fixture, *corev1.PersistentVolume) (*corev1.PersistentVolume, error)
	}{
		{"by an update", func(w *fixture, v *corev1.PersistentVolume) (*corev1.PersistentVolume, error) {
			return w.Volumes.Update(with(v, drop))
		}},
		{"by an update of the status", func(w *fixture, v *corev1.PersistentVolume) (*corev1.PersistentVolume, error) {
			return w.Volumes.UpdateStatus(with(v, drop))
		}},
		{"by a patch", func(w *fixture, v *corev1.PersistentVolume) (*corev1.PersistentVolume, error) {
			return w.Volumes.Patch("disk", []byte(`{"metadata":{"finalizers":null,"labels":{"last":"words"}}}`), api.Main)
		}},
		{"without a version", func(w *fixture, v *corev1.PersistentVolume) (*corev1.PersistentVolume, error) {
			return w.Volumes.Update(with(v, func(v *corev1.PersistentVolume) { drop(v); v.ResourceVersion = "" }))
		}},
	} {
		t.Run("API-055 "+test.name, func(t *testing.T) {
			w := newFixture(t)
			var changes []api.Change[*corev1.PersistentVolume]
			marked := remove(w, create(w, disk("disk"))).(*corev1.PersistentVolume)
			_, err := w.Volumes.Watch(store.WatchOptions[*corev1.PersistentVolume]{From: w.Version()}, func(c api.Change[*corev1.PersistentVolume]) {
				changes = append(changes, c)
			})
			require.NoError(t, err)
			answer, err := test.call(w, marked)
			require.NoError(t, err)

			// API-056: one event, the stored state with the version of the deletion.
			require.Len(t, changes, 1, "API-056")
			assert.Equal(t, api.Deleted, changes[0].Type, "API-056")
			want := with(marked, func(v *corev1.PersistentVolume) { v.ResourceVersion = "3" })
			assert.Empty(t, cmp.Diff(want, changes[0].Object), "API-056: still with the finalizer, without the rest")
			assert.Same(t, marked, changes[0].Old)
			assert.EqualValues(t, 3, changes[0].Version)

			// API-056: the caller sees its request, under the version that was.
			assert.Equal(t, "2", answer.ResourceVersion, "API-056")
			assert.Equal(t, "words", answer.Labels["last"], "API-056")
			assert.Empty(t, answer.Finalizers, "API-056")
			assert.Zero(t, w.Volumes.Len(), "API-055")
		})
	}
	t.Run("API-055 validation comes first", func(t *testing.T) {
		w := newFixture(t)
		marked := remove(w, create(w, disk("disk"))).(*corev1.PersistentVolume)
		w.changes()
		_, err := w.Update(with(marked, func(v *corev1.PersistentVolume) { v.Finalizers, v.Spec.AccessModes = nil, nil }))
		w.refused("API-055", err, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, 2)
		_, err = w.Update(with(marked, func(v *corev1.PersistentVolume) { v.Finalizers, v.ResourceVersion = nil, "1" }))
		w.refused("API-055, API-011", err, http.StatusConflict, metav1.StatusReasonConflict, 2)
		assert.Equal(t, 1, w.Volumes.Len())
	})
	t.Run("API-055 one finalizer left", func(t *testing.T) {
		w := newFixture(t)
		marked := remove(w, create(w, held(disk("disk")))).(*corev1.PersistentVolume)
		w.changes()
		update(w, with(marked, func(v *corev1.PersistentVolume) { v.Finalizers = v.Finalizers[:1] }))
		assert.Equal(t, []string{"MODIFIED PersistentVolume/disk 3"}, w.changes())
	})
	t.Run("API-055 not before it is deleted", func(t *testing.T) {
		w := newFixture(t)
		pv := create(w, disk("disk"))
		w.changes()
		update(w, with(pv, func(v *corev1.PersistentVolume) { v.Finalizers = nil }))
		assert.Equal(t, []string{"MODIFIED PersistentVolume/disk 2"}, w.changes())
	})
	t.Run("API-243 not through the status of an attachment", func(t *testing.T) {
		w := newFixture(t)
		marked := remove(w, create(w, held(attachment("att")))).(*storagev1.VolumeAttachment)
		w.changes()
		_, err := w.Attachments.UpdateStatus(with(marked, func(va *storagev1.VolumeAttachment) { va.Finalizers = nil }))
		require.NoError(t, err)
		assert.Empty(t, w.changes(), "API-243, API-014")
	})
	t.Run("API-055 the answer has the new generation", func(t *testing.T) {
		w := newFixture(t)
		marked := remove(w, create(w, held(driver("csi.example.com")))).(*storagev1.CSIDriver)
		answer := update(w, with(marked, func(d *storagev1.CSIDriver) { d.Finalizers, d.Spec.PodInfoOnMount = nil, new(true) }))
		assert.Equal(t, marked.Generation+1, answer.Generation)
		assert.Zero(t, w.CSIDrivers.Len())
	})
}

func TestRecreate(t *testing.T) {
	w := newFixture(t)
	first := create(w, class("fast"))
	remove(w, first)
	second := create(w, class("fast"))
	assert.NotEqual(t, first.UID, second.UID, "API-057")
	assert.Equal(t, []string{"ADDED StorageClass/fast 1", "DELETED StorageClass/fast 2", "ADDED StorageClass/fast 3"}, w.changes(), "API-075")
}

func TestPreconditions(t *testing.T) {
	w := newFixture(t)
	pv := create(w, disk("disk"))
	w.changes()
	for _, test := range []struct {
		opts    api.DeleteOptions
		message string
	}{
		{api.DeleteOptions{UID: "u"},
			"the UID in the precondition (u) does not match the UID in record (" + string(pv.UID) +
				"). The object might have been deleted and then recreated"},
		{api.DeleteOptions{ResourceVersion: "7"},
			"the ResourceVersion in the precondition (7) does not match the ResourceVersion in record (1). The object might have been modified"},
		{api.DeleteOptions{UID: pv.UID, ResourceVersion: "7"}, "the ResourceVersion in the precondition"},
	} {
		_, err := w.Volumes.Delete("disk", test.opts)
		status := w.refused("API-058", err, http.StatusConflict, metav1.StatusReasonConflict, 1)
		assert.Contains(t, status.Message, `Operation cannot be fulfilled on PersistentVolume "disk": `+test.message, "API-058, API-024")
	}
	_, err := w.Volumes.Delete("disk", api.DeleteOptions{UID: pv.UID, ResourceVersion: "1"})
	require.NoError(t, err, "API-058: both hold")
	w.changes()
	_, err = w.Volumes.Delete("disk", api.DeleteOptions{ResourceVersion: "1"})
	w.refused("API-058: before it is seen to be on its way", err, http.StatusConflict, metav1.StatusReasonConflict, 2)
}

func TestDeleteAll(t *testing.T) {
	w := newFixture(t)
	for _, name := range []string{"a", "b", "c"} {
		create(w, class(name))
	}
	create(w, held(class("d")))
	w.changes()
	// API-061: each by itself and by the rules; API-059: in the background.
	n, err := w.Classes.DeleteAll(func(c *storagev1.StorageClass) bool { return c.Name != "b" }, api.DeleteOptions{})
	require.NoError(t, err)
	assert.Equal(t, 3, n, "API-061")
	assert.Equal(t, []string{"DELETED StorageClass/a 5", "DELETED StorageClass/c 6", "MODIFIED StorageClass/d 7"}, w.changes(), "API-061")
	stuck, err := w.Classes.Get("d")
	require.NoError(t, err)
	assert.Equal(t, []string{hold}, stuck.Finalizers, "API-059: no finalizer for the garbage collector")
	_, err = w.Classes.DeleteAll(nil, api.DeleteOptions{UID: "u"})
	require.Error(t, err, "API-061, API-058")
	n, err = w.Classes.DeleteAll(nil, api.DeleteOptions{})
	require.NoError(t, err)
	assert.Equal(t, 2, n, "API-061: all there are")
}

// TestPodGrace is API-062: how much time a pod gets. Zero is seen by its being gone.
func TestPodGrace(t *testing.T) {
	phase := func(phase corev1.PodPhase) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Status.Phase = phase } }
	own := func(seconds int64) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Spec.TerminationGracePeriodSeconds = &seconds }
	}
	for _, test := range []struct {
		rule, name string
		change     func(*corev1.Pod)
		asked      *int64
		want       int64
	}{
		{"API-062", "the default", nil, nil, 30},
		{"API-062", "the pod's own", own(7), nil, 7},
		{"API-062", "what is asked for", own(7), new(int64(5)), 5},
		{"API-062", "more than the pod's own", own(7), new(int64(60)), 60},
		{"API-062", "nothing", nil, new(int64(0)), 0},
		{"API-062", "less than nothing", nil, new(int64(-5)), 1},
		{"API-062", "no node", func(p *corev1.Pod) { p.Spec.NodeName = "" }, new(int64(5)), 0},
		{"API-062", "succeeded", phase(corev1.PodSucceeded), new(int64(5)), 0},
		{"API-062", "failed", phase(corev1.PodFailed), nil, 0},
		{"API-062", "running", phase(corev1.PodRunning), nil, 30},
	} {
		t.Run(test.rule+" "+test.name, func(t *testing.T) {
			w := newFixture(t)
			p := running("web")
			if test.change != nil {
				test.change(p)
			}
			load(w, with(p, func(p *corev1.Pod) { p.Generation = 1 }))
			w.changes()
			obj, err := w.Pods.Delete("default/web", api.DeleteOptions{GracePeriodSeconds: test.asked})
			require.NoError(t, err)
			assert.Equal(t, &test.want, obj.DeletionGracePeriodSeconds)
			assert.Equal(t, metav1.NewTime(noon.Add(time.Duration(test.want)*time.Second)), *obj.DeletionTimestamp)
			assert.EqualValues(t, 2, obj.Generation, "API-063: it rises once")
			if test.want == 0 {
				// API-064: two events, two versions.
				assert.Equal(t, []string{"MODIFIED Pod/default/web 2", "DELETED Pod/default/web 3"}, w.changes(), "API-064")
				assert.Equal(t, "3", obj.ResourceVersion, "API-064")
				return
			}
			assert.Equal(t, []string{"MODIFIED Pod/default/web 2"}, w.changes(), "API-063")
			assert.Equal(t, 1, w.Pods.Len(), "API-063: it stays until it is deleted with grace period 0")
		})
	}
}

// TestDeletePodAgain is API-065: a second delete can only shorten the wait. The pod had 30 seconds, from noon on.
func TestDeletePodAgain(t *testing.T) {
	for _, test := range []struct {
		rule, name string
		after      time.Duration // how long after the first delete
		asked      *int64
		grace      int64
		at         time.Duration // when it is to be gone, from noon on
		changes    []string
	}{
		{"API-065", "nothing asked", time.Second, nil, 30, 30 * time.Second, nil},
		{"API-065", "the same", time.Second, new(int64(30)), 30, 30 * time.Second, nil},
		{"API-065", "longer", time.Second, new(int64(60)), 30, 30 * time.Second, nil},
		{"API-065", "shorter", time.Second, new(int64(10)), 10, 10 * time.Second, []string{"MODIFIED Pod/default/web 4"}},
		{"API-065", "shorter, up to now", 10 * time.Second, new(int64(10)), 10, 10 * time.Second, []string{"MODIFIED Pod/default/web 4"}},
		{"API-065", "shorter, over already", 20 * time.Second, new(int64(10)), 1, 20 * time.Second, []string{"MODIFIED Pod/default/web 4"}},
		{"API-065", "over by less than a second", 10*time.Second + time.Millisecond, new(int64(10)), 1, 10 * time.Second,
			[]string{"MODIFIED Pod/default/web 4"}},
		{"API-065", "less than nothing", time.Second, new(int64(-1)), 1, time.Second, []string{"MODIFIED Pod/default/web 4"}},
		{"API-064", "nothing", 20 * time.Second, new(int64(0)), 0, 20 * time.Second,
			[]string{"MODIFIED Pod/default/web 4", "DELETED Pod/default/web 5"}},
	} {
		t.Run(test.rule+" "+test.name, func(t *testing.T) {
			w := newFixture(t)
			p := create(w, running("web"))
			remove(w, p)
			// API-065: that nothing runs any more does not count now.
			done, err := w.Pods.UpdateStatus(with(p, func(p *corev1.Pod) { p.ResourceVersion, p.Status.Phase = "", corev1.PodSucceeded }))
			require.NoError(t, err)
			w.changes()
			w.now = noon.Add(test.after)
			obj, err := w.Pods.Delete("default/web", api.DeleteOptions{GracePeriodSeconds: test.asked})
			require.NoError(t, err)
			assert.Equal(t, test.changes, w.changes())
			assert.Equal(t, &test.grace, obj.DeletionGracePeriodSeconds)
			assert.Equal(t, metav1.NewTime(noon.Add(test.at)), *obj.DeletionTimestamp)
			assert.Equal(t, done.Generation, obj.Generation, "API-065: generation does not rise again")
		})
	}
}

func TestPodsAndFinalizers(t *testing.T) {
	w := newFixture(t)
	create(w, held(running("web")))
	w.changes()
	obj, err := w.Pods.Delete("default/web", api.DeleteOptions{GracePeriodSeconds: new(int64(0))})
	require.NoError(t, err)
	assert.Equal(t, []string{"MODIFIED Pod/default/web 2"}, w.changes(), "API-064: the finalizer holds it")
	w.now = noon.Add(time.Minute)
	assert.Same(t, obj, remove(w, obj), "API-065: nothing is left to shorten")
	assert.Empty(t, w.changes(), "API-065")
	update(w, with(obj, func(p *corev1.Pod) { p.Finalizers = nil }))
	assert.Equal(t, []string{"DELETED Pod/default/web 3"}, w.changes(), "API-055: it goes with the finalizer")

	marked := remove(w, create(w, held(running("slow")))).(*corev1.Pod)
	w.changes()
	update(w, with(marked, func(p *corev1.Pod) { p.Finalizers = nil }))
	assert.Equal(t, []string{"MODIFIED Pod/default/slow 6"}, w.changes(), "API-066: while there is grace, it stays")
	_, err = w.Pods.Delete("default/slow", api.DeleteOptions{GracePeriodSeconds: new(int64(0))})
	require.NoError(t, err)
	assert.Equal(t, []string{"MODIFIED Pod/default/slow 7", "DELETED Pod/default/slow 8"}, w.changes(), "API-064")
}

// TestHalfDeleted is about objects of other clusters whose marks of deletion no delete of this one has set.
func TestHalfDeleted(t *testing.T) {
	later, earlier := metav1.NewTime(noon.Add(time.Hour)), metav1.NewTime(noon.Add(-time.Hour))
	for _, test := range []struct {
		rule, name string
		at         metav1.Time
		grace      *int64
		finalizers []string
		want       []string
		wantAt     metav1.Time
	}{
		{"API-053", "marked without grace", earlier, nil, []string{hold}, []string{"MODIFIED"}, earlier},
		{"API-053", "marked in full", earlier, new(int64(0)), []string{hold}, nil, earlier},
		{"API-052", "marked for later", later, new(int64(0)), []string{hold}, []string{"MODIFIED"}, metav1.NewTime(noon)},
		{"API-051", "without finalizers", earlier, nil, nil, []string{"DELETED"}, earlier},
	} {
		for _, obj := range []api.Object{class("a"), running("a")} {
			t.Run(test.rule+" "+test.name+", a "+string(api.KindOf(obj)), func(t *testing.T) {
				w := newFixture(t)
				load(w, with(obj, func(o api.Object) {
					o.SetDeletionTimestamp(&test.at)
					o.SetDeletionGracePeriodSeconds(test.grace)
					o.SetFinalizers(test.finalizers)
				}))
				w.changes()
				got := remove(w, obj)
				assert.Equal(t, test.wantAt, *got.GetDeletionTimestamp())
				var types []string
				for _, c := range w.changes() {
					types = append(types, c[:len(c)-len(" "+string(api.RefTo(obj).String())+" 2")])
				}
				assert.Equal(t, test.want, types)
			})
		}
	}
}
