package rbac

import (
	_ "embed"
	"encoding/json"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
)

// defaultData has the roles and bindings that kube-apiserver v1.36.3 makes when it starts, without their metadata other than names and
// labels. ClusterRoles that aggregate others have no rules of their own.
//
//go:embed defaults.json
var defaultData []byte

// DefaultRoles are the roles and bindings of every cluster.
type DefaultRoles struct {
	ClusterRoles        []*rbacv1.ClusterRole
	ClusterRoleBindings []*rbacv1.ClusterRoleBinding
	Roles               []*rbacv1.Role
	RoleBindings        []*rbacv1.RoleBinding
}

// Defaults returns the default roles and bindings, which must not change.
var Defaults = sync.OnceValue(func() *DefaultRoles {
	roles := &DefaultRoles{}
	if err := json.Unmarshal(defaultData, roles); err != nil {
		panic(err) // it is part of the program
	}
	return roles
})
