package api

import "strings"

// User is the name under which calls made from outside the cluster appear as an actor: those of a test, a script, or the command. Clients
// of an API server have a name of their own behind it: user/kubectl, for example.
const User = "user"

// IsUser reports whether an actor is outside the cluster.
func IsUser(actor string) bool { return actor == User || strings.HasPrefix(actor, User+"/") }
