// Package concurrent tests that clusters that run side by side share nothing that changes. The race detector runs it.
package concurrent

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/volsim/volsim/internal/tools/script"
)

// TestConcurrentClusters runs some known problems side by side, four at a time. Each prints what it prints alone: clusters share nothing
// that changes. The race detector watches.
func TestConcurrentClusters(t *testing.T) {
	files, err := filepath.Glob("../../../problems/external-provisioner-*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	outputs := func(limit int) []string {
		all := make([]string, len(files))
		var group errgroup.Group
		group.SetLimit(limit)
		for i, file := range files {
			group.Go(func() error {
				data, err := os.ReadFile(file)
				if err != nil {
					return err
				}
				s, err := script.Parse(file, data)
				if err != nil {
					return err
				}
				var out bytes.Buffer
				result, err := script.Run(s, script.Options{Continue: true, Out: &out})
				if result.Cluster != nil {
					result.Cluster.Close()
				}
				all[i] = out.String()
				return err
			})
		}
		require.NoError(t, group.Wait())
		return all
	}
	require.Equal(t, outputs(1), outputs(4))
}
