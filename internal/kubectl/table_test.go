package kubectl_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/kubectl"
	"github.com/volsim/volsim/store"
)

func TestGet(t *testing.T) {
	born := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	pv := fake.Volume("pv1", "5Gi", fake.Modes("RWX", "RWO"), fake.ForClaim("test/data"), fake.Phase("Bound"))
	claim := fake.Claim("test/data", "5Gi", fake.InClass("fast"))
	class := fake.Class("fast", "disk.example.com", fake.Expandable())
	leaving := fake.Volume("pv2", "1Gi")
	leaving.DeletionTimestamp = &born
	node := fake.Node("n1")
	for _, obj := range []store.Object{pv, claim, class, leaving, node} {
		obj.SetCreationTimestamp(born)
	}
	now := born.Add(90 * time.Second)
	for _, row := range []struct {
		name  string
		kinds []store.Kind
		objs  []store.Object
		want  string
	}{
		{"nothing", []store.Kind{store.PersistentVolume}, nil, "No resources found\n"},
		{"one kind", []store.Kind{store.PersistentVolume}, []store.Object{pv, leaving}, `
NAME   CAPACITY   ACCESS MODES   RECLAIM POLICY   STATUS        CLAIM       STORAGECLASS   VOLUMEATTRIBUTESCLASS   REASON   AGE
pv1    5Gi        RWO,RWX        Retain           Bound         test/data                  <unset>                          90s
pv2    1Gi        RWO            Retain           Terminating                              <unset>                          90s
`},
		{"two kinds", []store.Kind{store.StorageClass, store.PersistentVolumeClaim}, []store.Object{claim, class}, `
NAME                                   PROVISIONER        RECLAIMPOLICY   VOLUMEBINDINGMODE   ALLOWVOLUMEEXPANSION   AGE
storageclass.storage.k8s.io/fast       disk.example.com   Delete          Immediate           true                   90s

NAMESPACE   NAME                         STATUS    VOLUME   CAPACITY   ACCESS MODES   STORAGECLASS   VOLUMEATTRIBUTESCLASS   AGE
test        persistentvolumeclaim/data                                                fast           <unset>                 90s
`},
		{"a kind without columns of its own", []store.Kind{store.Node}, []store.Object{node}, `
NAME   AGE
n1     90s
`},
	} {
		t.Run(row.name, func(t *testing.T) {
			var out strings.Builder
			require.NoError(t, kubectl.Get(&out, now, row.kinds, row.objs))
			got := out.String()
			for _, line := range strings.Split(strings.TrimSpace(row.want), "\n") {
				require.Contains(t, squeeze(got), squeeze(line))
			}
			require.Equal(t, strings.Count(strings.TrimPrefix(row.want, "\n"), "\n"), strings.Count(got, "\n"), got)
		})
	}
}

// squeeze makes every run of blanks one blank.
func squeeze(s string) string {
	var lines []string
	for _, line := range strings.Split(s, "\n") {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(lines, "\n")
}
