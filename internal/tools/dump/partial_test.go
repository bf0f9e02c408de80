package dump_test

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/explain"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/internal/tools/dump"
)

// A dump may lack any object: the rest can be explained and simulated.
func TestPartialDumps(t *testing.T) {
	files, err := os.ReadDir(dumps)
	require.NoError(t, err)
	for _, file := range files {
		if file.IsDir() {
			continue
		}
		whole := read(t, file.Name())
		for i := range whole.Objects {
			d := *whole
			d.Objects = slices.Delete(slices.Clone(whole.Objects), i, i+1)
			c, err := d.Start(dump.Options{})
			require.NoError(t, err)
			explainer := explain.New(internals.Snapshot(c))
			for _, obj := range d.Objects {
				switch api.KindOf(obj) {
				case api.Pod, api.PersistentVolumeClaim, api.PersistentVolume, api.VolumeAttachment:
					x, err := explainer.Object(api.RefTo(obj))
					require.NoError(t, err)
					require.NotEmpty(t, x.Rule)
					require.True(t, x.Changes.When == explain.Settled || len(x.Next) > 0 || x.Changes.When == explain.Automatic, x)
				}
			}
			require.NoError(t, c.Advance(time.Minute))
			c.Close()
		}
	}
}
