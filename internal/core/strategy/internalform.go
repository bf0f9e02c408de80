package strategy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// internalForm is a value of a type of k8s.io/api whose JSON is that of the type that kube-apiserver has for it in memory: fields have their
// Go names, and none is omitted. Some error messages show it.
type internalForm struct{ value any }

// InternalForm returns a value for an error message that shows an object, or a part of one, as kube-apiserver has it in memory.
func InternalForm(value any) any { return internalForm{value} }

// MarshalJSON implements json.Marshaler.
func (f internalForm) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	err := writeInternal(&b, reflect.ValueOf(f.value))
	return b.Bytes(), err
}

func writeInternal(b *bytes.Buffer, v reflect.Value) error {
	switch {
	case v.Kind() == reflect.Pointer && !v.IsNil():
		return writeInternal(b, v.Elem())
	case v.Kind() == reflect.Slice && !v.IsNil() && isAPIStruct(v.Type().Elem()):
		b.WriteByte('[')
		for i := range v.Len() {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := writeInternal(b, v.Index(i)); err != nil {
				return err
			}
		}
		b.WriteByte(']')
		return nil
	case v.Kind() == reflect.Struct && isAPIStruct(v.Type()):
		b.WriteByte('{')
		if err := writeInternalFields(b, v); err != nil {
			return err
		}
		b.WriteByte('}')
		return nil
	}
	data, err := json.Marshal(v.Interface())
	b.Write(data)
	return err
}

// writeInternalFields writes the fields of a struct, and those of the structs that it embeds.
func writeInternalFields(b *bytes.Buffer, v reflect.Value) error {
	for _, field := range internalFields(v.Type()) {
		value := v.FieldByIndex(field.Index)
		if meta, ok := value.Interface().(metav1.ObjectMeta); ok && field.Anonymous {
			if err := writeMeta(b, meta); err != nil {
				return err
			}
			continue
		}
		if field.Anonymous {
			if err := writeInternalFields(b, value); err != nil {
				return err
			}
			continue
		}
		if last := b.Bytes()[b.Len()-1]; last != '{' {
			b.WriteByte(',')
		}
		if v.Type() == podSpecType && field.Name == "SecurityContext" {
			if err := writeSecurityContext(b, v); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(b, "%q:", field.Name)
		if err := writeInternal(b, value); err != nil {
			return err
		}
	}
	return nil
}

// writeMeta writes the fields of embedded metadata, which has the names of the API also in memory.
func writeMeta(b *bytes.Buffer, meta metav1.ObjectMeta) error {
	data, err := json.Marshal(meta)
	b.Write(bytes.TrimSuffix(bytes.TrimPrefix(data, []byte("{")), []byte("}")))
	return err
}

// internalOrder is where the order of the fields in memory differs from that of the API: the first field of a pair precedes the second.
var internalOrder = map[reflect.Type][][2]string{
	reflect.TypeFor[corev1.PersistentVolumeSource](): {{"Quobyte", "ISCSI"}, {"FlexVolume", "Cinder"}},
	reflect.TypeFor[corev1.VolumeSource]():           {{"Quobyte", "FlexVolume"}},
	reflect.TypeFor[corev1.PodSecurityContext]():     {{"FSGroupChangePolicy", "Sysctls"}},
	reflect.TypeFor[corev1.PodSpec](): {
		{"SetHostnameAsFQDN", "Affinity"}, {"PreemptionPolicy", "DNSConfig"}, {"Overhead", "EnableServiceLinks"},
	},
}

// hostFields are those of a PodSpec that its security context has in memory, in this order.
var hostFields = []string{"HostNetwork", "HostPID", "HostIPC", "ShareProcessNamespace", "HostUsers"}

// writeSecurityContext writes the security context of a PodSpec.
func writeSecurityContext(b *bytes.Buffer, spec reflect.Value) error {
	b.WriteString(`"SecurityContext":{`)
	for i, name := range hostFields {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(b, "%q:", name)
		if err := writeInternal(b, spec.FieldByName(name)); err != nil {
			return err
		}
	}
	var own corev1.PodSecurityContext
	if given := spec.FieldByName("SecurityContext"); !given.IsNil() {
		own = given.Elem().Interface().(corev1.PodSecurityContext)
	}
	if err := writeInternalFields(b, reflect.ValueOf(own)); err != nil {
		return err
	}
	b.WriteByte('}')
	return nil
}

// internalFields lists the fields of a struct in the order of the type in memory.
func internalFields(t reflect.Type) []reflect.StructField {
	fields := reflect.VisibleFields(t)
	fields = slices.DeleteFunc(fields, func(f reflect.StructField) bool {
		return len(f.Index) > 1 || t == podSpecType && (f.Name == "DeprecatedServiceAccount" || slices.Contains(hostFields, f.Name))
	})
	at := func(name string) int {
		return slices.IndexFunc(fields, func(f reflect.StructField) bool { return f.Name == name })
	}
	for _, pair := range internalOrder[t] {
		field := fields[at(pair[0])]
		fields = slices.Delete(fields, at(pair[0]), at(pair[0])+1)
		fields = slices.Insert(fields, at(pair[1]), field)
	}
	return fields
}

var podSpecType = reflect.TypeFor[corev1.PodSpec]()

// isAPIStruct reports whether the type is a struct of k8s.io/api. Others have one form.
func isAPIStruct(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && strings.HasPrefix(t.PkgPath(), "k8s.io/api/")
}
