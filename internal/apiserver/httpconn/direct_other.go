//go:build !linux

package httpconn

import "net"

// newDirect returns a connection as it is.
func newDirect(c net.Conn) net.Conn { return c }
