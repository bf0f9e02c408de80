package kinds

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/types"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/internal/core/strategy"
)

// deviceID tells an allocated device from others, and is the form in which errors show it.
type deviceID struct{ Driver, Pool, Device, ShareID string }

func allocatedDevices(status *resourcev1.ResourceClaimStatus) map[deviceID]bool {
	allocated := map[deviceID]bool{}
	if status.Allocation == nil {
		return allocated
	}
	for _, r := range status.Allocation.Devices.Results {
		id := deviceID{r.Driver, r.Pool, r.Device, ""}
		if r.ShareID != nil {
			id.ShareID = string(*r.ShareID)
		}
		allocated[id] = true
	}
	return allocated
}

func idOf(d *resourcev1.AllocatedDeviceStatus) deviceID {
	id := deviceID{d.Driver, d.Pool, d.Device, ""}
	if d.ShareID != nil {
		id.ShareID = *d.ShareID
	}
	return id
}

// prepareClaimStatus drops what drivers have reported about devices that are no longer allocated (API-581).
func prepareClaimStatus(status, old *resourcev1.ResourceClaimStatus) {
	before, now := allocatedDevices(old), allocatedDevices(status)
	status.Devices = slices.DeleteFunc(status.Devices, func(d resourcev1.AllocatedDeviceStatus) bool { return before[idOf(&d)] && !now[idOf(&d)] })
	if len(status.Devices) == 0 {
		status.Devices = nil
	}
	for i := range status.Devices {
		if d := &status.Devices[i]; len(d.Conditions) == 0 {
			d.Conditions = nil // API-547: an empty list is stored as null
		}
	}
}

// checkClaimStatus validates who uses a claim, and the devices that it has (API-581).
func (c Surroundings) checkClaimStatus(e *statusErrors, claim, old *resourcev1.ResourceClaim) {
	status, before := &claim.Status, &old.Status
	e.add(c.checkAdminStatus(claim.Namespace, status.Allocation, before.Allocation)...)
	e.add(eachDistinct(status.ReservedFor, resourcev1.ResourceClaimReservedForMaxSize, e.path.Child("reservedFor"),
		func(ref *resourcev1.ResourceClaimConsumerReference) types.UID { return ref.UID },
		func(ref *resourcev1.ResourceClaimConsumerReference, path *field.Path) field.ErrorList {
			return strategy.Required(path, "resource", ref.Resource, "name", ref.Name, "uid", string(ref.UID))
		})...)
	allocated := allocatedDevices(status)
	e.add(eachDistinct(status.Devices, -1, e.path.Child("devices"), idOf, func(d *resourcev1.AllocatedDeviceStatus, path *field.Path) field.ErrorList {
		return checkDeviceStatus(d, allocated, path)
	})...)
	at := e.path.Child("reservedFor")
	added := func(ref resourcev1.ResourceClaimConsumerReference) bool {
		return !slices.Contains(before.ReservedFor, ref)
	}
	switch {
	case len(status.ReservedFor) == 0:
	case status.Allocation == nil:
		e.add(field.Forbidden(at, "may not be specified when `allocated` is not set"))
	case claim.DeletionTimestamp != nil && slices.ContainsFunc(status.ReservedFor, added):
		e.add(field.Forbidden(at, "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"))
	}
	at = e.path.Child("allocation")
	switch {
	case status.Allocation == nil:
	case before.Allocation == nil:
		e.add(checkAllocation(status.Allocation, requestsOf(&claim.Spec.Devices), at)...)
	case !apiequality.Semantic.DeepEqual(status.Allocation, before.Allocation):
		// API-581: devices are allocated once.
		e.add(field.Invalid(at, strategy.InternalForm(status.Allocation), strategy.Immutable))
	}
}

