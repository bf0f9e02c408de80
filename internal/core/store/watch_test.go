package store_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/store"
)

type volumeWatch = store.WatchOptions[*corev1.PersistentVolume]

// listen writes down what a watch of volumes sees: type, name, version, and the value of the label a.
func listen(t *testing.T, s *store.Store, opts volumeWatch, into *[]string) store.Watch {
	t.Helper()
	watch, err := s.Volumes.Watch(opts, func(c api.Change[*corev1.PersistentVolume]) {
		assert.Equal(t, fmt.Sprint(c.Version), c.Object.ResourceVersion, "API-072: the version of the change")
		*into = append(*into, fmt.Sprint(c.Type, " ", c.Key, " ", c.Version, " ", c.Object.Labels["a"]))
	})
	require.NoError(t, err)
	return watch
}

func label(value string) func(*corev1.PersistentVolume) {
	return func(v *corev1.PersistentVolume) { v.Labels = map[string]string{"a": value} }
}

func TestWatch(t *testing.T) {
	w := newFixture(t)
	var seen []string
	listen(t, w.Store, volumeWatch{}, &seen)
	pv := create(w, held(with(disk("disk"), label("0"))))
	create(w, class("fast")) // of another kind: not for this watch
	pv = update(w, with(pv, label("1")))
	update(w, pv)
	pv, err := w.Volumes.Patch("disk", []byte(`{"metadata":{"labels":{"a":"2"}}}`), api.Main)
	require.NoError(t, err)
	_, err = w.Volumes.Update(with(pv, func(v *corev1.PersistentVolume) { v.Spec.AccessModes = nil }))
	require.Error(t, err)
	marked := remove(w, pv).(*corev1.PersistentVolume)
	remove(w, pv)
	update(w, with(marked, func(v *corev1.PersistentVolume) { v.Finalizers = nil; label("3")(v) }))
	create(w, with(disk("disk"), label("4")))
	// API-070, API-071, API-072, API-075: every change once, in order; nothing for what changes nothing.
	assert.Equal(t, []string{"ADDED disk 1 0", "MODIFIED disk 3 1", "MODIFIED disk 4 2", "MODIFIED disk 5 2", "DELETED disk 6 2",
		"ADDED disk 7 4"},
		seen, "API-070, API-071, API-072, API-075")
}

func TestWatchFrom(t *testing.T) {
	s := store.New(store.Config{History: 4})
	all := []string{}
	listen(t, s, volumeWatch{}, &all)
	pv, err := s.Volumes.Create(with(disk("disk"), label("1")))
	require.NoError(t, err)
	_, err = s.Volumes.Create(with(disk("cd"), label("2")))
	require.NoError(t, err)
	for _, value := range []string{"3", "4", "5", "6"} {
		pv, err = s.Volumes.Update(with(pv, label(value)))
		require.NoError(t, err)
	}
	// API-074: without a version, what there is comes first, in the order of the keys.
	var fresh []string
	listen(t, s, volumeWatch{}, &fresh)
	assert.Equal(t, []string{"ADDED cd 2 2", "ADDED disk 6 6"}, fresh, "API-074")
	// API-074: a watch from version V delivers newer changes only; a list followed by a watch misses nothing.
	for from := uint64(2); from <= 6; from++ {
		var seen []string
		listen(t, s, volumeWatch{From: from}, &seen)
		assert.Equal(t, all[from:], append([]string{}, seen...), "API-074 from %d", from)
	}
	// API-074: a version older than the history is an error.
	_, err = s.Volumes.Watch(volumeWatch{From: 1}, func(api.Change[*corev1.PersistentVolume]) { t.Error("API-074: something came") })
	require.True(t, apierrors.IsResourceExpired(err), "API-074: %v", err)
	assert.EqualValues(t, http.StatusGone, err.(apierrors.APIStatus).Status().Code, "API-074")
	// API-074: with a future version, only newer changes.
	var future []string
	listen(t, s, volumeWatch{From: 7}, &future)
	for _, value := range []string{"7", "8"} {
		pv, err = s.Volumes.Update(with(pv, label(value)))
		require.NoError(t, err)
	}
	assert.Equal(t, []string{"MODIFIED disk 8 8"}, future, "API-074")

	none := store.New(store.Config{History: -1})
	_, err = none.Volumes.Create(disk("disk"))
	require.NoError(t, err)
	listen(t, none, volumeWatch{From: 1}, &future)
	_, err = none.Volumes.Create(disk("more"))
	require.NoError(t, err)
	_, err = none.Volumes.Watch(volumeWatch{From: 1}, func(api.Change[*corev1.PersistentVolume]) {})
	require.True(t, apierrors.IsResourceExpired(err), "API-074 without a history: %v", err)
}

