package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/volsim/volsim/internal/tools/dump"
)

// liveCluster holds the flags of commands that can read a running cluster in place of a dump. They read it with kubectl, which knows how to
// reach it, and write nothing.
type liveCluster struct {
	use                 bool
	context, kubeconfig string
}

func (l *liveCluster) register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&l.use, "cluster", false,
		"read the cluster of kubectl's current context in place of a dump, except for Secrets; the default of kubectl volsim")
	cmd.Flags().StringVar(&l.context, "context", "", "with --cluster: the context of kubectl")
	cmd.Flags().StringVar(&l.kubeconfig, "kubeconfig", "", "with --cluster: the configuration of kubectl")
}

// isPlugin reports whether kubectl runs the command as its plugin: the executable is then called kubectl-volsim.
func isPlugin(executable string) bool {
	return strings.HasPrefix(filepath.Base(executable), "kubectl-")
}

// chosen reports whether a cluster is to be read, and not the files of a dump.
func (l *liveCluster) chosen(files []string) (bool, error) {
	named := l.use || l.context != "" || l.kubeconfig != ""
	if named && len(files) > 0 {
		return false, usageError{errors.New("-f and --cluster exclude each other")}
	}
	return named || len(files) == 0 && isPlugin(os.Args[0]), nil
}

// read returns the objects of the cluster as a dump. What kubectl is not allowed to list is missing; a line on stderr says so.
func (l *liveCluster) read(ctx context.Context, errOut io.Writer) ([]dump.File, error) {
	served, stderr, err := l.kubectl(ctx, "api-resources", "--verbs=list", "-o", "name")
	if err != nil && len(served) == 0 {
		return nil, kubectlError(stderr, err)
	}
	known := strings.Fields(string(served))
	wanted := slices.DeleteFunc(slices.Clone(dump.Resources), func(name string) bool { return !slices.Contains(known, name) })
	if len(wanted) == 0 {
		return nil, errors.New("kubectl api-resources: the cluster serves none of the resources of a dump")
	}
	data, stderr, err := l.kubectl(ctx, "get", strings.Join(wanted, ","), "--all-namespaces", "-o", "json")
	if err != nil && len(data) == 0 {
		return nil, kubectlError(stderr, err)
	}
	whole := err == nil
	if !whole {
		fmt.Fprintf(errOut, "volsim: the cluster was not read completely: %v\n", kubectlError(stderr, err))
	}
	return []dump.File{{Name: "cluster", Data: data, Whole: whole}}, nil
}

// kubectl runs kubectl and returns what it printed.
func (l *liveCluster) kubectl(ctx context.Context, args ...string) (stdout []byte, stderr string, err error) {
	for _, flag := range [][2]string{{"--context", l.context}, {"--kubeconfig", l.kubeconfig}} {
		if flag[1] != "" {
			args = append(args, flag[0], flag[1])
		}
	}
	var out, errOut bytes.Buffer
	c := exec.CommandContext(ctx, "kubectl", args...)
	c.Stdout, c.Stderr = &out, &errOut
	err = c.Run()
	return out.Bytes(), errOut.String(), err
}

// logLine is a line that kubectl logs, such as those of each attempt to reach a server; the error comes after them.
var logLine = regexp.MustCompile(`^[EWI]\d{4} `)

// kubectlError returns what kubectl said, or else why it did not run.
func kubectlError(stderr string, err error) error {
	if errors.Is(err, exec.ErrNotFound) {
		return errors.New("--cluster needs kubectl, which is not in PATH; install it, or read a dump with -f: " + dump.Command)
	}
	lines := slices.DeleteFunc(strings.FieldsFunc(stderr, func(r rune) bool { return r == '\n' }), logLine.MatchString)
	if len(lines) > 0 {
		return fmt.Errorf("kubectl: %s", strings.Join(slices.Compact(lines), "; "))
	}
	return fmt.Errorf("kubectl: %w", err)
}
