package script

import (
	"errors"
	"fmt"
	"strings"

	"github.com/volsim/volsim/api"
)

// which says which objects are meant: one by its name, or those of a kind; and what holds of them.
type which struct {
	kind   api.Kind
	ref    api.Ref // zero for all of the kind
	checks []fieldCheck
}

// readWhich reads KIND/NAME CONDITION..., KIND NAME CONDITION... or KIND CONDITION...
func readWhich(words []string, namespace string) (w which, err error) {
	if len(words) == 0 {
		return w, errors.New("it is not said which object")
	}
	first, rest := words[0], words[1:]
	if strings.Contains(first, "/") {
		if w.ref, err = refOf(first, namespace); err != nil {
			return w, err
		}
		w.kind = w.ref.Kind
	} else {
		if w.kind, err = kindOf(first); err != nil {
			return w, err
		}
		if len(rest) > 0 {
			if _, isCondition, _ := readCondition(rest[0]); !isCondition {
				if w.ref, err = refTo(w.kind, rest[0], namespace); err != nil {
					return w, err
				}
				rest = rest[1:]
			}
		}
	}
	w.checks, err = readChecks(w.kind, rest)
	return w, err
}

// find lists the objects of which everything holds, as documents, and says what does not hold of the others.
func (w which) find(p *player) (docs []map[string]any, wrong []string, err error) {
	var objs []api.Object
	if w.ref != (api.Ref{}) {
		obj, err := p.get(w.ref)
		if err != nil {
			return nil, []string{err.Error()}, nil
		}
		objs = append(objs, obj)
	} else {
		objs = p.list(w.kind)
	}
	for _, obj := range objs {
		doc := documentOf(obj)
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

// listed joins the first texts, and says how many there are besides.
func listed(texts []string, separator string) string {
	const shown = 5
	if len(texts) > shown {
		return strings.Join(texts[:shown], separator) + separator + fmt.Sprintf("and %d more", len(texts)-shown)
	}
	return strings.Join(texts, separator)
}
