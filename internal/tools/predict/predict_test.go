package predict_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/tools/dump"
	"github.com/volsim/volsim/internal/tools/predict"
)

const dumps = "../../../cmd/volsim/testdata"

func read(t testing.TB, name string) *dump.Dump {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dumps, name))
	require.NoError(t, err)
	d, err := dump.Read(data)
	require.NoError(t, err)
	return d
}

func parse(t testing.TB, text string) []predict.Step {
	t.Helper()
	steps, err := predict.Parse(strings.Fields(text), os.ReadFile)
	require.NoError(t, err)
	return steps
}

const (
	disk0   = "pvc-ff924e10-1316-4f21-9f63-008564ace015" // of claim shop/data-db-0, policy Delete
	disk1   = "pvc-37f2aaa3-ade1-4a60-9481-45c821c3301a" // of claim shop/data-db-1, policy Retain
	wiki    = "pvc-3b5e299e-24c7-4937-9b36-9d61fcdf4f8a"
	gone    = "pvc-d5a7b088-1074-4753-93b0-7580b20c5eda"
	notes   = "pvc-3def18d1-c547-4b9e-9366-57c50adb8e32"
	a, b    = "ip-10-0-1-20", "ip-10-0-1-21"
	oldCart = "pod/shop/cart-7c6d9f5b8-9k2lp"
	newCart = "pod/shop/cart-7c6d9f5b8-m4n7q"
)

