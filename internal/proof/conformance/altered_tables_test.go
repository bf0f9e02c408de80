package conformance_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/proof/conformance"
)

// TestAlteredTables alters what table cases expect, one value at a time; none of the altered cases may pass.
func TestAlteredTables(t *testing.T) {
	docs, err := conformance.ReadLines[map[string]any]("testdata/tables-pv.jsonl.gz")
	require.NoError(t, err)
	changes, parameters := 0, 0
	for _, doc := range docs {
		name := doc["group"].(string) + "/" + doc["name"].(string)
		passes := func() bool {
			c := decode[conformance.TableCase](t, doc)
			outcome, err := c.Run()
			require.NoError(t, err, name)
			return len(c.Check(outcome)) == 0
		}
		require.True(t, passes(), name)
		outcome, err := decode[conformance.TableCase](t, doc).Run()
		require.NoError(t, err)
		walk(doc, "", func(path string, value any, set func(any)) {
			if !strings.HasPrefix(path, ".expected") || strings.HasSuffix(path, ".resourceVersion") {
				return
			}
			switch value.(type) {
			case map[string]any, []any:
				return
			}
			changes++
			set(altered(path, value))
			if len(decode[conformance.TableCase](t, doc).Check(outcome)) == 0 {
				t.Errorf("%s: passes with %s altered", name, path)
			}
			set(value)
		})
		for _, list := range []string{"persistentVolumes", "persistentVolumeClaims"} {
			expected := doc["expected"].(map[string]any)
			objects := expected[list].([]any)
			for i := range objects {
				changes++
				expected[list] = slices.Delete(slices.Clone(objects), i, i+1)
				require.NotEmpty(t, decode[conformance.TableCase](t, doc).Check(outcome), "%s without %s[%d]", name, list, i)
			}
			expected[list] = append(slices.Clone(objects), map[string]any{"metadata": map[string]any{"name": "another"}})
			require.NotEmpty(t, decode[conformance.TableCase](t, doc).Check(outcome), "%s with one of %s more", name, list)
			expected[list] = objects
		}
		plugin, _ := doc["plugin"].(map[string]any)
		if plugin == nil {
			continue
		}
		// The first result is used if the plugin is called, which shows when it has none.
		for _, operation := range []string{"provision", "delete", "recycle"} {
			results := plugin[operation].([]any)
			plugin[operation] = []any{}
			asked := !passes()
			plugin[operation] = results
			if !asked {
				continue
			}
			require.NotEmpty(t, results, name)
			if operation != "provision" {
				continue
			}
			walk(results, "", func(path string, value any, set func(any)) {
				if _, leaf := value.(string); leaf && strings.Contains(path, "expectedParameters") {
					parameters++
					set(altered(path, value))
					require.False(t, passes(), "%s%s", name, path)
					set(value)
				}
			})
		}
	}
	require.Greater(t, changes, 1000)
	require.Greater(t, parameters, 3)

	docs, err = conformance.ReadLines[map[string]any]("testdata/tables-match.jsonl.gz")
	require.NoError(t, err)
	for _, doc := range docs {
		for _, field := range []string{"match", "result"} {
			value, ok := doc[field]
			if !ok {
				continue
			}
			doc[field] = altered("."+field, value)
			diffs, err := decode[conformance.MatchCase](t, doc).Run()
			require.NoError(t, err)
			require.NotEmpty(t, diffs, "%s with another %s", doc["name"], field)
			doc[field] = value
		}
	}
}
