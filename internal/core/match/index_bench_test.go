package match

import (
	"fmt"
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// benchVolumes are free volumes of 100 sizes in four groups and three classes, in no order of size.
func benchVolumes(n int) []*corev1.PersistentVolume {
	modes := []string{"RWO", "RWO,ROX", "RWX", "RWO,ROX,RWX"}
	classes := []string{"", "fast", "slow"}
	vs := make([]*corev1.PersistentVolume, n)
	for i := range vs {
		at := i * 7919 % n
		vs[i] = pv(fmt.Sprintf("pv-%07d", at), fmt.Sprintf("%dGi", 1+at%100), pvModes(modes[i%4]), pvClass(classes[i%3]))
	}
	return vs
}

var benchSizes = []int{100, 1_000, 10_000, 100_000, 1_000_000}

// BenchmarkMatch is one match among that many volumes: in the index; for a claim with a selector that every second volume
// meets; for a claim that a volume points at; and, for comparison, by a scan.
func BenchmarkMatch(b *testing.B) {
	for _, n := range benchSizes {
		vs := benchVolumes(n)
		index := NewIndex()
		for i, v := range vs {
			pvLabel("tier", []string{"one", "two"}[i/12%2])(v)
			index.PutVolume(v)
		}
		index.PutVolume(pv("reserved", "50Gi", pvRef("log", "u1")))
		claims := make([]*corev1.PersistentVolumeClaim, 64)
		for i := range claims {
			claims[i] = pvc(fmt.Sprintf("%dGi", 1+i*31%100), pvcClass("fast"))
		}
		b.Run(fmt.Sprintf("volumes=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, _, err := index.Match(claims[i%len(claims)], false); err != nil {
					b.Fatal(err)
				}
			}
		})
		selecting := pvc("10Gi", pvcClass("fast"), pvcSelector(tierOne))
		b.Run(fmt.Sprintf("selector/volumes=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := index.Match(selecting, false); err != nil {
					b.Fatal(err)
				}
			}
		})
		reserved := pvc("10Gi")
		reserved.Name = "log"
		b.Run(fmt.Sprintf("reserved/volumes=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := index.Match(reserved, true); err != nil {
					b.Fatal(err)
				}
			}
		})
		if n > 10_000 {
			continue
		}
		b.Run(fmt.Sprintf("scan/volumes=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				Best(claims[i%len(claims)], vs, Options{})
			}
		})
	}
}

// BenchmarkIndexPut fills an index with free volumes. bytes/volume is the memory that the index needs for each, beside the object.
func BenchmarkIndexPut(b *testing.B) {
	for _, n := range benchSizes {
		vs := benchVolumes(n)
		b.Run(fmt.Sprintf("volumes=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			fillIndex(b, vs)
		})
		for i, v := range vs {
			pvRef(fmt.Sprint("claim-", i), "u1")(v)
		}
		b.Run(fmt.Sprintf("bound/volumes=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			fillIndex(b, vs)
		})
	}
}

// fillIndex puts b.N volumes, into a new index whenever all are in one.
func fillIndex(b *testing.B, vs []*corev1.PersistentVolume) {
	before := heapInUse()
	b.ResetTimer()
	index := NewIndex()
	for i := range b.N {
		if i%len(vs) == 0 {
			index = NewIndex()
		}
		index.PutVolume(vs[i%len(vs)])
	}
	b.StopTimer()
	b.ReportMetric(float64(heapInUse()-before)/float64(index.Len()), "bytes/volume")
	runtime.KeepAlive(vs)
	runtime.KeepAlive(index)
}

func heapInUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// BenchmarkIndexBind measures the index's part of a bind: a match, the volume put back as bound, then deleted and put as free.
func BenchmarkIndexBind(b *testing.B) {
	for _, n := range benchSizes {
		index := NewIndex()
		for _, v := range benchVolumes(n) {
			index.PutVolume(v)
		}
		claim := pvc("50Gi", pvcClass("fast"))
		b.Run(fmt.Sprintf("volumes=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				v, _, err := index.Match(claim, false)
				if err != nil || v == nil {
					b.Fatal("no match", err)
				}
				bound := *v
				bound.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "default", Name: "data", UID: "u1"}
				index.PutVolume(&bound)
				index.DeleteVolume(bound.Name)
				index.PutVolume(v)
			}
		})
	}
}
