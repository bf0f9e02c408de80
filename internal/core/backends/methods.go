//go:build !js

package backends

import (
	"fmt"
	"reflect"

	"github.com/volsim/volsim/storage"
)

// checkMethods returns an error for a method with the name of an operation whose interface the backend does not implement. The operation
// would never be called.
func checkMethods(b storage.Backend) error {
	for _, op := range ops {
		if _, found := reflect.TypeOf(b).MethodByName(string(op)); found && !implements(b, op) {
			return fmt.Errorf("it has a method %s but does not implement %s; implement all its methods, and list what it cannot do in "+
				"Capabilities.Without", op, interfaces[op])
		}
	}
	return nil
}
