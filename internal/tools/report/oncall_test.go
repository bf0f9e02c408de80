package report_test

import (
	"cmp"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/tools/dump"
	"github.com/volsim/volsim/internal/tools/predict"
	"github.com/volsim/volsim/internal/tools/report"
)

var noon = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

func onCall(t *testing.T, name string) *dump.Dump {
	t.Helper()
	data, err := os.ReadFile("testdata/oncall/" + name + ".json")
	require.NoError(t, err)
	d, err := dump.Read(data)
	require.NoError(t, err)
	return d
}

// TestExplainOnCall: dumps of clusters in trouble, and what the answer must and must not say.
func TestExplainOnCall(t *testing.T) {
	for _, tt := range []struct {
		rule, dump string
		says       []string
		never      string
	}{
		{"MNT-380", "crashloop", []string{"its volumes are mounted, but container c of pod default/web-x crashes (17 restarts)", "this is not about storage"},
			"desired state"},
		{"ATT-064", "node-removed", []string{"forced detach from node gone", "pv/pvc-1         is detached from node gone", "pv/pvc-1         is attached to node n2"}, "no change"},
		{"STS-023", "evicted-replica", []string{"pod db-0 has ended", "statefulset-controller deletes it and creates it again"}, "not in the dump"},
		{"MNT-380", "imagepull", []string{"container c of pod default/web-x does not start (ImagePullBackOff)",
			"1. correct what keeps pod default/web-x from starting: Back-off", "within 10m: no change"}, "automatically"},
		{"XPROV-026", "exhausted", []string{"driver disk.example.com has refused claim default/a 88 times since 09:12 with ResourceExhausted",
			"driver disk.example.com has no room for claim default/a (ResourceExhausted), and so for no other volume"}, "has not answered"},
		{"XPROV-026", "limit", []string{"create the claim again, with at most 1Ti: driver hostpath.csi.k8s.io refuses more",
			"has refused a size of claim default/big with OutOfRange; assumed to accept at most 1Ti"}, ""},
		{"EXP-025", "resize-limit", []string{"lower the request to a size that the storage can provide, at most 1Ti and above 10Gi"}, ""},
		{"BIND-016", "ns-terminating", []string{
			"1. set the reclaim policy of volume pv1 to Retain, then remove finalizer foo.example.com/cleanup of pod old/app (skips a cleanup",
			`kubectl patch pod app --type=merge -p '{"metadata":{"finalizers":null}}' -n old`, "then pvc/old/d is deleted"}, ""},
		{"QUO-020", "quota", []string{"statefulset.apps/default/db is 2/3 ready", "pod db-2 does not exist", "exceeded quota: q", "raise the ResourceQuota"},
			"desired state"},
		{"SCHED-112", "capacity", []string{"CSIStorageCapacity 5Gi, needs 50Gi (SCHED-112)", "free capacity in the storage of a node"}, "free up a node"},
		{"RECL-065", "recycle-failed", []string{"the recycler pod of volume nfs1 has failed 30 times since 09:12", "only when you act"}, "automatically"},
		{"MNT-387", "unmount-stuck", []string{"the kubelet of node n1 has not ended pod default/a, which had to stop until 10:00",
			"restart kubelet and container runtime of node n1", "within 10m: no change"}, "automatically"},
		{"MNT-197", "nfs-down", []string{"has failed to mount volume nfs1 of pod default/a 30 times since 09:12", "Connection timed out", "within 10m: no change"},
			"automatically"},
		{"XPROV-026", "selected-node-gone", []string{"kubectl annotate pvc data-db-0 volume.kubernetes.io/selected-node- -n shop", "only when you act"}, "automatically"},
		{"VAC-013", "modify-refused", []string{"InvalidArgument: Could not modify volume: UnknownVolumeType io3", `1. go back to VolumeAttributesClass "gp3v"`}, ""},
		{"MNT-380", "subpath", []string{"read the log of the kubelet of node ip-1", "the subPath of container app"}, "not about storage"},
		{"SNAP-030", "snapshot-class-missing", []string{"1. create the claim again, without VolumeSnapshot"}, "ready for the first pod"},
		{"ATT-142", "attach-notfound", []string{"look in the storage system for volume vol-05c608f8", "restore a backup"}, "automatically"},
		{"MNT-316", "secret-missing", []string{`secret "creds" not found`, "create Secret default/creds", "within 10m: no change"}, "automatically"},
		{"XPROV-053", "delete-refused", []string{"has refused to delete volume pv1 200 times since 09:12 with PermissionDenied", "only when you act"},
			"automatically"},
		{"NODE-063", "node-lost", []string{"pod/shop/app-1-x is Running", "node n1 is NotReady since 2026-03-01T11:57:00Z",
			"automatically at 2026-03-01T12:02:05Z", "2m5s   pod/shop/app-1-x  is being deleted"}, "desired state"},
		{"RECL-066", "unready", []string{"pod/shop/app is Running", "it runs on node n1, but is not ready since 2026-03-01T11:57:00Z",
			"pod/shop/evicted is Failed", "The node was low on resource: memory", "only when you act"}, "automatically"},
		{"SCHED-020", "custom-scheduler", []string{`only scheduler "volcano" may place it`, "within 10m: no change"}, "automatically"},
		{"SIM", "events-only", []string{"has no claims, pods, volumes, attachments and workloads", "The newest warning is about "}, "desired state"},
		{"ATT-084", "one-namespace", []string{"volume pvc-9 of pod shop/b has not been attached to node n7: failed 5 times since 10:00", "code = Internal"}, "pod/shop/b is Running after 300ms"},
		{"MNT-333", "fsgroup-denied", []string{"applyFSGroup failed", "or set fsGroupPolicy: None in the CSIDriver", "within 10m: no change"}, "automatically"},
		{"MNT-047", "plugin-gone", []string{"the kubelet has no plugin for its kind: spec.rbd: deprecated in v1.28, non-functional in v1.31+"}, "automatically"},
		{"BIND-060e", "volume-of-other", []string{"leave the claimRef of volume pv1: claim other/d has the volume"}, "remove the claimRef"},
	} {
		t.Run(tt.dump, func(t *testing.T) {
			answer, err := report.Explain(onCall(t, tt.dump), report.Selection{}, dump.Options{Now: noon}, 10*time.Minute, 0, nil)
			require.NoError(t, err)
			var text strings.Builder
			require.NoError(t, answer.WriteText(&text))
			for _, says := range tt.says {
				require.Contains(t, text.String(), says)
			}
			if tt.never != "" {
				require.NotContains(t, text.String(), tt.never)
			}
		})
	}
}

