package predict_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/tools/dump"
	"github.com/volsim/volsim/internal/tools/predict"
)

var updateFacts = flag.Bool("update-facts", false, "write the facts of the reasoned cases; check each against the rules that the file names")

// generated matches the random end of names: of pods of a ReplicaSet, and of volumes that a driver made.
var generated = regexp.MustCompile(`(web-[0-9a-f]+-)[a-z0-9]{5}\b|(pvc-)[0-9a-f-]{36}\b`)

// TestReasoned: the dumps of real clusters with other actions. A file has the action, the namespace, the dump, and why the cluster then has
// the facts below: the rules that decide.
func TestReasoned(t *testing.T) {
	files, err := filepath.Glob("testdata/reasoned/*.facts")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 110)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".facts"), func(t *testing.T) {
			c := readCase(t, file)
			data, err := os.ReadFile("testdata/cases/" + c.dump + ".yaml")
			require.NoError(t, err)
			d, err := dump.Read(data)
			require.NoError(t, err)
			steps, err := predict.ParseIn(c.namespace, c.words, func(name string) ([]byte, error) {
				return os.ReadFile("testdata/reasoned/" + name)
			})
			require.NoError(t, err)
			p, err := predict.Predict(d, steps, predict.Options{For: c.wait})
			require.NoError(t, err)
			existing := map[string]bool{}
			for _, obj := range d.Objects {
				existing[obj.GetName()] = true
			}
			got := facts(p.Objects())
			for i, line := range got {
				got[i] = generated.ReplaceAllStringFunc(line, func(name string) string {
					if existing[name] {
						return name
					}
					return generated.ReplaceAllString(name, "$1$2*")
				})
			}
			slices.Sort(got)
			for _, refused := range p.Refused {
				got = append(got, "Refused "+refused.Reason)
			}
			if *updateFacts {
				require.NoError(t, os.WriteFile(file, []byte(strings.Join(append(c.header, got...), "\n")+"\n"), 0o644))
				return
			}
			require.Equal(t, strings.Join(c.facts, "\n"), strings.Join(got, "\n"))
		})
	}
}

// A step that the API server refuses changes nothing, and the next one follows; a name that does not exist is an error that says what may be
// meant.
func TestRefused(t *testing.T) {
	data, err := os.ReadFile("testdata/cases/delete-namespace.yaml")
	require.NoError(t, err)
	d, err := dump.Read(data)
	require.NoError(t, err)
	p, err := predict.Predict(d, parse(t, "delete ns default then cordon n1"), predict.Options{})
	require.NoError(t, err)
	require.Equal(t, []predict.Refusal{{Step: "delete ns default",
		Reason: `delete Namespace/default: namespaces "default" is forbidden: this namespace may not be deleted`}}, p.Refused)
	require.Equal(t, "node/n1", p.Outcomes[0].Object)
	for steps, want := range map[string]string{
		"delete pvc data":                        `persistentvolumeclaims "data" not found; it exists in namespace team: add -n`,
		"delete pvc dat -n team":                 `persistentvolumeclaims "dat" not found; did you mean "data"`,
		"scale deploy webb -n team --replicas=1": `deployments.apps "webb" not found; did you mean "web"`,
		"delete namespace/tem":                   `namespaces "tem" not found; did you mean "team"`,
		"delete nodde/n1":                        `persistentvolumeclaims "n1" not found; or unknown kind "nodde"`,
		"cordon n3":                              `nodes "n3" not found; did you mean "n1"`,
	} {
		_, err := predict.Predict(d, parse(t, steps), predict.Options{})
		require.ErrorContains(t, err, want)
	}
}
