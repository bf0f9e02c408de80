package bench

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/volsim/volsim/internal/tools/explore"
)

// readScript reads a script of the examples.
func readScript(b *testing.B, name string) *explore.Script {
	b.Helper()
	data, err := os.ReadFile(filepath.Join("../../../examples", name))
	must(b, err)
	s, err := explore.ReadScript(name, data)
	must(b, err)
	return s
}

// BenchmarkExhaustive explores a small script in every order, on all cores.
func BenchmarkExhaustive(b *testing.B) {
	b.ReportAllocs()
	states := 0
	used := cpuTime()
	model := func() explore.Model { return readScript(b, "sweep/small.txtar").Model(0) }
	var others []explore.Model
	for range runtime.GOMAXPROCS(0) - 1 {
		others = append(others, model())
	}
	for b.Loop() {
		x, err := explore.Exhaustive(model(), explore.Options{Others: others})
		must(b, err)
		states += x.States
	}
	b.ReportMetric(float64(states)/b.Elapsed().Seconds(), "states/s")
	b.ReportMetric(float64((cpuTime()-used).Microseconds())/float64(states), "cpu-µs/state")
}

// BenchmarkSweep runs a lesson with one seed after the other, on one core.
func BenchmarkSweep(b *testing.B) {
	b.ReportAllocs()
	used, seed := cpuTime(), int64(0)
	s := readScript(b, "12-a-node-dies/lesson.txtar")
	for b.Loop() {
		s.RunSeed(seed)
		seed++
	}
	b.ReportMetric(float64(seed)/b.Elapsed().Seconds(), "runs/s")
	b.ReportMetric(float64((cpuTime()-used).Microseconds())/float64(seed), "cpu-µs/run")
}
