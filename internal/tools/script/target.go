package script

import (
	"errors"
	"fmt"
	"strings"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/tools/jsonpath"
)

// target selects objects: one by its name or all of a kind, and the conditions they must meet.
type target struct {
	kind   api.Kind
	ref    api.Ref // zero selects all of the kind
	checks []fieldCheck
}

// readTarget reads KIND/NAME CONDITION..., KIND NAME CONDITION... or KIND CONDITION...
func readTarget(s *Script, words []string, namespace string) (w target, err error) {
	if len(words) == 0 {
		return w, errors.New("missing object: want KIND/NAME or KIND NAME")
	}
	first, rest := words[0], words[1:]
	if strings.Contains(first, "/") {
		if w.ref, err = s.refOf(first, namespace); err != nil {
			return w, err
		}
		w.kind = w.ref.Kind
	} else {
		if w.kind, err = s.kindOf(first); err != nil {
			return w, err
		}
		if len(rest) > 0 {
			if _, isCondition, _ := readCondition(rest[0]); !isCondition {
				if w.ref, err = s.refTo(w.kind, rest[0], namespace); err != nil {
					return w, err
				}
				rest = rest[1:]
			}
		}
	}
	w.checks, err = readChecks(w.kind, rest)
	return w, err
}

// find returns the objects that meet all conditions, as documents, and for the others the conditions they do not meet.
func (w target) find(r *runner) (docs []*jsonpath.Document, wrong []string, err error) {
	var objs []api.Object
	if w.ref != (api.Ref{}) {
		obj, err := r.read(w.ref)
		if err != nil {
			return nil, []string{err.Error()}, nil
		}
		objs = append(objs, obj)
	} else {
		objs = r.readAll(w.kind)
	}
	for _, obj := range objs {
		doc := jsonpath.NewDocument(obj)
		why, err := unmet(doc, w.checks)
		if err != nil {
			return nil, nil, err
		}
		if why == "" {
			docs = append(docs, doc)
		} else if w.ref != (api.Ref{}) {
			wrong = append(wrong, why)
		} else {
			wrong = append(wrong, api.KeyOf(obj)+": "+why)
		}
	}
	return docs, wrong, nil
}

// listed joins the first texts and counts the rest.
func listed(texts []string, separator string) string {
	const shown = 5
	if len(texts) > shown {
		return strings.Join(texts[:shown], separator) + separator + fmt.Sprintf("and %d more", len(texts)-shown)
	}
	return strings.Join(texts, separator)
}
