package kinds

import (
	"maps"

	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

// An APIService has defaults (API-566). What it says is not checked, and no group is served by others.
var apiServiceRules = store.KindRules{
	Default: func(obj *plain.Object) {
		spec, _ := obj.Content()["spec"].(map[string]any)
		service, ok := spec["service"].(map[string]any)
		if !ok {
			return
		}
		spec = maps.Clone(spec)
		spec["service"] = withDefaults(service, map[string]any{"port": int64(store.DefaultWebhookPort)})
		content := maps.Clone(obj.Content())
		content["spec"] = spec
		obj.SetContent(content)
	},
	PrepareCreate: func(obj *plain.Object) {
		obj.SetContent(withDefaults(obj.Content(), map[string]any{"status": map[string]any{}}))
	},
}
