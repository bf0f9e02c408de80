package pvcontroller

import (
	"errors"

	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/klog"
)

// LogRejected logs that an operation was not started; err is the error of NestedOperations.Run.
func LogRejected(log *klog.Logger, operation string, err error) {
	switch {
	case errors.Is(err, engine.ErrRunning):
		log.Info(4, "Operation is already running, skipping", klog.String("operationName", operation))
	case errors.Is(err, engine.ErrBackoff):
		log.Info(4, "Operation postponed due to exponential backoff", klog.String("operationName", operation))
	}
}
