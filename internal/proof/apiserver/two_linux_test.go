package apiserver

import (
	"os"
	"testing"
	"time"
)

func BenchmarkTwo(b *testing.B) {
	old := served(b)
	fill(b, old, 20, 0)
	b.Setenv("VOLSIM", os.Getenv("VOLSIM2"))
	now := served(b)
	fill(b, now, 20, 0)
	old.name, now.name = "old", "new"
	compare(b, []*server{old, now}, time.Second, func(l load, _ int) bool { return !l.reads })
}