func TestWatchMatch(t *testing.T) {
	w := newFixture(t)
	var seen []string
	listen(t, w.Store, volumeWatch{Match: func(v *corev1.PersistentVolume) bool { return v.Labels["a"] != "" }}, &seen)
	pv := create(w, disk("disk"))
	pv = update(w, with(pv, func(v *corev1.PersistentVolume) { v.Spec.MountOptions = []string{"ro"} }))
	pv = update(w, with(pv, label("1")))
	pv = update(w, with(pv, label("2")))
	pv = update(w, with(pv, func(v *corev1.PersistentVolume) { v.Labels = nil }))
	pv = update(w, with(pv, func(v *corev1.PersistentVolume) { v.Finalizers = nil }))
	remove(w, pv)
	// API-073: coming in is Added, going out is Deleted with the old content and the new version.
	assert.Equal(t, []string{"ADDED disk 3 1", "MODIFIED disk 4 2", "DELETED disk 5 2"}, seen, "API-073")

	seen = nil
	create(w, with(disk("in"), func(v *corev1.PersistentVolume) { label("1")(v) }))
	free := with(disk("free"), label("1"))
	update(w, with(create(w, free), func(v *corev1.PersistentVolume) { v.Finalizers = nil }))
	remove(w, free)
	assert.Equal(t, []string{"ADDED in 8 1", "ADDED free 9 1", "MODIFIED free 10 1", "DELETED free 11 1"}, seen, "API-073, API-072")

	seen = nil
	listen(t, w.Store, volumeWatch{Match: func(v *corev1.PersistentVolume) bool { return v.Name == "out" }}, &seen)
	assert.Empty(t, seen, "API-073: what is there and does not match")
}

// TestSchedulerSelector is API-076: a pod that completes is deleted for those who watch pods in other phases.
func TestSchedulerSelector(t *testing.T) {
	w := newFixture(t)
	var seen []string
	_, err := w.Pods.Watch(store.WatchOptions[*corev1.Pod]{Match: func(p *corev1.Pod) bool {
		return p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed
	}}, func(c api.Change[*corev1.Pod]) {
		seen = append(seen, fmt.Sprint(c.Type, " ", c.Key, " ", c.Object.Status.Phase))
	})
	require.NoError(t, err)
	p := create(w, running("web"))
	for _, phase := range []corev1.PodPhase{corev1.PodRunning, corev1.PodSucceeded} {
		p, err = w.Pods.UpdateStatus(with(p, func(p *corev1.Pod) { p.Status.Phase = phase }))
		require.NoError(t, err)
	}
	remove(w, p)
	assert.Equal(t, []string{"ADDED default/web Pending", "MODIFIED default/web Running", "DELETED default/web Running"}, seen, "API-076")
}

func TestStop(t *testing.T) {
	w := newFixture(t)
	var first, second []string
	var other store.Watch
	one, err := w.Volumes.Watch(volumeWatch{}, func(c api.Change[*corev1.PersistentVolume]) {
		first = append(first, c.Key)
		if other != nil {
			other.Stop()
		}
	})
	require.NoError(t, err)
	other = listen(t, w.Store, volumeWatch{}, &second)
	create(w, disk("a"))
	assert.Equal(t, []string{"a"}, first)
	assert.Empty(t, second, "stopped in the middle of the change")
	one.Stop()
	one.Stop()
	create(w, disk("b"))
	assert.Equal(t, []string{"a"}, first)
	assert.Len(t, w.changes(), 2, "the watch that was not stopped")
}

func TestLoad(t *testing.T) {
	w := newFixture(t)
	at := metav1.NewTime(noon.Add(-1000))
	given := with(disk("disk"), func(v *corev1.PersistentVolume) {
		v.UID, v.ResourceVersion, v.Generation, v.Finalizers, v.Status.Phase = "u", "99", 3, []string{hold}, corev1.VolumeBound
		v.DeletionTimestamp, v.DeletionGracePeriodSeconds = &at, new(int64(0))
		v.Spec.AccessModes = nil // refused on create
	})
	before := given.DeepCopy()
	pv := load(w, given)
	assert.Equal(t, before, given, "the object given is not written to")
	assert.EqualValues(t, "u", pv.UID)
	assert.Equal(t, "1", pv.ResourceVersion)
	assert.EqualValues(t, 3, pv.Generation)
	assert.Equal(t, []string{hold}, pv.Finalizers)
	assert.Equal(t, corev1.VolumeBound, pv.Status.Phase)
	assert.NotNil(t, pv.DeletionTimestamp)
	pv = load(w, disk("disk"))
	assert.NotEmpty(t, pv.UID)
	assert.Equal(t, metav1.NewTime(noon), pv.CreationTimestamp)
	assert.Equal(t, []string{"ADDED PersistentVolume/disk 1", "MODIFIED PersistentVolume/disk 2"}, w.changes())
	for _, bad := range []api.Object{disk(""), disk("A"), with(claim("a"), func(c *corev1.PersistentVolumeClaim) { c.Namespace = "" })} {
		_, err := w.Load(bad)
		w.refused("a name is needed", err, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, 2)
	}
}
