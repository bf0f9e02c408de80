package playground

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/internal/tools/picture"
	"github.com/volsim/volsim/internal/tools/report"
)

type exportArgs struct {
	Run string `json:"run"`
	// Format is txtar, go, html or trace.
	Format string `json:"format"`
}

// export returns a run as a file.
func (s *Server) export(a exportArgs) (any, error) {
	r, err := s.run(a.Run)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	switch a.Format {
	case "txtar":
		out.WriteString(r.text)
	case "go":
		out.WriteString(goTest(r.text, r.result.Seed))
	case "html":
		err = picture.Write(&out, report.Picture(r.name, false, r.result))
	case "trace":
		err = r.session.Cluster().Trace().WriteText(&out)
	default:
		err = fmt.Errorf("unknown format %q: want txtar, go, html or trace", a.Format)
	}
	return out.String(), err
}

// goTest returns a Go test that runs a script with a seed.
func goTest(text string, seed int64) string {
	literal := "`" + strings.ReplaceAll(text, "`", "` + \"`\" + `") + "`"
	return fmt.Sprintf(`package playground_test

import (
	"testing"

	"github.com/volsim/volsim/scenario"
)

// TestPlayground runs a script that the playground exported.
func TestPlayground(t *testing.T) {
	script, err := scenario.Parse("playground.txtar", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	seed := int64(%d)
	result, err := scenario.Run(script, scenario.Options{Seed: &seed})
	if err != nil {
		t.Fatal(err)
	}
	defer result.Cluster.Close()
	t.Log(result.Summary())
}

const text = %s
`, seed, literal)
}

// apiVersion returns the version and the kind of an object, as in a manifest.
func apiVersion(obj api.Object) [2]string {
	gvk := store.GroupVersionKind(api.KindOf(obj))
	return [2]string{gvk.GroupVersion().String(), gvk.Kind}
}
