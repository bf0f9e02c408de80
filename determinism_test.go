package volsim_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/internal/proof/history"
)

var (
	seeds   = flag.Int("seeds", 40, "how many seeds TestDeterminism and TestHistoriesBySeed run")
	first   = flag.Int64("first", 0, "the first of these seeds")
	digests = flag.Bool("digests", false, "have TestDeterminism print the digest of each seed's trace and do nothing else")
)

// TestDeterminism runs random histories, faults and crashes included: the same seed must give the same bytes, in this process and
// in another one.
func TestDeterminism(t *testing.T) {
	if *digests {
		for seed := *first; seed < *first+int64(*seeds); seed++ {
			fmt.Printf("digest %d %s\n", seed, digestOf(t, seed))
		}
		return
	}
	self := exec.Command(os.Args[0], "-test.run=^TestDeterminism$", "-digests", fmt.Sprintf("-seeds=%d", *seeds), fmt.Sprintf("-first=%d", *first))
	output, err := self.Output()
	require.NoError(t, err)
	elsewhere := map[string]string{}
	for line := range strings.Lines(string(output)) {
		var seed, digest string
		if n, _ := fmt.Sscanf(line, "digest %s %s", &seed, &digest); n == 2 {
			elsewhere[seed] = digest
		}
	}
	require.Len(t, elsewhere, *seeds, "the other process")
	distinct := map[string]bool{}
	for seed := *first; seed < *first+int64(*seeds); seed++ {
		once := traceOf(t, seed)
		if again := traceOf(t, seed); !bytes.Equal(once, again) {
			t.Fatalf("seed %d: two runs in one process differ, first in %q", seed, firstDifference(once, again))
		}
		digest := digestOfBytes(once)
		require.Equal(t, elsewhere[fmt.Sprint(seed)], digest, "seed %d: another process has another trace", seed)
		distinct[digest] = true
	}
	require.Len(t, distinct, *seeds, "other seeds give other runs")
}

// traceOf is the trace of one history, as JSON lines.
func traceOf(t *testing.T, seed int64) []byte {
	t.Helper()
	cfg, _ := history.Config(seed)
	var log bytes.Buffer
	cfg.Log, cfg.LogV = &log, 5
	c, err := volsim.New(cfg)
	require.NoError(t, err)
	rng := rand.New(rand.NewPCG(uint64(seed), 42))
	require.NoError(t, history.Run(c, rng.IntN,
		history.Options{Steps: 60, UserEdits: true, Faults: true, Nodes: seed%2 == 1, Growth: seed%4 == 3}, nil))
	require.NoError(t, history.Recover(c, history.SettleTime))
	var out bytes.Buffer
	require.NoError(t, c.Trace().WriteJSON(&out))
	require.NoError(t, c.Trace().WriteText(&out))
	require.NotZero(t, log.Len())
	return append(out.Bytes(), log.Bytes()...)
}

func digestOf(t *testing.T, seed int64) string { return digestOfBytes(traceOf(t, seed)) }

func digestOfBytes(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func firstDifference(a, b []byte) string {
	x, y := bytes.Split(a, []byte("\n")), bytes.Split(b, []byte("\n"))
	for i := range min(len(x), len(y)) {
		if !bytes.Equal(x[i], y[i]) {
			return fmt.Sprintf("%s\n%s", x[i], y[i])
		}
	}
	return "the length"
}
