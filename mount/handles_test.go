package mount

import (
	"testing"

	"github.com/volsim/volsim/internal/core/objects"
)

func TestGeneratedNames(t *testing.T) {
	// MNT-038, with the vectors of ATT-003.
	want(t, "MNT-038: attachment", objects.AttachmentName("vol-001", "ebs.csi.example.com", "node-a"),
		"csi-0ce86ccac98be468268972668d5a3713ed54acdbee7c981aeac61dc46d04250e")
	want(t, "MNT-038: inline", len(inlineHandle("u", "scratch")), len("csi-")+64)
	if inlineHandle("u", "a") == inlineHandle("u", "b") {
		t.Errorf("MNT-038: two volumes of a pod have one handle")
	}
}
