package csitest

import "slices"

// need combines conditions.
func need(conditions ...func(*Config, capabilities) string) func(*Config, capabilities) string {
	return func(cfg *Config, caps capabilities) string {
		for _, c := range conditions {
			if missing := c(cfg, caps); missing != "" {
				return missing
			}
		}
		return ""
	}
}

// creates is for stories with volumes of CreateVolume. Without CONTROLLER_SERVICE nobody asks for the capabilities of the controller.
func creates(_ *Config, c capabilities) string {
	return orElse(lacks(!c.NoController, "CONTROLLER_SERVICE in GetPluginCapabilities"), lacks(c.Create, "CREATE_DELETE_VOLUME"))
}

func attaches(_ *Config, c capabilities) string { return lacks(c.Attach, "PUBLISH_UNPUBLISH_VOLUME") }

// expands is for stories in which a volume grows. A driver without EXPAND_VOLUME of the controller grows it on its node.
func expands(_ *Config, c capabilities) string {
	return lacks(c.Expand || c.NodeExpand, "EXPAND_VOLUME of the controller or the node")
}

// expandsOnline is for stories in which a published volume grows. Drivers that only have OFFLINE may reject that. Kubernetes does not ask for the
// capability, so drivers without any run these stories.
func expandsOnline(cfg *Config, c capabilities) string {
	return orElse(expands(cfg, c), lacks(c.Online || !c.Offline, "VolumeExpansion ONLINE"))
}

// expandsOffline is for stories in which a volume grows once it is not published any more.
func expandsOffline(cfg *Config, c capabilities) string {
	return orElse(expands(cfg, c), lacks(c.Expand && c.Offline && !c.Online, "VolumeExpansion OFFLINE without ONLINE"))
}

func modifies(_ *Config, c capabilities) string { return lacks(c.Modify, "MODIFY_VOLUME") }

func tellsCapacity(_ *Config, c capabilities) string { return lacks(c.GetCapacity, "GET_CAPACITY") }

func reboots(cfg *Config, _ capabilities) string {
	return lacks(cfg.Reboot != nil, "Config.Reboot (--reboot)")
}

func removes(cfg *Config, _ capabilities) string {
	return orElse(lacks(cfg.RemoveNode != nil, "Config.RemoveNode (--remove-node)"),
		lacks(cfg.Reset != nil, "Config.Reset (--reset), which brings removed nodes back"))
}

func twoNodes(cfg *Config, _ capabilities) string {
	return lacks(len(cfg.nodes())-len(cfg.far) > 1, "two nodes with the same topology (Config.Nodes, --node)")
}

func otherNode(cfg *Config, _ capabilities) string {
	return lacks(len(cfg.nodes()) > 1, "two nodes (Config.Nodes, --node)")
}

func supports(mode string) func(*Config, capabilities) string {
	return func(cfg *Config, _ capabilities) string {
		return lacks(!slices.Contains(cfg.Unsupported, mode), mode+" (Config.Unsupported, --unsupported)")
	}
}

func lacks(has bool, what string) string {
	if has {
		return ""
	}
	return what
}

func snapshots(_ *Config, c capabilities) string { return lacks(c.Snapshot, "CREATE_DELETE_SNAPSHOT") }

func clones(_ *Config, c capabilities) string { return lacks(c.Clone, "CLONE_VOLUME") }

func groups(_ *Config, c capabilities) string {
	return lacks(c.Group, "CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT")
}
