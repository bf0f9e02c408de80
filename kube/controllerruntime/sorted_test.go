package controllerruntime

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/cache"
)

// synced is a registration of a handler that has everything.
type synced struct {
	cache.ResourceEventHandlerRegistration
}

func (synced) HasSynced() bool { return true }

// TestRegistrationWaits: whether a new handler is synced does not depend on which goroutine comes first at the instant of its registration.
func TestRegistrationWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, err := registered(synced{}, nil)
		require.NoError(t, err)
		require.False(t, r.HasSynced())
		time.Sleep(time.Nanosecond)
		require.True(t, r.HasSynced())
	})
}
