package csitest

import (
	"fmt"

	"google.golang.org/grpc/codes"

	"github.com/volsim/volsim/csi"
)

// capacity examines a reply to the GetCapacity of external-provisioner. Until there is one, no pod is scheduled, so an error is the reason why a
// pod does not run.
func (e *examiner) capacity(c *csi.Call, reply csi.Reply) {
	delete(e.rejected, "")
	switch code := reply.Status.Code(); {
	case reply.Broken:
		e.flaw(broken, c, "", "%s gets no answer: %s", c.Method, reply.Status.Message())
	case code == codes.Unimplemented:
		e.unimplemented(c)
	case reply.Status != nil:
		e.rejected[""] = rejection{at: e.at, call: c, code: code, method: c.Method, detail: fmt.Sprintf("%s answers code %s: %s", c.Method, code, reply.Status.Message())}
	default:
		e.answer(c, reply.Message)
	}
}
