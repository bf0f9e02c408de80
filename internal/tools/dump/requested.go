package dump

import (
	"fmt"
	"slices"
	"strings"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/similar"
)

// checkRequested returns an error for an assumption of the user about a driver, node, controller or pod that there is not. controllers are those
// that run on no node.
func (c *Cluster) checkRequested(controllers []string) error {
	for _, a := range c.Evidence.All() {
		if !a.Requested {
			continue
		}
		kind, name, _ := strings.Cut(a.Subject, "/")
		names := controllers
		switch kind {
		case "driver":
			names = c.drivers()
		case "node":
			names = c.named(api.Node)
		case "pod":
			names = c.named(api.Pod)
		}
		if slices.Contains(names, name) {
			continue
		}
		hint := similar.Hint(name, names)
		if kind == "driver" && hint == "" {
			// A word alone is the name of a driver.
			hint = similar.Hint(name, []string{"driver", "node", "recycler"})
		}
		what := "the dump has no " + kind
		if kind == "controller" {
			what = "there is no controller"
		}
		return fmt.Errorf("invalid assumption about %s: %s %q%s", a.Subject, what, name, hint)
	}
	return nil
}

// drivers returns the names of the storage systems, and of drivers that evidence is about.
func (c *Cluster) drivers() []string {
	var names []string
	for _, b := range c.Backends {
		names = append(names, b.Name())
	}
	for _, a := range c.dump.Evidence(c.Now()).All() {
		if name, ok := strings.CutPrefix(a.Subject, "driver/"); ok {
			names = append(names, name)
		}
	}
	return names
}

// named returns the names of the objects of a kind, with their namespaces.
func (c *Cluster) named(kind api.Kind) []string {
	var names []string
	for _, obj := range c.dump.Objects {
		if api.KindOf(obj) == kind {
			names = append(names, api.KeyOf(obj))
		}
	}
	return names
}
