package script

import (
	_ "embed" // for the introduction
	"fmt"
	"strings"
)

//go:embed introduction.md
var introduction string

// Reference is the manual of the language, in Markdown: how a script is written, and every command.
func Reference() string {
	var out strings.Builder
	out.WriteString(introduction)
	out.WriteString("\n## Commands\n")
	for _, g := range groups {
		fmt.Fprintf(&out, "\n### %s\n", g)
		for _, c := range commands {
			if c.group == g {
				c.describe(&out)
			}
		}
	}
	return out.String()
}

// describe writes the chapter of one command.
func (c *command) describe(out *strings.Builder) {
	fmt.Fprintf(out, "\n#### %s\n\n```text\n", c.name)
	for _, usage := range c.usage {
		fmt.Fprintln(out, strings.TrimSpace(c.name+" "+usage))
	}
	fmt.Fprintf(out, "```\n\n%s\n\n```sh\n%s\n```\n", c.help, strings.Join(c.examples, "\n"))
}

// Help is the short list of commands: one line for each form.
func Help() string {
	var out strings.Builder
	for _, g := range groups {
		fmt.Fprintf(&out, "%s:\n", g)
		for _, c := range commands {
			if c.group != g {
				continue
			}
			for _, usage := range c.usage {
				fmt.Fprintf(&out, "  %s\n", strings.TrimSpace(c.name+" "+usage))
			}
		}
	}
	return out.String()
}
