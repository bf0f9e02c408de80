// Package warnings contains the warnings with which the API server answers writes that succeed, such as that a field is deprecated. Users
// see them as lines of kubectl, and clients as Warning headers.
//
// They are those of the kinds that decide about volumes and pods, in the server's words (API-320 to API-326). Where the server's order is
// that of a map, here it is sorted. Not included: the warning about a TLS Secret whose key does not match, which would need crypto/tls.
package warnings