// TestPredictOnCall: what a change of these clusters does.
func TestPredictOnCall(t *testing.T) {
	for _, tt := range []struct {
		rule, dump, steps string
		says              []string
		never             string
	}{
		{"MNT-380", "crashloop", "delete pod web-x", []string{"crashes (17 restarts); assumed to continue", "pod/default/web-x is being deleted"}, ""},
		{"MNT-380", "imagepull", "delete pod web-x", []string{"container c of pod default/web-x does not start (ImagePullBackOff); assumed to continue",
			"Stuck after 3m"}, "is Running"},
		{"EXP-025", "limit", `patch pvc ok -p {"spec":{"resources":{"requests":{"storage":"3Ti"}}}}`,
			[]string{"VolumeResizeFailed", "code = OutOfRange", "assumed to accept at most 1Ti"}, "pv/pv1           grows"},
		{"EXP-021", "limit", `patch pvc ok -p {"spec":{"resources":{"requests":{"storage":"500Gi"}}}}`, []string{"grows from 10Gi to 500Gi",
			"nothing shows whether it accepts volumes of 500Gi (its largest has 10Gi)"}, "VolumeResizeFailed"},
		{"MNT-387", "unmount-stuck", "drain n1 --force --timeout=20s", []string{"Refused: drain n1 --force --timeout=20s: the drain of node n1 does not end"}, "is deleted"},
		{"XPROV-054", "pv-stuck-detach", `patch pv pv1 --type=merge -p {"metadata":{"finalizers":null}}`,
			[]string{"pv/pv1  is deleted", "nothing deletes the storage: volume h-pv1 in disk.example.com stays"}, ""},
		{"SIM", "hpa", "scale rs web --replicas=3", []string{"is scaled from 1 to 3", "15s   replicaset.apps/default/web  is scaled from 3 to 1",
			"default/web asks for 1 replicas, within 1 to 5; assumed to work"}, ""},
		{"SIM", "hpa", "scale rs web --replicas=0", []string{"is scaled from 1 to 0"}, "from 0"},
		{"NODE-063", "node-lost", "nothing", []string{"2m5s ~ pod/shop/app-1-x      is being deleted"}, ""},
		{"RECL-065", "recycle-failed", "nothing", []string{"the recycler pod of volume nfs1 has failed"}, "Available"},
	} {
		t.Run(tt.dump+" "+tt.steps, func(t *testing.T) {
			steps, err := predict.Parse(strings.Fields(tt.steps), os.ReadFile)
			require.NoError(t, err)
			p, err := predict.Predict(onCall(t, tt.dump), steps, predict.Options{Options: dump.Options{Now: noon}, For: 3 * time.Minute})
			require.NoError(t, err)
			var text strings.Builder
			require.NoError(t, report.WritePrediction(&text, p))
			for _, says := range tt.says {
				require.Contains(t, text.String(), says)
			}
			if tt.never != "" {
				require.NotContains(t, text.String(), tt.never)
			}
		})
	}
}

