package csitest

import (
	"maps"
	"slices"
	"strings"

	"github.com/volsim/volsim/csi"
)

// showsSecret reports a reply or an error that contains a secret of the request.
func (e *examiner) showsSecret(c *csi.Call, reply csi.Reply) bool {
	r, ok := c.Request.(interface{ GetSecrets() map[string]string })
	if !ok {
		return false
	}
	text := reply.Status.Message()
	if reply.Message != nil {
		text = compact(reply.Message)
	}
	secrets := r.GetSecrets()
	for _, key := range slices.Sorted(maps.Keys(secrets)) {
		if value := secrets[key]; len(value) >= minSecret && strings.Contains(text, value) {
			e.flaw(secret, c, c.Volume, "the answer to %s contains the secret %q", c.Method, key)
			return true
		}
	}
	return false
}

// minSecret is the length from which on the content of a secret is not found in an answer by chance.
const minSecret = 8