// checkAdminStatus is checkAdmin for devices that are allocated, unless they were before.
func (c Surroundings) checkAdminStatus(namespace string, allocation, old *resourcev1.AllocationResult) field.ErrorList {
	admin := func(a *resourcev1.AllocationResult) int {
		if a == nil {
			return -1
		}
		return slices.IndexFunc(a.Devices.Results, func(r resourcev1.DeviceRequestAllocationResult) bool { return r.AdminAccess != nil && *r.AdminAccess })
	}
	if i := admin(allocation); i >= 0 && admin(old) < 0 {
		return c.mayAdmin(namespace, field.NewPath("status", "allocation", "devices", "results").Index(i))
	}
	return nil
}

var configSources = []resourcev1.AllocationConfigSource{resourcev1.AllocationConfigSourceClaim, resourcev1.AllocationConfigSourceClass}

func checkAllocation(a *resourcev1.AllocationResult, requests requestNames, path *field.Path) field.ErrorList {
	devices := path.Child("devices")
	errs := eachOf(a.Devices.Results, resourcev1.AllocationResultsMaxSize, devices.Child("results"), requests.checkResult)
	errs = append(errs, eachOf(a.Devices.Config, 2*resourcev1.DeviceConfigMaxSize, devices.Child("config"), func(config *resourcev1.DeviceAllocationConfiguration, path *field.Path) field.ErrorList {
		errs := append(strategy.RequiredAt(config.Source, path.Child("source"), configSources), requests.check(config.Requests, path.Child("requests"))...)
		return append(errs, checkDeviceConfig(&config.DeviceConfiguration, false, path)...)
	})...)
	if a.NodeSelector != nil {
		errs = append(errs, strategy.NodeSelector(a.NodeSelector, path.Child("nodeSelector"))...)
	}
	return errs
}

func (r requestNames) checkResult(result *resourcev1.DeviceRequestAllocationResult, path *field.Path) field.ErrorList {
	errs := append(r.checkName(result.Request, path.Child("request")), checkPlace(result.Driver, result.Pool, result.Device, path)...)
	errs = append(errs, checkBindingConditions(result.BindingConditions, result.BindingFailureConditions, path)...)
	if result.ShareID != nil {
		errs = append(errs, checkUUID(string(*result.ShareID), path.Child("shareID"))...)
	}
	return errs
}

// checkPlace validates where a device is.
func checkPlace(driver, pool, device string, path *field.Path) field.ErrorList {
	errs := append(strategy.DriverName(driver, path.Child("driver")), checkPoolName(pool, path.Child("pool"))...)
	return append(errs, checkLabel(device, path.Child("device"))...)
}

// checkPoolName validates the name of a pool: subdomains, with slashes between them.
func checkPoolName(name string, path *field.Path) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	var errs field.ErrorList
	if limit := utilvalidation.DNS1123SubdomainMaxLength; len(name) > limit {
		errs = append(errs, field.TooLong(path, "", limit))
	}
	for part := range strings.SplitSeq(name, "/") {
		errs = strategy.AppendInvalid(errs, path, part, utilvalidation.IsDNS1123Subdomain(part))
	}
	return errs
}

// checkBindingConditions validates the conditions for which the scheduler waits before it binds a pod.
func checkBindingConditions(conditions, failures []string, path *field.Path) field.ErrorList {
	atConditions, atFailures := path.Child("bindingConditions"), path.Child("bindingFailureConditions")
	check := func(name *string, path *field.Path) field.ErrorList {
		return metav1validation.ValidateLabelName(*name, path)
	}
	errs := eachOf(conditions, resourcev1.BindingConditionsMaxSize, atConditions, check)
	errs = append(errs, eachOf(failures, resourcev1.BindingFailureConditionsMaxSize, atFailures, check)...)
	for i, name := range conditions {
		if slices.Contains(conditions[:i], name) {
			errs = append(errs, field.Duplicate(atConditions.Index(i), name))
		}
	}
	for i, name := range failures {
		if slices.Contains(failures[:i], name) {
			errs = append(errs, field.Duplicate(atFailures.Index(i), name))
		}
		if slices.Contains(conditions, name) {
			errs = append(errs, field.Invalid(atFailures.Index(i), name, "bindingFailureConditions must not overlap with bindingConditions"))
		}
	}
	switch {
	case len(conditions) == 0 && len(failures) > 0:
		errs = append(errs, field.Invalid(atConditions, conditions, "bindingConditions are required to use bindingFailureConditions"))
	case len(failures) == 0 && len(conditions) > 0:
		errs = append(errs, field.Invalid(atFailures, failures, "bindingFailureConditions are required to use bindingConditions"))
	}
	return errs
}

