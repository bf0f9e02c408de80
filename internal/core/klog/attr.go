package klog

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Attr is a key and a value of a line. It is rendered only if the line is written.
type Attr struct {
	key   string
	kind  kind
	text  string
	value any
}

type kind uint8

const (
	isString kind = iota
	isObject
	isStringer
	isError
	isJSON
	isOmitted
)

// String is a text.
func String[S ~string](key string, text S) Attr { return Attr{key: key, text: string(text)} }

// Object is the name of an object, with its namespace if it has one, like klog.KObj.
func Object(key string, obj metav1.Object) Attr { return Attr{key: key, kind: isObject, value: obj} }

// Value is a value with a String method. If its type is one pointer, the call does not allocate memory.
func Value(key string, value fmt.Stringer) Attr {
	return Attr{key: key, kind: isStringer, value: value}
}

// Err is an error with the key err; nil is omitted.
func Err(err error) Attr {
	if err == nil {
		return Attr{kind: isOmitted}
	}
	return Attr{key: "err", kind: isError, value: err}
}

// Duration is a duration.
func Duration(key string, d time.Duration) Attr { return Attr{key: key, text: d.String()} }

// JSON is a value that klog writes as JSON: a list, a map, a number or a bool. The call allocates memory; use it for rare lines.
func JSON(key string, value any) Attr { return Attr{key: key, kind: isJSON, value: value} }

func (a Attr) append(line []byte) []byte {
	if a.kind == isOmitted {
		return line
	}
	line = append(line, ' ')
	line = append(line, a.key...)
	switch a.kind {
	case isObject:
		obj := a.value.(metav1.Object)
		name := obj.GetName()
		if namespace := obj.GetNamespace(); namespace != "" {
			name = namespace + "/" + name
		}
		line = append(line, '=', '"')
		line = append(line, name...)
		return append(line, '"')
	case isStringer:
		return appendText(line, a.value.(fmt.Stringer).String())
	case isError:
		return appendText(line, a.value.(error).Error())
	case isJSON:
		var text strings.Builder
		encoder := json.NewEncoder(&text)
		if err := encoder.Encode(a.value); err != nil {
			return appendText(line, fmt.Sprintf("<internal error: %v>", err))
		}
		line = append(line, '=')
		return append(line, strings.TrimSuffix(text.String(), "\n")...)
	}
	return appendText(line, a.text)
}

// appendText appends a value in quotes; one with several lines is indented between < and > instead.
func appendText(line []byte, text string) []byte {
	if !strings.Contains(text, "\n") {
		return strconv.AppendQuote(append(line, '='), text)
	}
	line = append(line, "=<\n"...)
	for one := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		line = append(line, '\t')
		line = append(line, one...)
		line = append(line, '\n')
	}
	return append(line, " >"...)
}
