package fieldpos

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/volsim/volsim/internal/core/objkinds"
	"github.com/volsim/volsim/internal/core/scheme"
	"github.com/volsim/volsim/internal/core/similar"
)

// Source is where an object of a manifest was read.
type Source struct {
	// Doc is the document, and Line the number of its first line, from 1.
	Doc  []byte
	Line int
	// Items are the indexes at which the object is in a List, and in Lists within that.
	Items []int
}

// Explain returns the line that an error about an object is about, and the error with what would be right. The error is of reading the
// object, or of a request with it.
func Explain(s Source, err error) (line int, better error) {
	line, better = explain(s, err)
	return line, &explained{better, s, err}
}

// explained is an error that Explain returned. Its text may name more lines.
type explained struct {
	error
	source Source
	cause  error
}

func (e *explained) Unwrap() error { return e.error }

// Moved returns the text of an error of Explain with the lines that it names so many lines further down.
func Moved(err error, lines int) string {
	e := new(explained)
	if !errors.As(err, &e) {
		return err.Error()
	}
	s := e.source
	s.Line += lines
	_, better := explain(s, e.cause)
	return better.Error()
}

func explain(s Source, err error) (line int, better error) {
	if found := yamlLine.FindStringSubmatch(err.Error()); found != nil {
		if line, convErr := strconv.Atoi(found[1]); convErr == nil {
			text := strings.Replace(err.Error(), found[0], "", 1)
			if strings.Contains(text, "did not find expected") || strings.Contains(text, "mapping values are not allowed") {
				text += "; check the indentation here and in the lines around"
			}
			return line, errors.New(text)
		}
	}
	o := Parse(s.Doc, s.Line, s.Items...)
	if o == nil {
		return s.Line, err
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		if line, hints := o.causes(status); line > 0 {
			return line, fmt.Errorf("%w%s", err, hints)
		}
		return o.Line("metadata.name"), err
	}
	gvk := o.Kind()
	t := scheme.TypeOf(gvk)
	if t == nil {
		line := o.Line("kind")
		if isKind(gvk.Kind) {
			line = o.Line("apiVersion")
		}
		return line, o.unknownKind(gvk, err)
	}
	problems := o.Problems(t)
	if len(problems) == 0 {
		return o.Line(""), err
	}
	text := o.String() + ": " + problems[0].String()
	for _, p := range problems[1:] {
		text += fmt.Sprintf("; line %d: %s", p.Line, p)
	}
	return problems[0].Line, errors.New(text)
}

// yamlLine matches how errors of the YAML library name a line.
var yamlLine = regexp.MustCompile(`(?:yaml: (?:unmarshal errors:\s+)?)?line (\d+): `)

// causes returns the line of the first field that the API server rejects, and hints about all of them.
func (o *Object) causes(status apierrors.APIStatus) (line int, hints string) {
	details := status.Status().Details
	if details == nil {
		return 0, ""
	}
	for _, cause := range details.Causes {
		if cause.Field == "" || cause.Field == "<nil>" {
			continue
		}
		at := o.Line(cause.Field)
		if line == 0 {
			line = at
		} else if at != line {
			hints += fmt.Sprintf("; %s is in line %d", cause.Field, at)
		}
		hints += supportedHint(cause.Message)
	}
	return line, hints
}

var (
	unsupported = regexp.MustCompile(`^Unsupported value: "([^"]*)": supported values: (.*)$`)
	quoted      = regexp.MustCompile(`"([^"]*)"`)
)

// supportedHint returns which supported value a rejected value resembles.
func supportedHint(message string) string {
	found := unsupported.FindStringSubmatch(message)
	if found == nil {
		return ""
	}
	var values []string
	for _, value := range quoted.FindAllStringSubmatch(found[2], -1) {
		values = append(values, value[1])
	}
	return similar.Hint(found[1], values)
}

// unknownKind returns the error for an object of a kind that Kubernetes does not have, with a similar one.
func (o *Object) unknownKind(gvk schema.GroupVersionKind, err error) error {
	if gvk.Kind == "" {
		return err
	}
	var kinds, versions []string
	for _, k := range objkinds.All() {
		version := k.GroupVersionKind().GroupVersion().String()
		if k.Kind == gvk.Kind {
			return fmt.Errorf("%w; did you mean apiVersion %s", err, version)
		}
		kinds, versions = append(kinds, k.Kind), append(versions, version)
	}
	if best := similar.To(gvk.Kind, kinds); best != "" {
		for i, kind := range kinds {
			if kind == best {
				return fmt.Errorf("%w; did you mean %s (%s)", err, best, versions[i])
			}
		}
	}
	return err
}

// isKind reports whether Kubernetes has a kind of that name, in any group.
func isKind(name string) bool {
	return slices.ContainsFunc(objkinds.All(), func(k *objkinds.Kind) bool { return k.Kind == name })
}