// TestIgnoredWorkload: a workload that is ignored is in the dump, and the error says what is not.
func TestIgnoredWorkload(t *testing.T) {
	d, err := dump.Read([]byte(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop","uid":"u"},"spec":{"replicas":1,
"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"c","image":"x"}]}}},
"status":{"observedGeneration":1}}
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"shop","uid":"p"},"spec":{"containers":[{"name":"c","image":"x"}]}}`))
	require.NoError(t, err)
	asked, err := report.Select("shop", true, false, []string{"deploy/web"})
	require.NoError(t, err)
	_, err = report.Explain(d, asked, dump.Options{Now: noon}, 0, 0, nil)
	require.ErrorContains(t, err, "deployment.apps/shop/web cannot be explained: the dump lacks its status, or objects that it owns")
}

// TestSelectOnCall: objects as kubectl names them.
func TestSelectOnCall(t *testing.T) {
	for _, tt := range []struct {
		name, namespace string
		dump            string // "" is quota
		args            []string
		says, fails     string
		never           string
	}{
		{name: "kinds with commas", namespace: "default", args: []string{"pods,sts,rs"}, says: "db is 2/3 ready"},
		{name: "a kind of which all is well", namespace: "default", args: []string{"pods"}, says: "All pods in namespace default are in their desired state.\n"},
		{name: "a kind that the dump lacks", namespace: "default", args: []string{"ds"}, says: "The dump has no DaemonSets.\n", never: "desired"},
		{name: "a kind that the dump lacks, among others", namespace: "default", args: []string{"pods,ds"}, says: "All pods in namespace default are", never: "DaemonSets are"},
		{name: "objects in another namespace", dump: "unready", namespace: "default", args: []string{"pods"},
			says: "No pods in namespace default; 2 in namespace shop: add -n shop or -A.\n", never: "desired"},
		{name: "a workload that lacks pods", namespace: "default", args: []string{"sts/db"}, says: "db is 2/3 ready"},
		{name: "workloads of a kind", namespace: "default", args: []string{"sts"}, says: "db is 2/3 ready"},
		{name: "an unknown kind among others", namespace: "default", args: []string{"pvc,colour"}, fails: `unknown kind "colour"`},
		{name: "a kind without explanations", namespace: "default", args: []string{"nodes"}, fails: "explain Node: want a claim (pvc)"},
		{name: "a namespace that does not exist", namespace: "defalt", fails: `the dump has no namespace "defalt"; did you mean "default"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			asked, err := report.Select(tt.namespace, true, false, tt.args)
			var answer *report.Answer
			if err == nil {
				answer, err = report.Explain(onCall(t, cmp.Or(tt.dump, "quota")), asked, dump.Options{Now: noon}, 0, 0, nil)
			}
			if tt.fails != "" {
				require.ErrorContains(t, err, tt.fails)
				return
			}
			require.NoError(t, err)
			var text strings.Builder
			require.NoError(t, answer.WriteText(&text))
			require.Contains(t, text.String(), tt.says)
			if tt.never != "" {
				require.NotContains(t, text.String(), tt.never)
			}
		})
	}
}
