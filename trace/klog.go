package trace

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/store"
)

// WriteLog writes the entries in the format of the controllers' own logs at high verbosity, as one stream:
//
//	I0101 00:00:05.000000       1 pv_controller.go] PersistentVolume[pv1]: synchronizing PersistentVolume: volume is unused
//
// The header is klog's, with process 1 and without a line number. The file is the one in which the real component does most of its
// logging; for other actors it is the actor's name. Writes of the user and injected faults are omitted, because real components cannot
// see them; the errors that faults cause are included. The same run writes the same bytes. It returns w's error.
func (t *Trace) WriteLog(w io.Writer) error {
	out := bufio.NewWriter(w)
	for e := range t.Entries() {
		if api.IsUser(e.Actor) || e.Type == Injected {
			continue
		}
		severity, file, text := logLine(e)
		fmt.Fprintf(out, "%c%s       1 %s] %s\n", severity, e.Time.Format(klogTime), file, oneLine(text))
	}
	return out.Flush()
}

// klogTime is the time format of a line's header.
const klogTime = "0102 15:04:05.000000"

// logLine returns an entry's severity (I, W, E or F, as in klog), source file and text.
func logLine(e Entry) (severity byte, file, text string) {
	file = logFile(e.Actor)
	switch e.Type {
	case Decision:
		if e.Object == (api.Ref{}) {
			return 'I', file, e.Text
		}
		return 'I', file, bracketed(e.Object) + ": " + e.Text
	case Write:
		if e.Err != nil {
			return 'I', file, e.Verb + " of " + bracketed(e.Object) + " failed: " + e.Err.Error()
		}
		return 'I', file, e.Verb + " of " + bracketed(e.Object) + ": " + outcome(e)
	case Storage:
		if e.Err != nil {
			return 'E', file, e.Call.Target + ": " + callText(e.Call) + " failed: " + e.Err.Error()
		}
		return 'I', file, e.Call.Target + ": " + callText(e.Call) + " " + progress(e)
	case Emitted:
		gvk := store.GroupVersionKind(e.Object.Kind)
		return 'I', "event.go", fmt.Sprintf("%q object=%q fieldPath=%q kind=%q apiVersion=%q type=%q reason=%q message=%s",
			"Event occurred", e.Object.Key, "", gvk.Kind, gvk.GroupVersion().String(), e.Verb, e.Reason, strconv.Quote(e.Text))
	case KeyFailed:
		return 'E', file, "error syncing " + strconv.Quote(e.Text) + " of " + e.Reason + ", requeuing: " + errorText(e.Err)
	case OperationFailed:
		return 'E', file, "operation " + strconv.Quote(e.Text) + " failed: " + errorText(e.Err)
	case Started:
		return 'I', file, "Starting " + e.Actor
	}
	return 'F', file, e.Actor + " crashed"
}

func bracketed(ref api.Ref) string { return string(ref.Kind) + "[" + ref.Key + "]" }

// logFiles maps components to source files with other names.
var logFiles = map[string]string{
	"persistentvolume-controller": "pv_controller.go",
	"persistentvolume-binder":     "pv_controller.go",
	"attachdetach-controller":     "reconciler.go",
	"persistentvolume-expander":   "expand_controller.go",
	"ephemeral-volume-controller": "controller.go",
	"external-provisioner":        "controller.go",
	"external-attacher":           "controller.go",
	"external-resizer":            "controller.go",
	"kube-scheduler":              "schedule_one.go",
	"kubelet":                     "reconciler.go",
}

// logFile returns the source file of an actor. A suffix after a slash or blank, such as a node or driver, is ignored.
func logFile(actor string) string {
	if i := strings.IndexAny(actor, "/ "); i > 0 {
		actor = actor[:i]
	}
	if file, ok := logFiles[actor]; ok {
		return file
	}
	return strings.ReplaceAll(actor, "-", "_") + ".go"
}
