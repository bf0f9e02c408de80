package upstream

import (
	"fmt"
	"strings"
	"time"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/trace"
)

// Quiet turns off logging of the Kubernetes libraries in this process.
func Quiet() {
	klog.SetLogger(discard)
	utilruntime.ErrorHandlers = nil
}

// discard is a logger that drops everything.
var discard = logr.Discard()

// eventLogger returns a logger for a component that logs the Events it emits, like client-go's broadcaster before correlation. Other log
// lines are dropped.
func (c *Cluster) eventLogger(component string) logr.Logger {
	return logr.New(&eventSink{cluster: c, component: component})
}

type eventSink struct {
	cluster   *Cluster
	component string
}

func (s *eventSink) Init(logr.RuntimeInfo)          {}
func (s *eventSink) Enabled(level int) bool         { return level <= 3 }
func (s *eventSink) Error(error, string, ...any)    {}
func (s *eventSink) WithValues(...any) logr.LogSink { return s }
func (s *eventSink) WithName(string) logr.LogSink   { return s }
func (s *eventSink) Info(_ int, message string, pairs ...any) {
	if message != "Event occurred" {
		return
	}
	values := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		values[fmt.Sprint(pairs[i])] = fmt.Sprint(pairs[i+1])
	}
	s.cluster.record(trace.Entry{
		Time: time.Now(), Actor: s.component, Type: trace.Emitted,
		Object: api.Ref{Kind: api.Kind(values["kind"]), Key: strings.TrimPrefix(values["object"], "/")},
		Verb:   values["type"], Reason: values["reason"], Text: values["message"],
	})
}
