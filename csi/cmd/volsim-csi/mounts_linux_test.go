package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Mounts below the directory are found, and no others.
func TestMountsBelow(t *testing.T) {
	table := strings.Join([]string{
		"22 1 0:20 / / rw - ext4 /dev/root rw",
		"23 22 0:21 / /srv/csi rw - tmpfs none rw",
		"24 23 0:22 / /srv/csi/n1/a rw shared:1 - tmpfs none rw",
		"25 24 0:23 / /srv/csi/n1/a\\040b rw - tmpfs none rw",
		"26 22 0:24 / /srv/csi2/n1 rw - tmpfs none rw",
		"short line",
	}, "\n")
	require.Equal(t, []string{"/srv/csi/n1/a", "/srv/csi/n1/a b"}, mountsBelow(strings.NewReader(table), "/srv/csi"))
}

// leave mounts something below a directory, as a killed driver leaves it. It returns false if this user cannot mount.
func leave(t *testing.T, dir string) bool {
	t.Helper()
	path := filepath.Join(dir, "n1", "left")
	require.NoError(t, os.MkdirAll(path, 0o750))
	return syscall.Mount("none", path, "tmpfs", 0, "") == nil
}

func left(t *testing.T, dir string) []string {
	t.Helper()
	table, err := os.ReadFile(mountTable)
	require.NoError(t, err)
	return mountsBelow(bytes.NewReader(table), dir)
}

// A test first removes the mounts that an earlier one left when it was killed.
func TestMountsOfKilledRun(t *testing.T) {
	dir := t.TempDir()
	mounts := leave(t, dir)
	var stdout, stderr bytes.Buffer
	require.Equal(t, passed, run([]string{"test", "--endpoint", serve(t), "--replay", "life", "--dir", dir}, &stdout, &stderr), "%s", &stderr)
	require.Empty(t, left(t, dir))
	require.Equal(t, mounts, strings.Contains(stderr.String(), "unmounted 1 left below "+dir))
}

// A test that is interrupted prints what it has found, and removes its mounts. A second signal ends it at once.
func TestInterrupted(t *testing.T) {
	if dir := os.Getenv("VOLSIM_CSI_INTERRUPTED"); dir != "" { // in the process that the test starts
		os.Exit(run([]string{"test", "--endpoint", os.Getenv("VOLSIM_CSI_ENDPOINT"), "--dir", dir, "--json", dir + "/report.json",
			"--reset", "touch " + dir + "/begun; sleep " + os.Getenv("VOLSIM_CSI_SLEEP")}, os.Stdout, os.Stderr))
	}
	for _, tt := range []struct {
		sleep   string
		signals int
		out     string
	}{
		{"1", 1, "passed: none\n"},
		{"60", 2, "interrupted; the test ends with its present run, or at once after a second signal\n"},
	} {
		dir := t.TempDir()
		cmd := exec.Command(os.Args[0], "-test.run=^TestInterrupted$")
		cmd.Env = append(os.Environ(), "VOLSIM_CSI_INTERRUPTED="+dir, "VOLSIM_CSI_ENDPOINT="+serve(t), "VOLSIM_CSI_SLEEP="+tt.sleep)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		cmd.WaitDelay = time.Second // the command of --reset keeps the output open
		require.NoError(t, cmd.Start())
		require.Eventually(t, func() bool { _, err := os.Stat(filepath.Join(dir, "begun")); return err == nil }, 30*time.Second, 10*time.Millisecond)
		leave(t, dir)
		for range tt.signals {
			require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
			time.Sleep(100 * time.Millisecond) // signals that arrive together count as one
		}
		_ = cmd.Wait()
		require.Equal(t, failed, cmd.ProcessState.ExitCode(), "%s", &out)
		require.Contains(t, out.String(), tt.out)
		require.Empty(t, left(t, dir))
		require.NoFileExists(t, filepath.Join(dir, "report.json"))
	}
}