// TestPredict: what becomes of the data, and of the pods.
func TestPredict(t *testing.T) {
	for _, test := range []struct {
		name, dump, steps string
		lost              []string // volumes, those that are lost anyway with a tilde
		threatened        []string
		prevented         []string
		happens           []string // among others: when, what
		never             string
		stuck             []string
	}{
		{name: "nothing happens to a cluster that runs", dump: "running.yaml", steps: "nothing"},
		{name: "a claim in use stays, and its data is in danger (PROT-026)", dump: "running.yaml", steps: "delete pvc/shop/data-db-0",
			threatened: []string{disk0}, happens: []string{"0s pvc/shop/data-db-0 is being deleted"}, never: "is deleted",
			stuck: []string{"pvc/shop/data-db-0"}},
		{name: "a claim goes with its pod, the data with the claim (RECL-004, XPROV-053)", dump: "running.yaml",
			steps: "delete pvc/shop/data-db-0 pod/shop/db-0",
			lost:  []string{disk0},
			happens: []string{"pod/shop/db-0 has stopped", "pvc/shop/data-db-0 is deleted",
				"pvc/shop/data-db-0 is created again by its StatefulSet, and is empty", "pod/shop/db-0 is Running"}},
		{name: "a volume with policy Retain keeps its data (RECL-002)", dump: "running.yaml", steps: "delete pvc/shop/data-db-1 pod/shop/db-1",
			happens: []string{"pv/" + disk1 + " is Released"}, never: "data deleted"},
		{name: "deleting a Bound volume does nothing yet (PROT-011)", dump: "running.yaml", steps: "delete pv/archive",
			happens: []string{"0s pv/archive is being deleted"}, never: "is deleted", stuck: []string{"pv/archive"}},
		{name: "a drained node's pod moves with its volume", dump: "running.yaml", steps: "drain node/" + a,
			happens: []string{"pv/" + disk0 + " is detached from node " + a, "pv/" + disk0 + " is attached to node " + b,
				"pod/shop/db-0 is Running"}},
		{name: "a pod goes on without its ConfigMap, but mounts fail (MNT-316)", dump: "configured.yaml", steps: "delete cm/app -n shop",
			happens: []string{`pod/shop/web FailedMount: MountVolume.SetUp failed for volume "config" : configmap "app" not found`}, never: "creds"},
		{name: "a pod goes on without the ConfigMap of its environment, but cannot start again (MNT-378)", dump: "configured.yaml",
			steps:   "delete cm/settings -n shop",
			happens: []string{`0s pod/shop/web runs on, but cannot start again: the environment of container main needs configmap/shop/settings`},
			never:   "FailedMount"},
		{name: "a key that a volume names is removed (MNT-316)", dump: "configured.yaml", steps: `patch cm app -n shop -p {"data":null}`,
			happens: []string{`configmap references non-existent config key: mode`}},
		{name: "a delete waits until the objects are gone", dump: "running.yaml", steps: "delete pod db-0 -n shop then cordon " + a,
			happens: []string{"0s pod/shop/db-0 is being deleted", "800ms node/" + a + " is cordoned"}},
		{name: "a delete does not wait with --wait=false", dump: "running.yaml", steps: "delete pod db-0 -n shop --wait=false then cordon " + a,
			happens: []string{"0s pod/shop/db-0 is being deleted", "500ms node/" + a + " is cordoned"}},
		{name: "a delete that does not end is interrupted", dump: "running.yaml", steps: "delete pv archive then cordon " + a,
			happens: []string{"0s pv/archive is being deleted", "30m0.5s node/" + a + " is cordoned"}, stuck: []string{"pv/archive"}},
		{name: "all pods of a label", dump: "running.yaml", steps: "delete pod -l app=db -n shop", happens: []string{"0s pod/shop/db-0 is being deleted"}},
		{name: "a JSON patch", dump: "running.yaml",
			steps:   `patch pv archive --type=json -p [{"op":"replace","path":"/spec/persistentVolumeReclaimPolicy","value":"Delete"}]`,
			happens: []string{"0s pv/archive has reclaim policy Delete instead of Retain"}},
		{name: "a namespace is created", dump: "running.yaml", steps: "create namespace other", happens: []string{"0s namespace/other is created"}},
		{name: "a cordoned node keeps its pods", dump: "running.yaml", steps: "cordon " + a + " then uncordon " + a,
			happens: []string{"0s node/" + a + " is cordoned", "500ms node/" + a + " is uncordoned"}, never: "pod/"},
		{name: "a lost node's pod hangs (ATT-195)", dump: "running.yaml", steps: "lose " + b,
			happens: []string{"0s pod/shop/db-1 stops: its node is powered off", "55s node/" + b + " becomes NotReady",
				"5m55.1s pod/shop/db-1 is being deleted"}, never: "pod/shop/db-1 is deleted", stuck: []string{"pod/shop/db-1"}},
		{name: "the out-of-service taint frees it (ATT-196)", dump: "running.yaml",
			steps:   "lose " + b + " then wait 10m then out-of-service " + b,
			happens: []string{"10m20s pod/shop/db-1 is deleted", "pv/" + disk1 + " is attached to node " + a, "pod/shop/db-1 is Running"}},
		{name: "a node that comes back in time keeps its pods", dump: "running.yaml", steps: "cut " + b + " then wait 2m then recover " + b,
			happens: []string{"55s node/" + b + " becomes NotReady", "node/" + b + " becomes Ready"}, never: "is being deleted"},
		{name: "pods whose Node is deleted are collected (NODE-072, NODE-074)", dump: "running.yaml", steps: "delete node/" + b,
			happens: []string{"pod/shop/db-1 is deleted", "pv/" + disk1 + " is attached to node " + a, "pod/shop/db-1 is Running"}},
		{name: "its volume is detached by force six minutes after its pod is gone (ATT-064)", dump: "../../../internal/tools/predict/testdata/cases/csi-grow.yaml", steps: "delete node n1",
			happens: []string{"1m pod/default/web-5996f57478-dm4zx is deleted",
				"7m0.2s pv/pvc-d5bb7493-692a-485e-a0b9-2ae6faea0119 is detached from node n1"},
			stuck: []string{"pod/default/web-5996f57478-wr7dc"}},
		{name: "a reboot stops containers", dump: "running.yaml", steps: "reboot " + b,
			happens: []string{"0s pod/shop/db-1 stops, and starts again after the reboot"}},
		{name: "a pod deleted by force leaves its volume to the six minutes (ATT-064)", dump: "dead-node.yaml",
			steps:   "delete --force " + oldCart,
			happens: []string{"0s " + oldCart + " is deleted", "6m0.2s pv/" + wiki + " is detached from node " + b, newCart + " is Running"}},
		{name: "a node out of service releases its volumes immediately", dump: "dead-node.yaml", steps: "out-of-service " + b,
			happens: []string{"20s " + oldCart + " is deleted", newCart + " is Running"}},
		{name: "the last pod takes the data along", dump: "deleted-in-use.yaml", steps: "delete pod/shop/wiki-0",
			lost: []string{wiki}, happens: []string{"pv/" + wiki + " is deleted"}, stuck: []string{"pod/shop/wiki-0"}},
		{name: "what is Released is deleted anyway", dump: "released.yaml", steps: "nothing", lost: []string{"~old-nfs", "~" + gone}},
		{name: "a change of policy saves the data", dump: "released.yaml",
			steps: "patch pv/" + gone + ` {"spec":{"persistentVolumeReclaimPolicy":"Retain"}}`,
			lost:  []string{"~old-nfs"}, prevented: []string{"pv/" + gone}, stuck: []string{"pv/" + gone}},
		{name: "volumes that are not of CSI", dump: "k3s.yaml", steps: "delete pod/home/notes-6b7f9d8c5-abcde pvc/home/notes",
			lost:    []string{notes},
			happens: []string{"pod/home/notes-6b7f9d8c5-new1 is created"}, stuck: []string{"pod/home/notes-6b7f9d8c5-new1"}},
		{name: "a manifest is applied", dump: "waiting-claims.yaml", steps: "apply testdata/gp33.yaml",
			happens: []string{"0s pvc/shop/typo is Bound", "pod/shop/search-0 is Running"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, err := predict.Predict(read(t, test.dump), parse(t, test.steps), predict.Options{})
			require.NoError(t, err)
			var lost, threatened, prevented, lines, stuck []string
			for _, loss := range p.Lost {
				mark := ""
				if loss.Anyway {
					mark = "~"
				}
				lost = append(lost, mark+loss.Volume)
			}
			for _, loss := range p.Threatened {
				if !loss.Anyway {
					threatened = append(threatened, loss.Volume)
				}
			}
			for _, o := range p.Prevented {
				prevented = append(prevented, o.Object)
			}
			for _, o := range p.Outcomes {
				lines = append(lines, o.After.String()+" "+o.Object+" "+o.What)
			}
			for _, x := range p.Stuck {
				stuck = append(stuck, x.Object)
			}
			all := strings.Join(lines, "\n")
			require.Equal(t, test.lost, lost, all)
			require.Equal(t, test.threatened, threatened, all)
			require.Equal(t, test.prevented, prevented, all)
			require.Equal(t, test.stuck, stuck, all)
			for _, want := range test.happens {
				require.Contains(t, all, want)
			}
			if test.never != "" {
				require.NotContains(t, all, test.never)
			}
			if test.happens == nil && test.lost == nil {
				require.Empty(t, all)
			}
		})
	}
}

