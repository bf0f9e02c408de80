package csitest

import (
	spec "github.com/container-storage-interface/spec/lib/go/csi"
)

// leaves counts the volumes that a run may have left attached. Without Config.Reset they stay attached, and count for the limit of their node.
func (c *Config) leaves(rec *recording) {
	type use struct{ volume, node string }
	attached := map[use]bool{}
	for _, s := range rec.steps {
		if s.Call == nil {
			continue
		}
		for _, reply := range s.Call.Replies {
			switch r := s.Call.Request.(type) {
			case *spec.ControllerPublishVolumeRequest:
				if reply.Status == nil || reply.Broken || interrupted(s.Call, reply) {
					attached[use{r.GetVolumeId(), r.GetNodeId()}] = true
				}
			case *spec.ControllerUnpublishVolumeRequest:
				if reply.Status == nil {
					delete(attached, use{r.GetVolumeId(), r.GetNodeId()})
				}
			}
		}
	}
	if c.left == nil {
		c.left = map[string]int{}
	}
	for u := range attached {
		c.left[u.node]++
	}
}
