package api

// User is the name under which calls made from outside the cluster appear as an actor: those of a test, a script, or the command.
const User = "user"
