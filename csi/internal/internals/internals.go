// Package internals gives other modules of this repository what package csitest does not export. Package csitest sets its variables when it is
// initialized.
package internals

import (
	"github.com/volsim/volsim"
	"github.com/volsim/volsim/csi"
)

// WatchCalls makes a *csitest.Config report each call that the control plane makes, before it reaches the driver.
var WatchCalls func(config any, watch func(*volsim.Cluster, csi.Call))

// WatchHooks makes a test with a *csitest.Config end as soon as failed returns an error, which it is asked after each run.
var WatchHooks func(config any, failed func() error)
