// Command generate writes the rule catalogue of package rules: generate FOLDER FILE reads the Markdown files of FOLDER and writes FILE.
package main

import (
	"fmt"
	"os"

	"github.com/volsim/volsim/internal/tools/rules"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: generate FOLDER FILE")
		os.Exit(2)
	}
	if err := generate(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "generate the rule catalogue:", err)
		os.Exit(1)
	}
}

func generate(folder, file string) error {
	found, err := rules.Read(os.DirFS(folder))
	if err != nil {
		return err
	}
	data, err := rules.Encode(found)
	if err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o644)
}