// TestPredictIsDeterministic predicts the same change twice.
func TestPredictIsDeterministic(t *testing.T) {
	d := read(t, "running.yaml")
	steps := "lose " + b + " then wait 10m then out-of-service " + b
	first, err := predict.Predict(d, parse(t, steps), predict.Options{})
	require.NoError(t, err)
	second, err := predict.Predict(d, parse(t, steps), predict.Options{})
	require.NoError(t, err)
	require.Equal(t, first.Objects(), second.Objects())
	first.Objects, second.Objects = nil, nil // functions are never equal
	require.Equal(t, first, second)
}

func TestNoReplacements(t *testing.T) {
	p, err := predict.Predict(read(t, "running.yaml"), parse(t, "delete pod/shop/db-0"),
		predict.Options{NoReplacements: true, For: time.Minute})
	require.NoError(t, err)
	for _, o := range p.Outcomes {
		require.NotEqual(t, "is created", o.What)
	}
}

func TestStepsThatMakeNoSense(t *testing.T) {
	for text, want := range map[string]string{
		"":                   "missing STEP argument",
		"conquer node/n1":    `unknown step "conquer": want one of: delete [--force]`,
		"delete":             `invalid step "delete": missing object: want KIND/NAME or -f FILE; usage: delete KIND NAME...`,
		"delete colour red":  "colour",
		"drain":              `invalid step "drain": want one or more nodes, or -l SELECTOR; usage: drain NODE`,
		"drain pod/p":        `"pod/p" is not a node`,
		"wait":               "want one duration",
		"wait long":          "invalid duration",
		"wait -1s":           "want a duration from 0 to 24h0m0s",
		"apply":              "missing -f FILE",
		"apply none.yaml":    "none.yaml",
		"patch pv/archive {": "read patch: yaml",
		"patch pv/a":         "want one of -p and --patch-file",
		"nothing at all":     "want no arguments",
		"nothing then":       `missing STEP after "then"`,
		"then nothing":       `missing STEP before "then"`,
	} {
		_, err := predict.Parse(strings.Fields(text), os.ReadFile)
		require.ErrorContains(t, err, want, text)
	}
	for text, want := range map[string]string{
		"delete pvc/shop/none": `delete pvc/shop/none: delete PersistentVolumeClaim/shop/none: persistentvolumeclaims "none" not found`,
		"drain nowhere":        `drain nowhere: nodes "nowhere" not found`,
	} {
		_, err := predict.Predict(read(t, "running.yaml"), parse(t, text), predict.Options{})
		require.ErrorContains(t, err, want)
	}
	_, err := predict.Predict(read(t, "running.yaml"), nil, predict.Options{For: -1})
	require.ErrorContains(t, err, "invalid duration -1ns: want 0 to 24h0m0s")
}
