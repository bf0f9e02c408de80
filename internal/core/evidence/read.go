package evidence

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/storage"
)

// Patience is how long a request may wait before it counts as unanswered. Components answer requests within seconds.
const Patience = time.Minute

// staleHeartbeat is the age from which on the heartbeat of a Ready node shows that its kubelet does not report: twice the 5 minutes
// between two reports that change nothing.
const staleHeartbeat = 10 * time.Minute

// Read returns what the objects of a dump show. now is the time of the dump. The result depends on the objects alone, not on their order
// in maps.
func Read(objs []api.Object, now time.Time) *Set {
	r := newReader(objs, now)
	r.readNodes()
	r.readLeases()
	r.readLeftover()
	r.readClaims()
	r.readSizes()
	r.readVolumes()
	r.readAttachments()
	r.readSnapshots()
	r.readPods()
	r.readContainers()
	slices.SortStableFunc(r.found, func(a, b Assumption) int {
		return strings.Compare(a.Subject+" "+a.Object+" "+string(a.Operation), b.Subject+" "+b.Object+" "+string(b.Operation))
	})
	set := newSet(append(r.found, r.full...), r.signs)
	set.largest = r.largest
	return set
}

func (r *reader) add(a Assumption) {
	for i := range r.found {
		if old := &r.found[i]; old.actor != "" && old.actor == a.actor {
			// The same controller: the first object that shows it stands for all.
			return
		}
	}
	r.found = append(r.found, a)
}

// readClaims reads which claims a driver refuses or ignores.
func (r *reader) readClaims() {
	silent := map[string][]*corev1.PersistentVolumeClaim{}
	for _, claim := range r.claims {
		if claim.Status.Phase == corev1.ClaimBound {
			r.readGrowth(claim)
			continue
		}
		driver := r.driverOf(claim)
		if driver == "" || claim.Spec.VolumeName != "" || claim.DeletionTimestamp != nil {
			continue
		}
		if failed := r.about(claim, fromOutside(hasReason("ProvisioningFailed"))); len(failed) > 0 {
			r.refused(claim, driver, failed)
			continue
		}
		// XPROV-031: a provisioner does not serve claims with a selector, or one whose source is not fit, so their wait says nothing.
		if claim.Spec.Selector == nil && !r.unfit(claim) && (requested(claim, driver) || r.missing(driver)) {
			silent[driver] = append(silent[driver], claim)
		}
	}
	for _, driver := range slices.Sorted(maps.Keys(silent)) {
		r.unanswered(driver, silent[driver])
	}
}

// requested reports whether the driver has been asked to create a volume for the claim.
func requested(claim *corev1.PersistentVolumeClaim, driver string) bool {
	return claim.Annotations[objects.AnnStorageProvisioner] == driver || claim.Annotations[objects.AnnBetaStorageProvisioner] == driver
}

// missing reports whether nothing shows that a driver is installed, in a dump that would show it. A dump without any CSIDriver and CSINode
// was made without these kinds.
func (r *reader) missing(driver string) bool {
	_, installed := r.signs[driver]
	return !installed && (len(r.drivers) > 0 || len(r.csiNodes) > 0)
}

// refused reads the last error of a provisioner about a claim.
func (r *reader) refused(claim *corev1.PersistentVolumeClaim, driver string, failed []*corev1.Event) {
	count, since, last := total(failed)
	message := failed[len(failed)-1].Message
	code, desc, ok := errorOf(message)
	if !ok && (r.ofSnapshot(claim) || r.unfit(claim)) {
		return
	}
	if !ok {
		code, desc = storage.Internal, message
	}
	key := api.KeyOf(claim)
	a := Assumption{Subject: "driver/" + driver, Behaviour: Refuses, Object: "pvc/" + key, Operation: storage.Create, Code: code,
		Message: desc, Count: count, Since: since, Last: last, key: "pvc-" + string(claim.UID), before: !ok}
	if made := r.lastMade[driver]; transient(code) && made.After(last) {
		// The error is not about the claim, and the driver has worked since.
		a.Behaviour = Healthy
		a.Evidence = fmt.Sprintf("it failed for claim %s with %s, and has created a volume after that", key, code)
		r.found = append(r.found, a)
		return
	}
	verb := "driver %s has refused claim %s%s"
	if !ok {
		verb = "the provisioner of driver %s has failed for claim %s%s"
	}
	a.Evidence = fmt.Sprintf(verb, driver, key, seen(count, since, r.now))
	if ok {
		a.Evidence += " with " + string(code)
	}
	r.found = append(r.found, a)
	r.exhausted(claim, driver, a)
}

// exhausted assumes that a driver without room for one claim has none for others: not if it has created a volume since, and not if the node of
// a pod decides about the room.
func (r *reader) exhausted(claim *corev1.PersistentVolumeClaim, driver string, refused Assumption) {
	delayed, err := objects.IsDelayed(r.classes[objects.ClassOf(claim)])
	known := slices.ContainsFunc(r.full, func(a Assumption) bool { return a.Subject == refused.Subject })
	if refused.Code != storage.ResourceExhausted || err != nil || delayed || known || r.lastMade[driver].After(refused.Last) {
		return
	}
	a := refused
	a.Object, a.key, a.Count = "", "", 0
	a.Evidence = fmt.Sprintf("driver %s has no room for claim %s (%s), and so for no other volume", driver, api.KeyOf(claim), a.Code)
	r.full = append(r.full, a)
}

