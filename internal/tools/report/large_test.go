package report_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/volsim/volsim/internal/tools/dump"
	"github.com/volsim/volsim/internal/tools/report"
)

// largeDump returns a dump with Available volumes of 1 to 50 GiB and claims that ask for 100 GiB.
func largeDump(volumes, claims int) []byte {
	var b strings.Builder
	b.WriteString(`apiVersion: v1
items:
- apiVersion: storage.k8s.io/v1
  kind: StorageClass
  metadata:
    creationTimestamp: "2026-01-01T00:00:00Z"
    name: manual
    uid: class
  provisioner: kubernetes.io/no-provisioner
  reclaimPolicy: Retain
  volumeBindingMode: Immediate
`)
	for i := range volumes {
		fmt.Fprintf(&b, `- apiVersion: v1
  kind: PersistentVolume
  metadata:
    creationTimestamp: "2026-01-01T00:00:00Z"
    finalizers:
    - kubernetes.io/pv-protection
    name: pv-%d
    resourceVersion: "%d"
    uid: volume-%[1]d
  spec:
    accessModes:
    - ReadWriteOnce
    capacity:
      storage: %dGi
    csi:
      driver: disk.example.com
      volumeHandle: disk-%[1]d
    persistentVolumeReclaimPolicy: Retain
    storageClassName: manual
    volumeMode: Filesystem
  status:
    phase: Available
`, i, i+1, i%50+1)
	}
	for i := range claims {
		fmt.Fprintf(&b, `- apiVersion: v1
  kind: PersistentVolumeClaim
  metadata:
    annotations:
      kubectl.kubernetes.io/last-applied-configuration: |
        {"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"annotations":{},"name":"data-%d","namespace":"shop"},"spec":`+
			`{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"100Gi"}},"storageClassName":"manual"}}
    creationTimestamp: "2026-01-01T00:01:00Z"
    finalizers:
    - kubernetes.io/pvc-protection
    name: data-%[1]d
    namespace: shop
    resourceVersion: "%d"
    uid: claim-%[1]d
  spec:
    accessModes:
    - ReadWriteOnce
    resources:
      requests:
        storage: 100Gi
    storageClassName: manual
    volumeMode: Filesystem
  status:
    phase: Pending
`, i, i+volumes+1)
	}
	b.WriteString("kind: List\n")
	return []byte(b.String())
}

// answer explains objects of a dump as the command does.
func answer(t testing.TB, data []byte, objects ...string) *report.Answer {
	d, err := dump.Read(data)
	require.NoError(t, err)
	asked, err := report.Select("shop", true, false, objects)
	require.NoError(t, err)
	a, err := report.Explain(d, asked, dump.Options{}, 10*time.Minute, 200_000, nil)
	require.NoError(t, err)
	return a
}

// Claims that wait for the same reason are written once, and each of them is in JSON.
func TestEqualReasonsAreWrittenOnce(t *testing.T) {
	a := answer(t, largeDump(3, 9))
	var text strings.Builder
	require.NoError(t, a.WriteText(&text))
	require.Equal(t, 1, strings.Count(text.String(), " is Pending"), text.String())
	require.Contains(t, text.String(), "pvc/shop/data-0 is Pending")
	require.Contains(t, text.String(), "\n  the same   for 8 others: pvc/shop/data-1, pvc/shop/data-2, pvc/shop/data-3 and 5 more\n")

	data, err := json.Marshal(a)
	require.NoError(t, err)
	require.Equal(t, 9, strings.Count(string(data), `"phase":"Pending"`))
	require.Equal(t, 9, strings.Count(string(data), `"name":"pv-2"`))
}

// JSON lists very many candidates once.
func TestManyCandidatesInJSON(t *testing.T) {
	data, err := json.Marshal(answer(t, largeDump(2000, 100)))
	require.NoError(t, err)
	require.Equal(t, 100, strings.Count(string(data), `"phase":"Pending"`))
	require.Equal(t, 1, strings.Count(string(data), `"name":"pv-1999"`))
	require.Equal(t, 99, strings.Count(string(data), `its candidates are those of pvc/shop/data-0`))
}

// BenchmarkLarge explains one claim, or everything, of a dump with 10,000 volumes and 60,000 claims, as kubectl prints it. It includes reading
// the dump.
func BenchmarkLarge(b *testing.B) {
	text := largeDump(10_000, 60_000)
	for format, data := range map[string][]byte{"yaml": text, "json": indented(b, text)} {
		for _, objects := range [][]string{{"pvc", "data-5"}, nil} {
			name := fmt.Sprintf("%s/named=%t", format, objects != nil)
			b.Run(name, func(b *testing.B) {
				begin := processorTime(b)
				for b.Loop() {
					var text strings.Builder
					if err := answer(b, data, objects...).WriteText(&text); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric((processorTime(b)-begin).Seconds()/float64(b.N), "cpu-s/op")
			})
		}
	}
}

// processorTime returns the time that the process has used on all cores, which does not depend on what else runs.
func processorTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// indented converts a dump to JSON as kubectl get -o json prints it.
func indented(t testing.TB, data []byte) []byte {
	data, err := yaml.YAMLToJSON(data)
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, json.Indent(&b, data, "", "    "))
	return b.Bytes()
}
