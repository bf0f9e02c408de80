package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/tools/dump"
)

// commandLine matches a line of a document that runs volsim.
var commandLine = regexp.MustCompile(`(?m)^ *(?:\$ )?((?:go run \./cmd/)?volsim (?:run|sweep|diff|graph|explain|predict|version|completion)\b.*)$`)

// fewSeeds replaces the many seeds of a shard in the help of sweep, so that the test is fast.
const fewSeeds = "--seeds=1..160"

// TestCommandLines runs every command line of the documents and of the help. TestServe runs those of serve and clock.
func TestCommandLines(t *testing.T) {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	var lines []string
	documents, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	require.NoError(t, err)
	for _, document := range append(documents, filepath.Join(root, "README.md"), filepath.Join(root, "examples/README.md"),
		filepath.Join(root, "problems/README.md")) {
		data, err := os.ReadFile(document)
		require.NoError(t, err)
		for _, match := range commandLine.FindAllStringSubmatch(string(data), -1) {
			if !strings.Contains(match[1], "volsim run FILE") {
				lines = append(lines, match[1])
			}
		}
	}
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		for _, match := range commandLine.FindAllStringSubmatch(cmd.Example, -1) {
			lines = append(lines, match[1])
		}
		for _, c := range cmd.Commands() {
			visit(c)
		}
	}
	visit(newRoot())
	require.Greater(t, len(lines), 40)
	folder := documentFolder(t, root)
	t.Chdir(folder)
	fakeKubectl(t, "pods\npersistentvolumeclaims", filepath.Join(folder, "dump.yaml"), "")
	ran := map[string]bool{}
	for _, line := range lines {
		line, _, _ = strings.Cut(line, " #")
		if line = strings.TrimSpace(line); ran[line] {
			continue
		}
		ran[line] = true
		t.Run(line, func(t *testing.T) {
			line, _, _ = strings.Cut(line, " | ")
			line, file, _ := strings.Cut(line, " > ")
			line = strings.ReplaceAll(line, "'", "")
			line = strings.ReplaceAll(line, "--seeds 1..100000", fewSeeds)
			if before, found := strings.CutSuffix(line, "*.jsonl"); found {
				files, err := filepath.Glob("*.jsonl")
				require.NoError(t, err)
				line = before + strings.Join(files, " ")
			}
			args := strings.Fields(strings.TrimPrefix(strings.TrimPrefix(line, "go run ./cmd/"), "volsim "))
			status, out, errOut := shell("", args...)
			if file != "" {
				write(t, ".", file, out)
			}
			if args[0] == "diff" && status == exitFailed && errOut == "" {
				return // the runs differ
			}
			require.Zero(t, status, errOut)
		})
	}
}

// TestDocumentedDump: every document and help shows the same command that creates a dump, with Events.
func TestDocumentedDump(t *testing.T) {
	require.Contains(t, dump.Command, ",events ")
	root := "../.."
	files, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	require.NoError(t, err)
	shown := 0
	for _, file := range append(files, filepath.Join(root, "README.md"), filepath.Join(root, "web/src/index.html"), filepath.Join(root, "internal/tools/dump/doc.go")) {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, line := range regexp.MustCompile(`kubectl get [a-z,]*\bpvc?,[^>\n<]*`).FindAllString(string(data), -1) {
			if strings.Contains(line, "-A -o yaml") {
				require.Equal(t, dump.Command, strings.TrimSpace(line), file)
				shown++
			}
		}
	}
	require.GreaterOrEqual(t, shown, 4)
	for _, cmd := range []*cobra.Command{newExplain(), newPredict()} {
		require.Contains(t, cmd.Example, dump.Command)
		require.Contains(t, cmd.Flag("filename").Usage, dump.Command)
	}
}

// documentFolder returns a folder with the files that the documents name, and those of the repository.
func documentFolder(t *testing.T, root string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"cmd", "examples", "problems", "internal", "volsimtest"} {
		require.NoError(t, os.Symlink(filepath.Join(root, name), filepath.Join(dir, name)))
	}
	file := func(name, source string) {
		data, err := os.ReadFile(filepath.Join(root, source))
		require.NoError(t, err)
		write(t, dir, name, string(data))
	}
	const lesson, race, model = "examples/01-static-binding/lesson.txtar", "examples/sweep/race.txtar", "examples/sweep/small.txtar"
	for name, source := range map[string]string{
		"lesson.txtar": lesson, "before.txtar": lesson, "after.txtar": "examples/02-why-pending/lesson.txtar",
		"race.txtar": race, "small.txtar": model,
		"failover.txtar": "examples/12-a-node-dies/lesson.txtar",
	} {
		file(name, source)
	}
	file("policy.yaml", "cmd/volsim/testdata/policies/policy.yaml")
	write(t, dir, "cluster.yaml", runClaim)
	write(t, dir, "model.yaml", runClaim)
	for shard := range 16 {
		name := fmt.Sprintf("%d.jsonl", shard)
		_, out, _ := shell("", "sweep", fewSeeds, "--shard", fmt.Sprintf("%d/16", shard), "-o", "json", filepath.Join(dir, "race.txtar"))
		write(t, dir, name, out)
	}
	for _, name := range []string{"dump.yaml", "monday.yaml", "tuesday.yaml"} {
		write(t, dir, name, documentDump)
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, "app"), 0o755))
	write(t, filepath.Join(dir, "app"), "claim.yaml", runClaim)
	return dir
}

// documentDump has the objects that the documents name.
const documentDump = `apiVersion: v1
kind: Node
metadata: {name: n1}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: shop}
spec: {serviceName: db, selector: {matchLabels: {app: db}}, template: {metadata: {labels: {app: db}}}}
status: {observedGeneration: 1}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast}
provisioner: disk.example.com
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: pv1}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  csi: {driver: disk.example.com, volumeHandle: pv1}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: default}
spec:
  storageClassName: ""
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: shop}
spec:
  storageClassName: fast
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
---
apiVersion: v1
kind: Pod
metadata: {name: db-0, namespace: shop}
spec:
  containers: [{name: db, image: db}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
`
