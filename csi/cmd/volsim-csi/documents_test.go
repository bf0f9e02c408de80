package main

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/volsim/volsim/csi/internal/testdriver"
)

var (
	// documentedLine matches a command line of a document, also one that goes on after a backslash.
	documentedLine = regexp.MustCompile(`(?m)^volsim(?: csi|-csi) ((?:.*\\\n)*.*)$`)
	socket         = regexp.MustCompile(`unix:///\S+/(\w+)\.sock`)
)

// TestDocumentedLines runs each command line of the documents against a driver behind a socket: on each of two nodes where the line names
// them. The sockets are replaced, and so is systemctl. The story is one, with one order, unless the line says which.
func TestDocumentedLines(t *testing.T) {
	documents, err := filepath.Glob("../../../docs/*.md")
	require.NoError(t, err)
	driver := testdriver.New()
	sockets := map[string]string{"csi": "n1", "n1": "n1", "n2": "n2"}
	for name, node := range sockets {
		path := filepath.Join(t.TempDir(), name+".sock")
		listener, err := net.Listen("unix", path)
		require.NoError(t, err)
		server := grpc.NewServer()
		driver.Register(server, node)
		go func() { _ = server.Serve(listener) }()
		t.Cleanup(server.Stop)
		sockets[name] = "unix://" + path
	}
	dir := t.TempDir()
	shards := filepath.Join(dir, "shards.txt")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "csidriver.yaml"), []byte("kind: CSIDriver\n"), 0o600))
	var stdout, stderr bytes.Buffer
	require.Equal(t, passed, run([]string{"test", "--endpoint", sockets["csi"], "--stories", "life", "--seeds", "1", "--pairs", "0", "--shard", "0/1", "--json", shards},
		&stdout, &stderr), "%s", &stderr)
	ran := 0
	for _, document := range documents {
		page, err := os.ReadFile(document)
		require.NoError(t, err)
		for _, match := range documentedLine.FindAllStringSubmatch(string(page), -1) {
			ran++
			line := strings.ReplaceAll(match[1], "\\\n", " ")
			t.Run(line, func(t *testing.T) {
				t.Chdir(dir)
				line = socket.ReplaceAllStringFunc(line, func(url string) string { return sockets[socket.FindStringSubmatch(url)[1]] })
				line = strings.ReplaceAll(line, "'systemctl restart disk-csi@$NODE'", "true")
				args := strings.Fields(line)
				if args[0] == "test" {
					args = append(args, "--seeds", "1", "--pairs", "0", "--dir", t.TempDir())
					if !strings.Contains(line, "--stories") {
						args = append(args, "--stories", "life,move")
					}
				}
				var stdout, stderr bytes.Buffer
				require.Equal(t, passed, run(args, &stdout, &stderr), "%s\n%s", &stdout, &stderr)
				if strings.Contains(line, "--node n2=") {
					require.Contains(t, stdout.String(), "passed: life, move")
				}
				if strings.Contains(line, "--junit report.xml") {
					require.FileExists(t, "report.xml")
				}
			})
		}
	}
	require.GreaterOrEqual(t, ran, 4)
}
