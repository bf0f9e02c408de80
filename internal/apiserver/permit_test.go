package apiserver_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/apiserver"
)

// A request whose client gives up while it waits for its permit has no effect.
func TestCanceledWhileWaiting(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f := newFixtureWith(t, apiserver.Config{NoManagedFields: true, Hooks: apiserver.Hooks{
		Delay: func(string) time.Duration { return 0 },
		Await: func(_ apiserver.Transition, canceled <-chan struct{}) apiserver.Permit {
			cancel()
			<-canceled
			return apiserver.Permit{}
		},
	}})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://volsim.invalid/api/v1/namespaces/default/configmaps", strings.NewReader(`{"metadata":{"name":"a"}}`))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	resp, err := f.server.RoundTrip(req)
	if err == nil {
		_ = resp.Body.Close()
	}
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, f.cluster.Objects("ConfigMap").List(), "the ConfigMap was created all the same")
}