// transient reports whether an error says nothing about the request.
func transient(code storage.Code) bool {
	return slices.Contains([]storage.Code{storage.Unavailable, storage.DeadlineExceeded, storage.Aborted, storage.Canceled}, code)
}

// unanswered reads how long claims have waited for a driver that has not said anything about them.
func (r *reader) unanswered(driver string, claims []*corev1.PersistentVolumeClaim) {
	var asked []*corev1.Event
	oldest := claims[0]
	for _, claim := range claims {
		asked = append(asked, r.about(claim, hasReason("ExternalProvisioning"))...)
		if claim.CreationTimestamp.Before(&oldest.CreationTimestamp) {
			oldest = claim
		}
	}
	count, since, last := total(asked)
	if delayed, err := objects.IsDelayed(r.classes[objects.ClassOf(oldest)]); since.IsZero() && err == nil && !delayed {
		since = oldest.CreationTimestamp.Time
	}
	missing := r.missing(driver)
	// A claim that has just been created waits too.
	waited := !since.IsZero() && r.now.Sub(since) > Patience && r.lastMade[driver].Before(since) && r.lastWord[driver].Before(since)
	if !waited && !missing {
		return
	}
	a := Assumption{Subject: "driver/" + driver, Behaviour: Absent, Operation: storage.Create, Count: count, Since: since, Last: last,
		actor: actors.Provisioner(driver)}
	claim := "claim " + api.KeyOf(oldest)
	if len(claims) > 1 {
		claim = fmt.Sprintf("%d claims, the oldest %s", len(claims), api.KeyOf(oldest))
	}
	switch {
	case missing && waited:
		a.Evidence = fmt.Sprintf("driver %s is not installed: no CSIDriver, CSINode, volume or Event mentions it, and it has not answered %s since %s",
			driver, claim, clock(since, r.now))
	case missing:
		a.Evidence = fmt.Sprintf("driver %s is not installed: no CSIDriver, CSINode, volume or Event mentions it", driver)
	default:
		a.Evidence = fmt.Sprintf("the provisioner of driver %s has not answered %s since %s", driver, claim, clock(since, r.now))
	}
	if count > 0 {
		a.Evidence += fmt.Sprintf(" (%d ExternalProvisioning Events)", count)
	}
	r.add(a)
}

// readGrowth reads the last errors of the expansion and modification of a volume.
func (r *reader) readGrowth(claim *corev1.PersistentVolumeClaim) {
	pv := r.volumes[claim.Spec.VolumeName]
	if pv == nil || pv.Spec.CSI == nil {
		return
	}
	have, want := claim.Status.Capacity[corev1.ResourceStorage], claim.Spec.Resources.Requests[corev1.ResourceStorage]
	if want.Cmp(have) > 0 {
		r.failing(claim, pv, storage.Expand, "expand", "VolumeResizeFailed")
		r.growthOverdue(claim, pv)
		r.nodeGrowthFailed(claim, pv)
	}
	if status := claim.Status.ModifyVolumeStatus; status != nil {
		r.failing(claim, pv, storage.Modify, "modify", "VolumeModifyFailed")
	}
}

