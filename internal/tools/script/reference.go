package script

import (
	_ "embed" // for the introduction
	"fmt"
	"strings"
)

//go:embed introduction.md
var introduction string

// Reference returns the manual of the script language in Markdown: docs/scripts.md.
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

// describe writes the section of one command.
func (c *command) describe(out *strings.Builder) {
	fmt.Fprintf(out, "\n#### %s\n\n```text\n", c.name)
	for _, usage := range c.usage {
		fmt.Fprintln(out, strings.TrimSpace(c.name+" "+usage))
	}
	fmt.Fprintf(out, "```\n\n%s\n\n```sh\n%s\n```\n", c.help, strings.Join(c.examples, "\n"))
}

// Help returns the usage of all commands, one line per form.
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

// CommandUsage describes a command for completion.
type CommandUsage struct {
	Name, Usage, Help string
	Setup             bool
}

// Usages lists all commands in the order of the reference.
func Usages() []CommandUsage {
	var all []CommandUsage
	for _, c := range commands {
		all = append(all, CommandUsage{Name: c.name, Usage: strings.Join(c.usage, ", or "), Help: c.help, Setup: c.setup})
	}
	return all
}
