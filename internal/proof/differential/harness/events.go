package harness

import (
	"context"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes"
	typedcore "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objkinds"
	"github.com/volsim/volsim/trace"
)

// Quiet turns off logging of the Kubernetes libraries in this process.
func Quiet() {
	klog.SetLogger(Discard)
	utilruntime.ErrorHandlers = nil
}

// Discard is a logger that drops everything.
var Discard = logr.Discard()

// EventLogger returns a logger for a component that records the Events it emits, as client-go's broadcaster logs them before correlation.
// It also writes to the log of the component.
func (c *Cluster) EventLogger(component string) logr.Logger {
	return logr.New(&eventSink{cluster: c, component: component, log: c.Logger(component).GetSink()})
}

// Logger returns the logger of a component. It writes to Config.Log, or drops everything.
func (c *Cluster) Logger(component string) logr.Logger {
	if c.cfg.Log == nil {
		return Discard
	}
	out := &lockedWriter{lock: &c.mu, out: c.cfg.Log}
	return textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(out), textlogger.Verbosity(logLevel))).WithName(c.cfg.LoggerNames[component])
}

const logLevel = 5

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
	s.cluster.Record(trace.Entry{
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

// WatchEvents records the Events of a controller that does not log them. broadcaster is the name of the field with its broadcaster.
func (c *Cluster) WatchEvents(component string, controller any, broadcaster string) {
	events := Unexported(reflect.ValueOf(controller).Elem().FieldByName(broadcaster)).Interface().(record.EventBroadcaster)
	events.StartEventWatcher(func(e *corev1.Event) { c.Record(emission(component, e)) })
}

// RecordEvents returns a recorder whose Events are recorded and then written as client-go does. It ends with the cluster.
func (c *Cluster) RecordEvents(ctx context.Context, component string, client kubernetes.Interface, scheme *runtime.Scheme) record.EventRecorder {
	events := record.NewBroadcaster(record.WithContext(ctx))
	events.StartEventWatcher(func(e *corev1.Event) {
		// An Event about an object without a name is refused by the API server.
		if e.InvolvedObject.Name != "" {
			c.Record(emission(component, e))
		}
	})
	events.StartRecordingToSink(&typedcore.EventSinkImpl{Interface: client.CoreV1().Events("")})
	return events.NewRecorder(scheme, corev1.EventSource{Component: component})
}
