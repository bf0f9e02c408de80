package evidence

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/storage"
)

// readSizes reads which sizes drivers refuse with OutOfRange. A limit below the size of a volume that exists is none.
func (r *reader) readSizes() {
	limits := map[string]Assumption{}
	for _, claim := range r.claims {
		driver, reason := r.driverOf(claim), "ProvisioningFailed"
		pv := r.volumes[claim.Spec.VolumeName]
		if pv != nil && pv.Spec.CSI != nil {
			driver, reason = pv.Spec.CSI.Driver, "VolumeResizeFailed"
		}
		if driver == "" || strictlyInTree(pv) {
			continue
		}
		for _, event := range r.about(claim, fromOutside(hasReason(reason))) {
			code, desc, ok := errorOf(event.Message)
			if !ok || code != storage.OutOfRange {
				continue
			}
			most := largestAccepted(desc, refusedSize(claim))
			old, known := limits[driver]
			largest := r.largest[driver]
			if most <= 0 || most < largest.Value() || known && old.most <= most {
				continue
			}
			limits[driver] = Assumption{Subject: "driver/" + driver, Behaviour: Limited, Code: code, Message: desc, most: most, Last: lastTime(event),
				Evidence: fmt.Sprintf("driver %s has refused a size of claim %s with %s", driver, api.KeyOf(claim), code)}
		}
	}
	for _, driver := range slices.Sorted(maps.Keys(limits)) {
		r.found = append(r.found, limits[driver])
	}
}

// strictlyInTree reports whether a volume is of no CSI driver.
func strictlyInTree(pv *corev1.PersistentVolume) bool { return pv != nil && pv.Spec.CSI == nil }

// refusedSize returns the size that a claim still waits for; 0 if it has what it requests.
func refusedSize(claim *corev1.PersistentVolumeClaim) int64 {
	have, want := claim.Status.Capacity[corev1.ResourceStorage], claim.Spec.Resources.Requests[corev1.ResourceStorage]
	if want.Cmp(have) <= 0 {
		return 0
	}
	return want.Value()
}

// bytes matches numbers of bytes in an error.
var bytes = regexp.MustCompile(`\b[0-9]{6,19}\b`)

// largestAccepted returns the largest size that a driver accepts which has refused a size (0 if that is unknown) with an error: the error often
// names the requested size and the limit, in bytes. 0 is unknown.
func largestAccepted(desc string, refused int64) int64 {
	var sizes []int64
	for _, text := range bytes.FindAllString(desc, -1) {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			sizes = append(sizes, n)
		}
	}
	if len(sizes) > 1 {
		refused = slices.Max(sizes) // the claim may request less by now
	}
	most := refused - 1
	for _, n := range sizes {
		if n < refused && (most == refused-1 || n > most) {
			most = n
		}
	}
	return most
}

// growth is a claim that a driver does not expand to more than a size.
type growth struct {
	claim string
	most  int64
}

// SetRequests sets the function that returns the size in bytes that a claim requests now. Without it a growth that was refused as too large is
// refused whatever the claim requests.
func (s *Set) SetRequests(requests func(claim string) int64) { s.requests = requests }

// refusedClass is a claim whose volume a driver does not modify to a VolumeAttributesClass.
type refusedClass struct{ claim, class string }

// SetAttributes sets the function that returns the VolumeAttributesClass that a claim asks for now.
func (s *Set) SetAttributes(attributes func(claim string) string) { s.attributes = attributes }

// fits reports whether a call is a growth that was refused as too large, and is small enough now, or a modification to another class than the
// one that was refused.
func (s *Set) fits(k callKey) bool {
	if g, ok := s.tooLarge[k]; ok {
		return s.requests != nil && s.requests(g.claim) <= g.most
	}
	r, ok := s.refused[k]
	return ok && s.attributes != nil && s.attributes(r.claim) != r.class
}

// MaxSize returns the largest size in bytes that the driver is assumed to accept; ok is false if no limit is known.
func (s *Set) MaxSize(driver string) (size int64, ok bool) {
	for _, a := range s.All() {
		if a.Behaviour == Limited && a.Subject == "driver/"+driver {
			return a.most, true
		}
	}
	return 0, false
}

// SizeLimit returns the largest size that a driver is assumed to accept, such as "at most 1Ti"; "" if no limit is known.
func (s *Set) SizeLimit(driver string) string {
	if bytes, ok := s.MaxSize(driver); ok {
		return size(bytes)
	}
	return ""
}

// Accepts returns the assumption that a driver makes or grows a volume to a size: that it works and, if the dump has no volume of that size,
// that it accepts the size.
func (s *Set) Accepts(driver string, size resource.Quantity) Assumption {
	a := s.Driver(driver)
	if s == nil || a.Requested {
		return a
	}
	largest := s.largest[driver]
	switch {
	case size.Cmp(largest) <= 0:
		a.Evidence += fmt.Sprintf("; it has a volume of %s", &largest)
	case largest.IsZero():
		a.Evidence += fmt.Sprintf("; nothing shows whether it accepts volumes of %s", &size)
	default:
		a.Evidence += fmt.Sprintf("; nothing shows whether it accepts volumes of %s (its largest has %s)", &size, &largest)
	}
	return a
}

// sized records the size of a volume of a CSI driver.
func (r *reader) sized(pv *corev1.PersistentVolume) {
	csi := objects.CSIOf(pv)
	if csi == nil {
		return
	}
	if size := pv.Spec.Capacity[corev1.ResourceStorage]; size.Cmp(r.largest[csi.Driver]) > 0 {
		r.largest[csi.Driver] = size
	}
}
