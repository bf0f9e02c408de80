package csi_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/csi"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/storage"
)

// A recording replays without the driver: the same calls, the same results, the same trace, also after it was written as JSON.
func TestReplay(t *testing.T) {
	run := func(cfg csi.Config) (*csi.Driver, string) {
		driver, err := csi.New(context.Background(), cfg)
		require.NoError(t, err)
		c, err := volsim.New(volsim.Config{Backends: []storage.Backend{driver}, Seed: 7})
		require.NoError(t, err)
		defer c.Close()
		driver.Clock = c.Now
		require.NoError(t, c.Create(fake.Node("n1"), fake.Class("fast", "disk.example.com", fake.Expandable())))
		require.NoError(t, life(c))
		driver.Finish()
		var text strings.Builder
		require.NoError(t, c.Trace().WriteText(&text))
		return driver, text.String()
	}
	for _, kind := range []csi.FaultKind{"", csi.LostReply, csi.Late, csi.Twice, csi.Overlap, csi.NotDelivered} {
		for _, method := range []string{"CreateVolume", "NodeStageVolume"} {
			driver, want := run(csi.Config{Controller: csi.Serve(newDisk("n1").register), Inject: on(method, csi.Fault{Kind: kind})})
			data, err := json.Marshal(driver.Recording())
			require.NoError(t, err)
			var recording csi.Recording
			require.NoError(t, json.Unmarshal(data, &recording))
			again, got := run(csi.Config{Replay: &recording})
			require.Equal(t, want, got, "%s %s", kind, method)
			repeated, err := json.Marshal(again.Recording())
			require.NoError(t, err)
			require.JSONEq(t, string(data), string(repeated))
		}
	}
}

// A call that is not in the recording fails.
func TestReplayDiverges(t *testing.T) {
	d := newDisk("n1")
	driver, err := csi.New(context.Background(), csi.Config{Controller: csi.Serve(d.register)})
	require.NoError(t, err)
	_, err = driver.Create(storage.CreateRequest{Name: "a", Size: 1})
	require.NoError(t, err)
	recording := driver.Recording()
	again, err := csi.New(context.Background(), csi.Config{Replay: &recording})
	require.NoError(t, err)
	require.Equal(t, "disk.example.com", again.Name())
	_, err = again.Create(storage.CreateRequest{Name: "b", Size: 1})
	require.ErrorContains(t, err, `replay call 1, CreateVolume of "b": the recording has CreateVolume of "a", or another request`)
	_, err = again.Create(storage.CreateRequest{Name: "a", Size: 1})
	require.ErrorContains(t, err, "the recording has 1 calls")
	_, err = csi.New(context.Background(), csi.Config{Replay: &csi.Recording{}})
	require.ErrorContains(t, err, "the recording does not begin with GetPluginInfo")
	var call csi.Call
	require.ErrorContains(t, json.Unmarshal([]byte(`{"method":"Explode","request":{}}`), &call), `there is no method "Explode"`)
}
