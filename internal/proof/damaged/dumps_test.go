package damaged

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/tools/dump"
	"github.com/volsim/volsim/internal/tools/predict"
	"github.com/volsim/volsim/internal/tools/report"
)

// TestDamagedDumps explains a dump with a damaged object, and predicts what the deletion of that object does.
func TestDamagedDumps(t *testing.T) {
	whole := cluster(t)
	explained, refused := 0, 0
	items := make([]any, len(whole))
	for i, obj := range whole {
		items[i] = obj.Object
	}
	for name, d := range damages(whole) {
		damaged := slices.Clone(items)
		damaged[d.at] = d.object
		data, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": damaged})
		require.NoError(t, err)
		obj := whole[d.at]
		words := []string{"delete", obj.GetKind(), obj.GetName()}
		if obj.GetNamespace() != "" {
			words = append(words, "-n", obj.GetNamespace())
		}
		if err := answer(data, words); err != nil {
			require.NotContains(t, err.Error(), "\n", name)
			refused++
			continue
		}
		explained++
	}
	require.Greater(t, explained, refused)
	t.Logf("%d dumps: %d explained, %d refused", explained+refused, explained, refused)
}

func answer(data []byte, words []string) error {
	now := time.Date(2026, 1, 1, 0, 2, 0, 0, time.UTC)
	d, err := dump.Read(data)
	if err != nil {
		return err
	}
	answer, err := report.Explain(d, report.Selection{}, dump.Options{Now: now}, time.Minute, 0, nil)
	if err != nil {
		return err
	}
	var text strings.Builder
	if err := answer.WriteText(&text); err != nil {
		return err
	}
	steps, err := predict.Parse(words, os.ReadFile)
	if err != nil {
		return err
	}
	p, err := predict.Predict(d, steps, predict.Options{Options: dump.Options{Now: now}, For: time.Minute})
	if err != nil {
		return err
	}
	return report.WritePrediction(&text, p)
}
