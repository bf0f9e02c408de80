package kubectl

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	clientjsonpath "k8s.io/client-go/util/jsonpath"

	"github.com/volsim/volsim/internal/tools/jsonpath"
)

var templates = flag.Int("templates", 20_000, "how many random jsonpath templates are compared")

// document has the values that the templates select.
const document = `{
	"kind": "List", "count": 3, "ok": true, "none": null, "empty": [], "nothing": {},
	"items": [
		{"metadata": {"name": "a", "labels": {"app": "web", "example.com/tier": "front end"}}, "spec": {"size": 10, "share": 0.5, "modes": ["RWO", "ROX"]},
		 "status": {"phase": "Bound", "conditions": [{"type": "Ready", "status": "True", "age": 3}, {"type": "Resizing", "status": "False", "age": 12}]}},
		{"metadata": {"name": "b", "labels": {"app": "db"}}, "spec": {"size": 9, "modes": ["RWX"], "note": "a<b & \"c\""},
		 "status": {"phase": "Pending", "conditions": []}},
		{"metadata": {"name": "c"}, "spec": {"size": 10, "share": 2.25, "modes": []}, "status": {"phase": "Bound", "conditions": [{"type": "Ready", "status": "False"}]}}
	]
}`

// TestTemplates compares what random jsonpath templates print with the package that kubectl uses.
func TestTemplates(t *testing.T) {
	var ours, theirs map[string]any
	decoder := json.NewDecoder(strings.NewReader(document))
	decoder.UseNumber()
	require.NoError(t, decoder.Decode(&ours))
	require.NoError(t, utiljson.Unmarshal([]byte(document), &theirs))
	printed, panics, wrong := 0, 0, 0
	for seed := range uint64(*templates) {
		g := generator{rand.New(rand.NewPCG(seed, 1))}
		text := g.template(theirs, 2)
		want, wantErr := real(text, theirs)
		if wantErr == errPanic {
			panics++
			continue
		}
		got, err := simulated(text, ours)
		if wantErr != nil || err != nil {
			if (wantErr != nil) != (err != nil) && wrong < 40 {
				wrong++
				t.Errorf("%s\nkubectl: %q %v\nours:    %q %v", text, want, wantErr, got, err)
			}
			continue
		}
		if want != got && wrong < 40 {
			wrong++
			t.Errorf("%s\nkubectl: %q\nours:    %q", text, want, got)
		}
		if want != "" {
			printed++
		}
	}
	require.Greater(t, printed, *templates/3, "templates that print something")
	require.Less(t, panics, *templates/20, "templates on which kubectl panics")
	t.Logf("%d templates, %d of which print something; kubectl panics on %d others", *templates-panics, printed, panics)
}

// errPanic says that the package panics: an index of nothing, in a range without values.
var errPanic = errors.New("panic")

func real(text string, doc any) (printed string, err error) {
	defer func() {
		if failed := recover(); failed != nil {
			err = errPanic
		}
	}()
	p := clientjsonpath.New("test").AllowMissingKeys(true)
	if err := p.Parse(text); err != nil {
		return "", err
	}
	var out bytes.Buffer
	err = p.Execute(&out, doc)
	return out.String(), err
}

func simulated(text string, doc any) (string, error) {
	read, err := jsonpath.ReadTemplate(text)
	if err != nil {
		return "", err
	}
	return read(doc)
}

// generator makes random templates.
type generator struct{ *rand.Rand }

func (g generator) pick(words ...string) string { return words[g.IntN(len(words))] }

// template returns a template about a value.
func (g generator) template(doc any, depth int) string {
	var out strings.Builder
	for range 1 + g.IntN(3) {
		switch n := g.IntN(10); {
		case n < 2:
			out.WriteString(g.pick(" ", "name: ", ", ", "[", "]"))
		case n < 3:
			out.WriteString(g.pick(`{"\n"}`, `{"\t"}`, `{" - "}`, `{"}"}`))
		case n < 5 && depth > 0:
			path, element := g.path(doc)
			fmt.Fprintf(&out, "{range %s}%s{end}", path, g.template(element, depth-1))
		default:
			path, _ := g.path(doc)
			fmt.Fprintf(&out, "{%s}", path)
		}
	}
	return out.String()
}

// path returns a path about a value, and one of the values that it may select.
func (g generator) path(v any) (string, any) {
	var out strings.Builder
	out.WriteString(g.pick("", "", "", "$", "@"))
	for range 1 + g.IntN(5) {
		step := ""
		if step, v = g.step(v); step == "" {
			break
		}
		out.WriteString(step)
	}
	if out.Len() < 2 {
		return ".kind", nil
	}
	return out.String(), v
}

func (g generator) step(v any) (string, any) {
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 {
			return ".none", nil
		}
		keys := slices.Sorted(maps.Keys(v))
		key := g.pick(keys...)
		escaped := strings.ReplaceAll(key, ".", `\.`)
		switch g.IntN(14) {
		case 1:
			return fmt.Sprintf("['%s']", escaped), v[key]
		case 2:
			return fmt.Sprintf("['%s','%s']", escaped, strings.ReplaceAll(g.pick(keys...), ".", `\.`)), v[key]
		case 3:
			return ".." + g.pick("name", "type", "phase", "modes", "size"), nil
		case 4:
			return g.pick(".none", ".items", ".metadata"), v["items"]
		case 5:
			return fmt.Sprintf("[%s]", escaped), v[key]
		}
		return "." + escaped, v[key]
	case []any:
		var element any
		if len(v) > 0 {
			element = v[g.IntN(len(v))]
		}
		switch g.IntN(8) {
		case 0:
			return fmt.Sprintf("[%d]", g.IntN(3)), element
		case 1:
			return fmt.Sprintf("[-%d]", 1+g.IntN(3)), element
		case 2:
			return g.pick("[0:1]", "[1:]", "[:2]", "[-1:]", "[:-1]", "[0:3:2]", "[:]"), element
		case 3:
			return g.pick("[0,1]", "[0,-1]"), element
		case 4, 5:
			return g.filter(), element
		}
		return g.pick("[*]", "[*]", ".*"), element // the values of a map come in a random order
	}
	return "", nil
}

func (g generator) filter() string {
	operator := g.pick("==", "==", "!=", "<", "<=", ">", ">=")
	return g.pick(
		fmt.Sprintf(`[?(@.type%s"Ready")]`, operator), fmt.Sprintf(`[?(@.status.phase%s"Bound")]`, operator),
		fmt.Sprintf(`[?(@.spec.size%s10)]`, operator), fmt.Sprintf(`[?(@.age%s4)]`, operator), `[?(@.metadata.labels)]`, `[?(@.spec.share)]`,
		fmt.Sprintf(`[?(@.metadata.name%s'b')]`, operator), fmt.Sprintf(`[?(@.spec.share%s1.5)]`, operator), fmt.Sprintf(`[?(@.metadata.labels.app%s@.metadata.name)]`, operator),
	)
}
