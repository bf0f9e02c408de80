package volsim

import (
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/internal/core/options"
	"github.com/volsim/volsim/internal/core/store"
)

func init() {
	internals.Engine = func(cluster any) *engine.Engine { return cluster.(*Cluster).engine }
	internals.Create = func(cluster any, obj api.Object, opts store.CreateOptions) error {
		return cluster.(*Cluster).create(obj, opts)
	}
	internals.Update = func(cluster any, obj api.Object, opts store.UpdateOptions) error {
		return cluster.(*Cluster).update(obj, api.Main, opts)
	}
	internals.Options = func(config any) *options.Options { return &config.(*Config).internal }
}
