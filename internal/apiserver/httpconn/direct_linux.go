package httpconn

import (
	"io"
	"net"
	"os"
	"syscall"
	"unsafe"
)

// direct reads and writes without telling Go's scheduler. The scheduler expects that a system call may wait, and wakes the thread that
// watches over such calls if the program was idle, which takes more time than the call. Reads and writes of a connection of package net
// never wait: they fail, and Go's poller waits.
//
// Reads must follow one another, and so must writes.
type direct struct {
	*net.TCPConn
	in, out transfer
}

// transfer is the system call that reads or writes.
type transfer struct {
	name   string
	number uintptr
	wait   func(try func(fd uintptr) bool) error // calls try, and again when the connection is ready, until it returns true
	try    func(fd uintptr) bool                 // call; a method value would be allocated each time
	data   []byte
	n      int
	errno  syscall.Errno
}

// largestDirect is how much is written directly. The scheduler cannot use the thread for anything else meanwhile.
const largestDirect = 64 << 10

// newDirect returns a connection as direct, or as it is if it is not one of TCP.
func newDirect(c net.Conn) net.Conn {
	known, ok := c.(*net.TCPConn)
	if !ok {
		return c
	}
	raw, err := known.SyscallConn()
	if err != nil {
		return c
	}
	d := &direct{TCPConn: known,
		in:  transfer{name: "read", number: syscall.SYS_READ, wait: raw.Read},
		out: transfer{name: "write", number: syscall.SYS_WRITE, wait: raw.Write},
	}
	d.in.try, d.out.try = d.in.call, d.out.call
	return d
}

// call makes the system call. It returns false if the call would have to wait.
func (t *transfer) call(fd uintptr) bool {
	for {
		n, _, errno := syscall.RawSyscall(t.number, fd, uintptr(unsafe.Pointer(unsafe.SliceData(t.data))), uintptr(len(t.data)))
		if errno != syscall.EINTR {
			t.n, t.errno = int(n), errno
			return errno != syscall.EAGAIN
		}
	}
}

// do makes the call when it is possible. An error is as in package net.
func (d *direct) do(t *transfer, p []byte) (int, error) {
	t.data = p
	err := t.wait(t.try)
	t.data = nil
	if err == nil && t.errno != 0 {
		err = &net.OpError{Op: t.name, Net: "tcp", Source: d.LocalAddr(), Addr: d.RemoteAddr(), Err: os.NewSyscallError(t.name, t.errno)}
	}
	if err != nil {
		return 0, err
	}
	return t.n, nil
}

// Read implements net.Conn.
func (d *direct) Read(p []byte) (int, error) {
	n, err := d.do(&d.in, p)
	if n == 0 && err == nil && len(p) > 0 {
		err = io.EOF
	}
	return n, err
}

// Write implements net.Conn.
func (d *direct) Write(p []byte) (int, error) {
	if len(p) > largestDirect {
		return d.TCPConn.Write(p)
	}
	n, err := d.do(&d.out, p)
	if err != nil || n == len(p) {
		return n, err
	}
	rest, err := d.TCPConn.Write(p[n:])
	return n + rest, err
}
