package apiserver

import (
	"bytes"
	"encoding/json"
	"mime"
	"net/http"
	"sort"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// bodyTypes are the media types of request bodies, the default first.
var bodyTypes = []string{runtime.ContentTypeJSON, runtime.ContentTypeYAML, runtime.ContentTypeProtobuf}

// format is the representation of an answer.
type format struct {
	yaml   bool
	pretty bool
	// as is the type to convert objects to, Table for example; nil converts nothing. Discovery has types of its own.
	as *schema.GroupVersionKind
}

func (f format) contentType() string {
	if f.yaml {
		return runtime.ContentTypeYAML
	}
	return runtime.ContentTypeJSON
}

// asIs reports whether an answer is its JSON and a line break.
func (f format) asIs() bool { return !f.yaml && !f.pretty }

// write returns the bytes of an answer from its JSON. It may append to data.
func (f format) write(data []byte) ([]byte, error) {
	if f.yaml {
		return yaml.JSONToYAML(data)
	}
	if f.pretty {
		var out bytes.Buffer
		if err := json.Indent(&out, data, "", "  "); err != nil {
			return nil, err
		}
		data = out.Bytes()
	}
	if n := len(data); cap(data) > n && data[:n+1][n] == '\n' {
		return data[:n+1], nil // as encodeTyped left it; others may be reading it
	}
	return append(data, '\n'), nil
}

// clause is one media type of an Accept header.
type clause struct {
	mediaType string
	params    map[string]string
	quality   float64
}

// parseAccept returns the clauses of an Accept header, those with the highest quality first. It ignores malformed clauses.
func parseAccept(header string) []clause {
	var clauses []clause
	for part := range strings.SplitSeq(header, ",") {
		mediaType, params, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		quality := 1.0
		if q, ok := params["q"]; ok {
			if quality, err = strconv.ParseFloat(q, 64); err != nil {
				quality = 1.0
			}
			delete(params, "q")
		}
		clauses = append(clauses, clause{mediaType, params, quality})
	}
	sort.SliceStable(clauses, func(i, j int) bool { return clauses[i].quality > clauses[j].quality })
	return clauses
}

// negotiate chooses the format of the answer from the Accept header. convertible reports whether an answer can be converted to a type.
// Protobuf is never chosen: clients that prefer it accept JSON, too.
func negotiate(req *http.Request, convertible func(schema.GroupVersionKind) bool) (format, error) {
	f := format{pretty: wantsPretty(req)}
	header := req.Header.Get("Accept")
	if header == "" || header == runtime.ContentTypeJSON || header == "*/*" {
		return f, nil
	}
	known := false
	for _, c := range parseAccept(header) {
		switch c.mediaType {
		case runtime.ContentTypeYAML:
			f.yaml = true
		case runtime.ContentTypeJSON, "application/*", "*/*":
			f.yaml = false
		case runtime.ContentTypeProtobuf:
			known = true
			continue
		default:
			continue
		}
		known = true
		if kind := c.params["as"]; kind != "" || c.params["g"] != "" || c.params["v"] != "" {
			as := schema.GroupVersionKind{Group: c.params["g"], Version: c.params["v"], Kind: kind}
			if !convertible(as) {
				continue
			}
			f.as = &as
		}
		if c.params["pretty"] == "1" {
			f.pretty = true
		}
		return f, nil
	}
	if !known {
		return f, serverError(http.StatusNotAcceptable,
			"406: Not Acceptable\n\nAvailable representations: "+strings.Join(bodyTypes[:], ", "))
	}
	return f, errAccept()
}

func errAccept() error {
	return mediaError(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable,
		"only the following media types are accepted: "+strings.Join(bodyTypes, ", "))
}

// wantsPretty reports whether the answer is indented: if the request asks for it, or comes from a browser or from curl.
func wantsPretty(req *http.Request) bool {
	if strings.Contains(req.URL.RawQuery, "pretty") {
		if text := req.URL.Query().Get("pretty"); text != "" {
			pretty, err := strconv.ParseBool(text)
			return err == nil && pretty
		}
	}
	for _, agent := range []string{"curl", "Wget", "Mozilla/5.0"} {
		if strings.HasPrefix(req.UserAgent(), agent) {
			return true
		}
	}
	return false
}

// convertibleToMetadata is convertibleObject for what has no Table.
func convertibleToMetadata(as schema.GroupVersionKind) bool {
	return as.Kind != "Table" && convertibleObject(as)
}

// convertibleObject reports whether objects and lists can be converted to a type.
func convertibleObject(as schema.GroupVersionKind) bool {
	if as.Group != metav1.GroupName || as.Version != "v1" && as.Version != "v1beta1" {
		return false
	}
	return as.Kind == "Table" || as.Kind == "PartialObjectMetadata" || as.Kind == "PartialObjectMetadataList"
}

func nothingConvertible(schema.GroupVersionKind) bool { return false }

// mediaTypeOf returns the media type of a request body.
func mediaTypeOf(header string) (string, error) {
	if header == "" || header == bodyTypes[0] {
		return bodyTypes[0], nil // the rest need not be parsed
	}
	if mediaType, _, err := mime.ParseMediaType(header); err == nil {
		for _, known := range bodyTypes {
			if mediaType == known {
				return known, nil
			}
		}
	}
	return "", errMediaType(bodyTypes)
}

func errMediaType(accepted []string) error {
	return mediaError(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType,
		"the body of the request was in an unknown format - accepted media types include: "+strings.Join(accepted, ", "))
}
