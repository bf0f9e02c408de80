// Package operators runs programs that other projects publish, unaltered, as clients of volsim serve, and gives them the work that their users
// give them. Each folder below is a module that requires one of them, with the versions of its dependencies. scripts/test-operators runs the
// tests; they are no part of the regular ones, because they compile for ten minutes.
package operators
