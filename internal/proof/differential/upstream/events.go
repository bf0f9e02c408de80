package upstream

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/objkinds"
	"github.com/volsim/volsim/trace"
)

// Quiet turns off logging of the Kubernetes libraries in this process.
func Quiet() {
	klog.SetLogger(discard)
	utilruntime.ErrorHandlers = nil
}

// discard is a logger that drops everything.
var discard = logr.Discard()

// eventLogger returns a logger for a component that records the Events it emits, as client-go's broadcaster logs them before correlation.
// It also writes to the log of the component.
func (c *Cluster) eventLogger(component string) logr.Logger {
	return logr.New(&eventSink{cluster: c, component: component, log: c.logger(component).GetSink()})
}

// logger returns the logger of a component. It writes to Config.Log, or drops everything.
func (c *Cluster) logger(component string) logr.Logger {
	if c.cfg.Log == nil {
		return discard
	}
	out := &lockedWriter{lock: &c.mu, out: c.cfg.Log}
	return textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(out), textlogger.Verbosity(logLevel))).WithName(loggerNames[component])
}

const logLevel = 5

// loggerNames are the names of loggers in kube-controller-manager.
var loggerNames = map[string]string{
	actors.PersistentVolume: "persistentvolume-binder-controller",
	actors.PVProtection:     "persistentvolume-protection-controller",
	actors.PVCProtection:    "persistentvolumeclaim-protection-controller",
	actors.AttachDetach:     "persistentvolume-attach-detach-controller",
	actors.Expander:         "persistentvolume-expander-controller",
	actors.Ephemeral:        "ephemeral-volume-controller",
}

// lockedWriter lets several goroutines write.
type lockedWriter struct {
	lock *sync.Mutex
	out  io.Writer
}

func (w *lockedWriter) Write(line []byte) (int, error) {
	w.lock.Lock()
	defer w.lock.Unlock()
	return w.out.Write(line)
}

type eventSink struct {
	cluster   *Cluster
	component string
	log       logr.LogSink // nil for none
}

// Init implements logr.LogSink. The sink adds a frame to the stack below the caller.
func (s *eventSink) Init(info logr.RuntimeInfo) {
	if deeper, ok := s.log.(logr.CallDepthLogSink); ok {
		s.log = deeper.WithCallDepth(1)
	}
}

func (s *eventSink) Enabled(level int) bool {
	return level <= 3 || s.log != nil && level <= logLevel
}

func (s *eventSink) Error(err error, message string, pairs ...any) {
	if s.log != nil {
		s.log.Error(err, message, pairs...)
	}
}

func (s *eventSink) WithValues(...any) logr.LogSink { return s }
func (s *eventSink) WithName(string) logr.LogSink   { return s }
func (s *eventSink) Info(level int, message string, pairs ...any) {
	if s.log != nil {
		s.log.Info(level, message, pairs...)
	}
	if message != "Event occurred" {
		return
	}
	values := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		values[fmt.Sprint(pairs[i])] = fmt.Sprint(pairs[i+1])
	}
	s.cluster.record(trace.Entry{
		Time: time.Now(), Actor: s.component, Type: trace.Emitted,
		Object: api.Ref{Kind: kindOf(values["apiVersion"], values["kind"]), Key: strings.TrimPrefix(values["object"], "/")},
		Verb:   values["type"], Reason: values["reason"], Text: values["message"],
	})
}

// kindOf returns the name of a kind within volsim.
func kindOf(apiVersion, kind string) api.Kind {
	group, _, grouped := strings.Cut(apiVersion, "/")
	if !grouped {
		return api.Kind(kind)
	}
	return api.Kind(objkinds.Name(group, kind))
}
