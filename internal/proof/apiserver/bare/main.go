// Command bare is a server without any work to do: it answers each request of a load with bytes that were read from files, POST and PATCH.
// It shows how fast a server in Go can be through TCP on a machine. Its address is written to the file that the first argument names.
package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
)

func main() {
	if err := serve(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(address, post, patch string) error {
	created, err := os.ReadFile(post)
	if err != nil {
		return err
	}
	patched, err := os.ReadFile(patch)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	if err := os.WriteFile(address, []byte("http://"+l.Addr().String()), 0o600); err != nil {
		return err
	}
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		go answer(conn, created, patched)
	}
}

// answer reads requests, each of which arrives at once, and answers them.
func answer(conn net.Conn, created, patched []byte) {
	defer conn.Close()
	in := make([]byte, 4<<10)
	for {
		n, err := conn.Read(in)
		if err != nil {
			return
		}
		out := created
		if bytes.HasPrefix(in[:n], []byte("PATCH ")) {
			out = patched
		}
		if _, err := conn.Write(out); err != nil {
			return
		}
	}
}
