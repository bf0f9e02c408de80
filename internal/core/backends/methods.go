//go:build !js

package backends

import (
	"fmt"
	"reflect"
	"sync"

	"github.com/volsim/volsim/storage"
)

// checkMethods returns an error for a method with the name of an operation whose interface the backend does not implement. The operation
// would never be called.
func checkMethods(b storage.Backend) error {
	of := reflect.TypeOf(b)
	if _, ok := checkedMethods.Load(of); ok {
		return nil
	}
	for i := range operations {
		o := &operations[i]
		if _, found := of.MethodByName(string(o.op)); found && !o.implements(b) {
			return fmt.Errorf("it has a method %s but does not implement %s; implement all its methods, and list what it cannot do in "+
				"Capabilities.Without", o.op, o.needs)
		}
	}
	checkedMethods.Store(of, true)
	return nil
}

// checkedMethods has the types without such a method, because reflection on methods takes long.
var checkedMethods sync.Map
