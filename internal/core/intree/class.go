package intree

import (
	"errors"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

const paramFSType = "csi.storage.k8s.io/fstype"

// Class returns the StorageClass as the driver that replaced its provisioner sees it (MIG-020). Any other class is returned as it is. The
// argument stays unchanged.
func Class(class *storagev1.StorageClass) (*storagev1.StorageClass, error) {
	driver, migrated := Driver(class.Provisioner)
	if !migrated {
		return class, nil
	}
	p, translated := ofDriver(driver), class.DeepCopy()
	if p.parameter == nil {
		// MIG-020: Azure file shares have the same parameters.
		return translated, nil
	}
	zones, parameters := []string(nil), map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(class.Parameters)) {
		value := class.Parameters[name]
		switch lower := strings.ToLower(name); {
		case p.zonal() && lower == "zone":
			zones = []string{value}
		case p.zonal() && lower == "zones":
			zones = strings.Split(value, ",")
		case p.driver == "ebs.csi.aws.com" && lower == "iopspergb":
			// MIG-020: the driver may raise what is too low, as the in-tree plugin did.
			parameters[name], parameters["allowautoiopspergbincrease"] = value, "true"
		default:
			for _, to := range p.parameter(lower) {
				if to == "" {
					to = name
				}
				parameters[to] = value
			}
		}
	}
	switch {
	case zones != nil && len(class.AllowedTopologies) > 0:
		// MIG-021: the two say the same thing.
		return nil, errors.New("cannot simultaneously set allowed topologies and zone/zones parameters")
	case zones != nil:
		translated.AllowedTopologies = []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{
			{Key: p.zone, Values: zones}}}}
	}
	p.translateAllowed(translated.AllowedTopologies)
	switch p.driver {
	case "csi.vsphere.vmware.com":
		parameters["csimigration"] = "true"
	case "pxd.portworx.com":
		translated.Provisioner = p.driver
	}
	translated.Parameters = parameters
	return translated, nil
}

// zonal reports whether classes of the plugin may name zones by parameters.
func (p *plugin) zonal() bool {
	return p.zone != "" && (p.regionOf != nil || p.driver == "disk.csi.azure.com")
}

// translateAllowed replaces the keys for zones in the allowed topologies of a class.
func (p *plugin) translateAllowed(terms []corev1.TopologySelectorTerm) {
	if p.zone == "" {
		return
	}
	for i := range terms {
		for j := range terms[i].MatchLabelExpressions {
			r := &terms[i].MatchLabelExpressions[j]
			if r.Key == corev1.LabelTopologyZone || r.Key == corev1.LabelFailureDomainBetaZone {
				r.Key = p.zone
			}
			if p.driver != "disk.csi.azure.com" || r.Key != p.zone {
				continue
			}
			for k, value := range r.Values {
				// MIG-021: Azure regions without zones number their fault domains; the driver has one zone "" there.
				if value != "" && strings.Trim(value, "0123456789") == "" {
					r.Values[k] = ""
				}
			}
		}
	}
}

// sameParameter keeps the parameter with its name as it is.
func sameParameter(string) []string { return []string{""} }

func fsTypeParameter(name string) []string {
	if name == "fstype" {
		return []string{paramFSType}
	}
	return sameParameter(name)
}

func vsphereParameter(name string) []string {
	switch name {
	case "fstype":
		return []string{paramFSType}
	case "storagepolicyname":
		return []string{name}
	case "datastore", "diskformat", "hostfailurestotolerate", "forceprovisioning", "cachereservation", "diskstripes",
		"objectspacereservation", "iopslimit":
		return []string{name + "-migrationparam"}
	}
	// MIG-020: others are dropped.
	return nil
}

// portworxParameter makes one Secret those of all calls.
func portworxParameter(name string) []string {
	suffix := ""
	switch name {
	case portworxSecretName:
		suffix = "-secret-name"
	case portworxSecretNamespace:
		suffix = "-secret-namespace"
	default:
		return sameParameter(name)
	}
	var names []string
	for _, call := range []string{"provisioner", "controller-publish", "node-publish", "node-stage", "controller-expand", "node-expand"} {
		names = append(names, "csi.storage.k8s.io/"+call+suffix)
	}
	return names
}
