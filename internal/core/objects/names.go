package objects

import (
	"reflect"
	"strings"

	"github.com/volsim/volsim/api"
)

// IsNil reports whether obj is nil, or a nil pointer of some type.
func IsNil(obj api.Object) bool {
	if obj == nil {
		return true
	}
	v := reflect.ValueOf(obj)
	return v.Kind() == reflect.Pointer && v.IsNil()
}

// SplitKey splits a key into namespace and name. The namespace is "" for kinds without one.
func SplitKey(key string) (namespace, name string) {
	if i := strings.IndexByte(key, '/'); i >= 0 {
		return key[:i], key[i+1:]
	}
	return "", key
}