// nodeGrowthFailed reads the last error of the expansion of a file system: from the Events about a pod (MNT-393), else from the condition of
// the claim (EXP-042). An error with FailedPrecondition is about a volume in use, so it does not last.
func (r *reader) nodeGrowthFailed(claim *corev1.PersistentVolumeClaim, pv *corev1.PersistentVolume) {
	var expanded time.Time
	a := Assumption{Subject: "driver/" + pv.Spec.CSI.Driver, Behaviour: Refuses, Object: "pvc/" + api.KeyOf(claim), Operation: storage.NodeExpand,
		key: pv.Spec.CSI.VolumeHandle}
	known, writable := false, !pv.Spec.CSI.ReadOnly
	for _, c := range claim.Status.Conditions {
		switch c.Type {
		case corev1.PersistentVolumeClaimFileSystemResizePending:
			expanded = c.LastTransitionTime.Time
		case corev1.PersistentVolumeClaimNodeResizeError:
			a.Code, a.Message, known = errorOf(c.Message)
			a.Since = c.LastTransitionTime.Time
		}
	}
	for _, pod := range r.pods {
		if pod.Spec.NodeName == "" || objects.Terminated(pod) || !slices.Contains(objects.ClaimsOf(pod), api.KeyOf(claim)) {
			continue
		}
		failed := r.about(pod, func(event *corev1.Event) bool {
			return event.Reason == "VolumeResizeFailed" && volumeOf(event.Message) == pv.Name && !lastTime(event).Before(expanded)
		})
		if a.Node == "" || len(failed) > 0 {
			a.Node = pod.Spec.NodeName
		}
		// MNT-395: the kubelet does not expand a file system that is used read-only, nor one that is not mounted yet.
		writable = writable && pod.Status.Phase == corev1.PodRunning && !readsOnly(pod, claim)
		if len(failed) == 0 {
			continue
		}
		if code, desc, ok := errorOf(failed[len(failed)-1].Message); ok {
			a.Code, a.Message, known = code, desc, true
			a.Count, a.Since, a.Last = total(failed)
			break
		}
	}
	if !known && a.Node != "" && !expanded.IsZero() && r.now.Sub(expanded) > nodeGrowthPatience && writable && r.reports(a.Node) && r.runs(pv.Spec.CSI.Driver, a.Node) {
		a.Behaviour, a.Code, a.Message, a.Since = Silent, storage.DeadlineExceeded, "context deadline exceeded", expanded
		a.Evidence = fmt.Sprintf("driver %s has not expanded the file system of volume %s on node %s since %s, and a kubelet needs two minutes", pv.Spec.CSI.Driver,
			pv.Name, a.Node, clock(expanded, r.now))
		r.found = append(r.found, a)
		return
	}
	if !known || a.Node == "" || a.Code == storage.FailedPrecondition {
		return
	}
	a.Evidence = fmt.Sprintf("driver %s has refused to expand the file system of volume %s on node %s%s with %s", pv.Spec.CSI.Driver, pv.Name, a.Node,
		seen(a.Count, a.Since, r.now), a.Code)
	r.found = append(r.found, a)
}

// readVolumes reads the last errors of deletions.
func (r *reader) readVolumes() {
	for _, name := range slices.Sorted(maps.Keys(r.volumes)) {
		pv := r.volumes[name]
		switch {
		case pv.Status.Phase != corev1.VolumeReleased && pv.Status.Phase != corev1.VolumeFailed:
		case pv.Spec.CSI != nil:
			if len(r.about(pv, hasReason("VolumeFailedDelete"))) == 0 {
				r.deletionOverdue(pv)
			}
			r.failing(pv, pv, storage.Delete, "delete", "VolumeFailedDelete")
		case pv.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRecycle:
			r.recycleFailed(pv)
		}
	}
}

// recycleFailed reads the last error of the recycler pod of a volume. That the volume has no plugin that recycles is found by the simulation.
func (r *reader) recycleFailed(pv *corev1.PersistentVolume) {
	failed := r.about(pv, func(event *corev1.Event) bool {
		// A pod of an earlier attempt is deleted, and the next attempt has its own.
		return event.Reason == "VolumeFailedRecycle" && strings.HasPrefix(event.Message, "Recycle failed: ") &&
			!strings.Contains(event.Message, "old recycler pod found")
	})
	if len(failed) == 0 {
		return
	}
	count, since, last := total(failed)
	desc := strings.TrimPrefix(failed[len(failed)-1].Message, "Recycle failed: ")
	r.found = append(r.found, Assumption{Subject: "driver/" + recyclerOf(pv), Behaviour: Refuses, Object: "pv/" + pv.Name,
		Operation: storage.Recycle, Code: storage.Internal, Message: desc, Count: count, Since: since, Last: last, key: backends.Handle(pv),
		Evidence: fmt.Sprintf("the recycler pod of volume %s has failed%s", pv.Name, seen(count, since, r.now))})
}

// failing reads the last error of an operation on a volume from the Events about an object.
func (r *reader) failing(about api.Object, pv *corev1.PersistentVolume, op storage.Op, verb, reason string) {
	failed := r.about(about, hasReason(reason))
	if len(failed) == 0 {
		return
	}
	code, desc, ok := errorOf(failed[len(failed)-1].Message)
	if !ok {
		return
	}
	count, since, last := total(failed)
	object := "pv/" + pv.Name
	if api.KindOf(about) == api.PersistentVolumeClaim {
		object = "pvc/" + api.KeyOf(about)
	}
	driver := pv.Spec.CSI.Driver
	var most int64
	if claim, ok := about.(*corev1.PersistentVolumeClaim); ok && op == storage.Expand && code == storage.InvalidArgument {
		// EXP-025: the driver cannot provide this size.
		most = largestAccepted(desc, refusedSize(claim))
	}
	class := ""
	if claim, ok := about.(*corev1.PersistentVolumeClaim); ok && op == storage.Modify && code == storage.InvalidArgument {
		// VAC-013: the driver cannot modify the volume as this class asks.
		class = claim.Status.ModifyVolumeStatus.TargetVolumeAttributesClassName
	}
	r.found = append(r.found, Assumption{Subject: "driver/" + driver, Behaviour: Refuses, Object: object, Operation: op, Code: code,
		Message: desc, Count: count, Since: since, Last: last, key: pv.Spec.CSI.VolumeHandle, most: most, class: class,
		Evidence: fmt.Sprintf("driver %s has refused to %s volume %s%s with %s", driver, verb, pv.Name, seen(count, since, r.now), code)})
}
