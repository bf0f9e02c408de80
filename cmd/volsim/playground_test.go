package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

func TestPlaygroundIsNotBuilt(t *testing.T) {
	status, _, errOut := shell("", "playground", "--dir", t.TempDir())
	require.Equal(t, exitFailed, status)
	require.Contains(t, errOut, "contains no playground; build it with: go run -C web .")
}

func TestPlayground(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"index.html": "the page", "volsim.wasm.zst": "the simulator"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	ctx, stop := context.WithCancel(t.Context())
	read, write := io.Pipe()
	cmd := &cobra.Command{}
	cmd.SetOut(write)
	done := make(chan error, 1)
	go func() { done <- servePlayground(ctx, cmd, "127.0.0.1:0", dir) }()
	line := make([]byte, 200)
	n, err := read.Read(line)
	require.NoError(t, err)
	url := strings.TrimSpace(strings.TrimPrefix(string(line[:n]), "open "))
	client := http.Client{Timeout: 10 * time.Second}
	response, err := client.Get(url)
	require.NoError(t, err)
	defer response.Body.Close()
	var page bytes.Buffer
	_, err = page.ReadFrom(response.Body)
	require.NoError(t, err)
	require.Equal(t, "the page", page.String())
	stop()
	require.NoError(t, <-done)
}
