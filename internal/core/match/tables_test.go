package match

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/objects"
)

// tableCase is one line of tables-match.jsonl.gz: a case that Kubernetes keeps for its own matching.
type tableCase struct {
	Kind         string                        `json:"kind"`
	Group        string                        `json:"group"`
	Name         string                        `json:"name"`
	Claim        *corev1.PersistentVolumeClaim `json:"claim"`
	Volume       *corev1.PersistentVolume      `json:"volume"`
	Volumes      []*corev1.PersistentVolume    `json:"volumes"`
	DelayBinding bool                          `json:"delayBinding"`
	Match        *string                       `json:"match"`
	Result       bool                          `json:"result"`
}

func TestTablesMatch(t *testing.T) {
	file, err := os.Open("../../proof/conformance/testdata/tables-match.jsonl.gz")
	require.NoError(t, err)
	defer file.Close()
	unpacked, err := gzip.NewReader(file)
	require.NoError(t, err)

	ran := map[string]int{}
	lines := bufio.NewScanner(unpacked)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var c tableCase
		require.NoError(t, json.Unmarshal(lines.Bytes(), &c))
		ran[c.Kind]++
		t.Run(c.Kind+"/"+c.Group+"/"+c.Name, c.run)
	}
	require.NoError(t, lines.Err())
	require.Equal(t, map[string]int{
		"findBestMatch": 16, "accessModesMatch": 2, "volumeModeMismatch": 4, "volumeSatisfiesClaim": 1,
	}, ran)
}

func (c tableCase) run(t *testing.T) {
	var got bool
	switch c.Kind {
	case "findBestMatch":
		c.runMatch(t)
		return
	case "accessModesMatch":
		got = hasModes(c.Volume, c.Claim)
	case "volumeModeMismatch":
		got = objects.VolumeModeOf(c.Claim.Spec.VolumeMode) != objects.VolumeModeOf(c.Volume.Spec.VolumeMode)
	case "volumeSatisfiesClaim":
		got, _, _ = Named(c.Claim, c.Volume)
	default:
		t.Fatalf("unknown kind %q", c.Kind)
	}
	if got != c.Result {
		t.Errorf("%s = %v, want %v", c.Kind, got, c.Result)
	}
}

func (c tableCase) runMatch(t *testing.T) {
	want := ""
	if c.Match != nil {
		want = *c.Match
	}
	d := Best(c.Claim, c.Volumes, Options{Delayed: c.DelayBinding, Explain: true})
	require.NoError(t, d.Err)
	if got := nameOf(d.Volume); got != want {
		t.Errorf("Best = %q by %s, want %q\n%v", got, d.Rule, want, d.Rejections)
	}
	index := NewIndex()
	for _, pv := range c.Volumes {
		index.PutVolume(pv)
	}
	pv, rule, err := index.Match(c.Claim, c.DelayBinding)
	require.NoError(t, err)
	if nameOf(pv) != want || rule != d.Rule {
		t.Errorf("Index.Match = %q by %s, want %q by %s", nameOf(pv), rule, want, d.Rule)
	}
}
