package apiserver

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/volsim/volsim/internal/apiserver/kinds"
	"github.com/volsim/volsim/internal/apiserver/objectjson"
	"github.com/volsim/volsim/internal/apiserver/resources"
)

// API-586: an answer in protobuf is a magic number and a runtime.Unknown, which has the kind and the message of the object. The message of a list
// has its metadata and its items, which are messages themselves.
const (
	magic = "k8s\x00"
	// Fields of a runtime.Unknown and of a list, as they come before the length of their values.
	kindField, messageField  = 1<<3 | 2, 2<<3 | 2
	metadataField, itemField = 1<<3 | 2, 2<<3 | 2
	// afterMessage are the encoding and the type of the content, which are empty.
	afterMessage = "\x1a\x00\x22\x00"
)

// hasMessages reports whether the objects of a resource have messages in protobuf: there are no custom ones, and no APIServices.
func hasMessages(r *resources.Resource) bool { return !r.Custom && r.Kind != kinds.APIService }

// messageOf returns the message of an object in the Go type of answers.
func messageOf(value any, gvk schema.GroupVersionKind) ([]byte, error) {
	if gvk.Group == apiextensions.GroupName {
		data, err := objectjson.Encode(value, gvk)
		if err != nil {
			return nil, err
		}
		definition := &apiextensions.CustomResourceDefinition{}
		if err := json.Unmarshal(data, definition); err != nil {
			return nil, fmt.Errorf("encode %s: %w", gvk.Kind, err)
		}
		value = definition
	}
	object, ok := value.(interface{ Marshal() ([]byte, error) })
	if !ok {
		return nil, fmt.Errorf("%T has no message", value)
	}
	return object.Marshal()
}

// beginMessage returns the beginning of an answer in protobuf, up to the message, with room for that. size is the length of the message.
func beginMessage(gvk schema.GroupVersionKind, size, room int) []byte {
	kind := runtime.TypeMeta{APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind}
	described, _ := kind.Marshal() // two strings can be encoded
	data := slices.Grow([]byte(magic), len(described)+2*(1+binary.MaxVarintLen64)+room+len(afterMessage))
	data = append(appendLength(data, kindField, len(described)), described...)
	return appendLength(data, messageField, size)
}

func appendLength(data []byte, field byte, length int) []byte {
	return binary.AppendUvarint(append(data, field), uint64(length))
}

// encodeMessage returns an object in protobuf, and how many bytes come before its message.
func encodeMessage(value any, gvk schema.GroupVersionKind) (data []byte, before int, err error) {
	message, err := messageOf(value, gvk)
	if err != nil {
		return nil, 0, err
	}
	data = beginMessage(gvk, len(message), len(message))
	before = len(data)
	return append(append(data, message...), afterMessage...), before, nil
}

// beginList returns the beginning of a list in protobuf, up to the items, with room for them. size is their length.
func beginList(r *resources.Resource, meta metav1.ListMeta, size, room int) ([]byte, error) {
	described, err := meta.Marshal()
	if err != nil {
		return nil, err
	}
	described = append(appendLength(nil, metadataField, len(described)), described...)
	data := beginMessage(r.GroupVersion().WithKind(r.KindName+"List"), len(described)+size, len(described)+room)
	return append(data, described...), nil
}

// appendEventMessage appends an event of a watch with an object in protobuf as sent on the wire: its length, and its message (API-586).
func appendEventMessage(data []byte, e event) []byte {
	sent := metav1.WatchEvent{Type: string(e.changeType), Object: runtime.RawExtension{Raw: e.data}}
	size := sent.Size()
	data = slices.Grow(binary.BigEndian.AppendUint32(data, uint32(size)), size)
	n := len(data)
	data = data[:n+size]
	_, _ = sent.MarshalTo(data[n:]) // it has that size
	return data
}

// encode returns an object in the Go type of answers, in JSON or protobuf.
func (f format) encode(value any, gvk schema.GroupVersionKind) ([]byte, error) {
	if !f.protobuf {
		return objectjson.Encode(value, gvk)
	}
	data, _, err := encodeMessage(value, gvk)
	return data, err
}
