package csitest

import (
	"fmt"
	"slices"
	"strings"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"

	"github.com/volsim/volsim/csi"
)

// leaksInline reports whether the volumes in pods were all unpublished, and no other volume was created.
func (e *examiner) leaksInline() bool {
	return len(e.inlined) > 0 && len(e.inline) == 0 && len(e.flaws) == 0 && !slices.ContainsFunc(e.steps[:e.at], func(s step) bool {
		return s.Call != nil && (s.Call.Method == "CreateVolume" || len(s.Call.Replies) == 0 || s.Call.Replies[0].Status != nil || s.Call.Replies[0].Met != 0)
	})
}

// inlineCall examines a call about a volume that lives as long as its mount. It returns false for any other call.
func (e *examiner) inlineCall(c *csi.Call, reply csi.Reply) bool {
	at := Mount{Node: c.Node, Path: path(c.Request)}
	_, published := e.inline[at]
	code := reply.Status.Code()
	answer := fmt.Sprintf("%s answers code %s: %s", c.Method, code, reply.Status.Message())
	switch r := c.Request.(type) {
	case *spec.NodePublishVolumeRequest:
		if r.GetVolumeContext()["csi.storage.k8s.io/ephemeral"] != "true" {
			return false
		}
		switch {
		case code == codes.OK:
			e.inline[at], e.inlined[at] = c.Volume, true
		case published && !slices.Contains(transient, code):
			e.flaw(again, c, c.Volume, "%s, although the volume already is as requested", answer)
		default:
			e.rejected[c.Volume] = rejection{at: e.at, call: c, code: reply.Status.Code(), method: c.Method, detail: answer}
		}
		return true
	case *spec.NodeUnpublishVolumeRequest:
		if !strings.HasPrefix(c.Volume, "csi-") || len(c.Volume) != len("csi-")+64 {
			return false
		}
		switch {
		case code == codes.OK:
			delete(e.inline, at)
		case !published && (e.inlined[at] || code != codes.NotFound) && !slices.Contains(transient, code):
			e.flaw(undone, c, c.Volume, "%s, although there is nothing left to undo", answer)
		default:
			e.rejected[c.Volume] = rejection{at: e.at, call: c, code: reply.Status.Code(), method: c.Method, detail: answer}
		}
		return true
	}
	return false
}
