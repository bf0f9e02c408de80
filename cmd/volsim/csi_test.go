package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// installProgram makes a shell script the program volsim-csi in PATH.
func installProgram(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, csiProgram), []byte("#!/bin/sh\n"+script+"\n"), 0o755))
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
}

func TestCSI(t *testing.T) {
	t.Run("the program gets the arguments and decides the exit status", func(t *testing.T) {
		installProgram(t, `echo "$@"; cat; echo warning >&2; exit 1`)
		status, out, errOut := shell("input", "csi", "test", "--endpoint", "unix:///run/csi.sock", "--stories=life,move", "--seeds", "3", "--help")
		require.Equal(t, exitFailed, status)
		require.Equal(t, "test --endpoint unix:///run/csi.sock --stories=life,move --seeds 3 --help\ninput", out)
		require.Equal(t, "warning\n", errOut)
	})
	t.Run("the program succeeds", func(t *testing.T) {
		installProgram(t, "exit 0")
		status, _, errOut := shell("", "csi", "stories")
		require.Zero(t, status)
		require.Empty(t, errOut)
	})
	t.Run("the program is killed", func(t *testing.T) {
		installProgram(t, "kill -KILL $$")
		status, _, errOut := shell("", "csi", "test")
		require.Equal(t, exitUsage, status)
		require.Contains(t, errOut, "signal: killed")
	})
	t.Run("SIGINT reaches the program", func(t *testing.T) {
		installProgram(t, `trap 'echo cleaned; exit 2' INT; kill -INT $PPID; while :; do sleep 0.01; done`)
		status, out, _ := shell("", "csi", "test")
		require.Equal(t, exitUsage, status)
		require.Equal(t, "cleaned\n", out)
	})
	t.Run("no program", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		status, out, errOut := shell("", "csi", "test", "--endpoint", "unix:///run/csi.sock")
		require.Equal(t, exitUsage, status, "1 would mean that the driver is wrong")
		require.Empty(t, out)
		require.Equal(t, "volsim: find volsim-csi in PATH: executable file not found in $PATH; install it: "+installCSI+"\n", errOut)
	})
	t.Run("help needs no program", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		for _, args := range [][]string{{"csi"}, {"csi", "--help"}, {"csi", "-h"}, {"csi", "help"}, {"help", "csi"}} {
			status, out, errOut := shell("", args...)
			require.Zero(t, status, "%s: %s", args, errOut)
			require.Contains(t, out, installCSI)
			require.Contains(t, out, "volsim csi test --endpoint ")
		}
	})
	t.Run("docs", func(t *testing.T) {
		for _, name := range []string{"../../docs/csi-drivers.md", "../../docs/csi-quick-start.md"} {
			page, err := os.ReadFile(name)
			require.NoError(t, err)
			require.True(t, strings.Contains(string(page), "\n"+installCSI+"\n"), "%s lacks %q", name, installCSI)
		}
	})
}