var uuid = regexp.MustCompile(`(?i)^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// checkUUID requires a UUID in its usual form.
func checkUUID(id string, path *field.Path) field.ErrorList {
	rest := id
	var wrong string
	switch len(id) {
	case 32:
		rest = fmt.Sprintf("%s-%s-%s-%s-%s", id[:8], id[8:12], id[12:16], id[16:20], id[20:])
	case 36:
	case 38:
		if rest = id[1:37]; id[0] != '{' || id[37] != '}' {
			wrong = "invalid bracketed UUID format"
		}
	case 45:
		if rest = id[9:]; !strings.EqualFold(id[:9], "urn:uuid:") {
			wrong = fmt.Sprintf("invalid urn prefix: %q", id[:9])
		}
	default:
		wrong = fmt.Sprintf("invalid UUID length: %d", len(id))
	}
	if wrong == "" && !uuid.MatchString(rest) {
		wrong = "invalid UUID format"
	}
	switch {
	case wrong != "":
		return field.ErrorList{field.Invalid(path, id, "error validating uid: "+wrong)}
	case rest != id || id != strings.ToLower(id):
		return field.ErrorList{field.Invalid(path, id, "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal characters")}
	}
	return nil
}

// checkDeviceStatus validates what a driver reports about a device.
func checkDeviceStatus(d *resourcev1.AllocatedDeviceStatus, allocated map[deviceID]bool, path *field.Path) field.ErrorList {
	errs := checkPlace(d.Driver, d.Pool, d.Device, path)
	if d.ShareID != nil {
		errs = append(errs, checkUUID(*d.ShareID, path.Child("shareID"))...)
	}
	if !allocated[idOf(d)] {
		errs = append(errs, field.Invalid(path, idOf(d), "must be an allocated device in the claim"))
	}
	at := path.Child("conditions")
	if n, limit := len(d.Conditions), resourcev1.AllocatedDeviceStatusMaxConditions; n > limit {
		errs = append(errs, field.TooMany(at, n, limit))
	}
	errs = append(errs, metav1validation.ValidateConditions(d.Conditions, at)...)
	if d.Data != nil && len(d.Data.Raw) > 0 {
		errs = append(errs, checkDeviceData(d.Data.Raw, resourcev1.AllocatedDeviceStatusDataMaxLength, path.Child("data"))...)
	}
	network := d.NetworkData
	if network == nil {
		return errs
	}
	path = path.Child("networkData")
	for _, f := range []struct {
		name, value string
		limit       int
	}{
		{"interfaceName", network.InterfaceName, resourcev1.NetworkDeviceDataInterfaceNameMaxLength},
		{"hardwareAddress", network.HardwareAddress, resourcev1.NetworkDeviceDataHardwareAddressMaxLength},
	} {
		if len(f.value) > f.limit {
			errs = append(errs, field.TooLong(path.Child(f.name), "", f.limit))
		}
	}
	return append(errs, eachDistinct(network.IPs, resourcev1.NetworkDeviceDataMaxIPs, path.Child("ips"), itself, func(ip *string, path *field.Path) field.ErrorList {
		return utilvalidation.IsValidInterfaceAddress(path, *ip)
	})...)
}
