package csitest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/csi/internal/testdriver"
)

// The picture has the run of the finding, with the finding itself and the objects of the story.
func TestHTML(t *testing.T) {
	cfg := testConfig(testdriver.StageAgainFails)
	cfg.Replay = "life lost@3"
	report, err := Check(cfg)
	require.NoError(t, err)
	var page strings.Builder
	require.NoError(t, report.WriteHTML(&page))
	for _, text := range []string{
		"<title>test.csi.volsim.dev 1: life lost@3</title>", "globalmount is already mounted, although the volume already is as requested",
		"CSI specification, section NodeStageVolume", "MNT-249", "default/data", "NodeStageVolume",
	} {
		require.Contains(t, page.String(), text)
	}
	cfg = testConfig()
	cfg.Replay = "life"
	report, err = Check(cfg)
	require.NoError(t, err)
	require.EqualError(t, report.WriteHTML(&page), "write a picture: no finding of this test has a run; there is nothing to show")
}
