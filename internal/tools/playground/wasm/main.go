//go:build js && wasm

// Command wasm is the simulator of the playground: it runs in a Web Worker of a browser and exports volsim(method, arguments).
package main

import (
	"fmt"
	"syscall/js"

	"github.com/volsim/volsim/internal/tools/playground"
)

func main() {
	server := playground.New()
	handle := func(args []js.Value) (answer, problem string) {
		defer func() {
			if p := recover(); p != nil {
				problem = fmt.Sprintf("the simulator failed: %v", p)
			}
		}()
		out, err := server.Handle(args[0].String(), []byte(args[1].String()))
		if err != nil {
			return "", err.Error()
		}
		return string(out), ""
	}
	js.Global().Set("volsim", js.FuncOf(func(_ js.Value, args []js.Value) any {
		answer, problem := handle(args)
		return []any{answer, problem}
	}))
	js.Global().Call("volsimReady")
	select {}
}
