package predict

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/objname"
	"github.com/volsim/volsim/internal/core/similar"
	"github.com/volsim/volsim/internal/tools/script"
)

// Refusal is a step that the API server or kubectl refuses. That is an answer: the cluster stays as it is, and the next step follows.
type Refusal struct {
	Step   string `json:"step"`
	Reason string `json:"reason"`
}

// typing is the time that a command of kubectl takes before the next one. Controllers work meanwhile.
const typing = 500 * time.Millisecond

// refused records a step that is refused, and returns nil. An object that does not exist is an error, because the name is probably mistyped.
func (r *run) refused(step Step, err error) error {
	var status apierrors.APIStatus
	refuses := errors.As(err, new(script.Refusal))
	if errors.As(err, &status) {
		missing := status.Status()
		creates := strings.HasPrefix(step.Text, "apply ") || strings.HasPrefix(step.Text, "create ")
		refuses = missing.Reason != metav1.StatusReasonNotFound || creates // its namespace does not exist
		if !refuses {
			err = fmt.Errorf("%w%s", err, r.hint(missing.Details))
			if kind := r.mistypedKind(step); kind != "" {
				err = fmt.Errorf("%w; or %w", err, objname.UnknownKind(kind))
			}
		}
	}
	if !refuses {
		return fmt.Errorf("%s: %w", step.Text, err)
	}
	r.refusals = append(r.refusals, Refusal{Step: step.Text, Reason: err.Error()})
	return nil
}

// hint returns what may be meant by the name of an object that does not exist: "; did you mean …", or the namespace that has it.
func (r *run) hint(missing *metav1.StatusDetails) string {
	if missing == nil {
		return ""
	}
	kind, _, known := objname.KindOf(strings.TrimSuffix(missing.Kind+"."+missing.Group, "."))
	if !known {
		return ""
	}
	var elsewhere, names []string
	for _, obj := range r.Cluster.Objects(kind).List() {
		namespace, name := objects.SplitKey(api.KeyOf(obj))
		if names = append(names, name); name == missing.Name {
			elsewhere = append(elsewhere, namespace)
		}
	}
	slices.Sort(elsewhere)
	if len(elsewhere) > 0 {
		return fmt.Sprintf("; it exists in namespace %s: add -n", strings.Join(elsewhere, ", "))
	}
	return similar.Hint(missing.Name, names)
}

// claimIn matches NAMESPACE/NAME, which is a claim.
var claimIn = regexp.MustCompile(`(?:^| )([a-z0-9-]+)/[a-z0-9.-]+(?: |$)`)

// mistypedKind returns the word before the slash of a claim's name if it is neither a kind nor a namespace with claims; "" if there is none.
func (r *run) mistypedKind(step Step) string {
	for _, found := range claimIn.FindAllStringSubmatch(step.Text, -1) {
		exists := func(claim *corev1.PersistentVolumeClaim) bool { return claim.Namespace == found[1] }
		if !objname.IsKind(found[1]) && !slices.ContainsFunc(r.Claims.List(), exists) {
			return found[1]
		}
	}
	return ""
}
