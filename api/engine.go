package api

// User is the actor name of whoever drives the engine from outside.
const User = "user"
