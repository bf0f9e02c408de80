package specdriver

import (
	"context"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
)

type identity struct {
	spec.UnimplementedIdentityServer
	d *Driver
}

func (identity) GetPluginInfo(context.Context, *spec.GetPluginInfoRequest) (*spec.GetPluginInfoResponse, error) {
	return &spec.GetPluginInfoResponse{Name: "spec.csi.volsim.dev"}, nil
}

func (identity) Probe(context.Context, *spec.ProbeRequest) (*spec.ProbeResponse, error) {
	return &spec.ProbeResponse{}, nil
}

func (i identity) GetPluginCapabilities(context.Context, *spec.GetPluginCapabilitiesRequest) (*spec.GetPluginCapabilitiesResponse, error) {
	r := &spec.GetPluginCapabilitiesResponse{}
	service := func(has bool, t spec.PluginCapability_Service_Type) {
		if has {
			r.Capabilities = append(r.Capabilities, &spec.PluginCapability{Type: &spec.PluginCapability_Service_{Service: &spec.PluginCapability_Service{Type: t}}})
		}
	}
	expansion := func(has bool, t spec.PluginCapability_VolumeExpansion_Type) {
		if has {
			r.Capabilities = append(r.Capabilities,
				&spec.PluginCapability{Type: &spec.PluginCapability_VolumeExpansion_{VolumeExpansion: &spec.PluginCapability_VolumeExpansion{Type: t}}})
		}
	}
	o := i.d.o
	service(!o.InlineOnly, spec.PluginCapability_Service_CONTROLLER_SERVICE)
	service(o.Zones != nil, spec.PluginCapability_Service_VOLUME_ACCESSIBILITY_CONSTRAINTS)
	expansion(o.Expansion == "" || o.Expansion == "online" || o.Expansion == "node", spec.PluginCapability_VolumeExpansion_ONLINE)
	expansion(o.Expansion == "offline", spec.PluginCapability_VolumeExpansion_OFFLINE)
	return r, nil
}
