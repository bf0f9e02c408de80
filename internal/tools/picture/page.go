package picture

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html"
	"io"
	"strings"
)

//go:embed page
var files embed.FS

// scripts are the parts of the program, in order: each may use what earlier ones define.
var scripts = []string{"model.js", "yaml.js", "axis.js", "rows.js", "marks.js", "plot.js", "panel.js", "story.js", "print.js", "app.js"}

// writePage joins the parts of the page. data is JSON without "<", so that it cannot end a script element.
func writePage(w io.Writer, title string, data []byte) error {
	style := part("app.css")
	var program bytes.Buffer
	program.WriteString("(() => {\n\"use strict\";\n")
	for _, name := range scripts {
		program.WriteString(part(name))
	}
	program.WriteString("})();\n")
	page := strings.NewReplacer(
		"{{title}}", html.EscapeString(title),
		"{{policy}}", "default-src 'none'; img-src data:; style-src "+hashed(style)+"; script-src "+hashed(program.String()),
		"{{style}}", style,
		"{{data}}", string(data),
		"{{program}}", program.String(),
	)
	_, err := page.WriteString(w, part("page.html"))
	return err
}

// part returns one of the embedded files.
func part(name string) string {
	data, err := files.ReadFile("page/" + name)
	if err != nil {
		panic("picture: " + err.Error()) // it is embedded
	}
	return string(data)
}

// hashed returns the Content-Security-Policy source of an inline script or style sheet.
func hashed(content string) string {
	sum := sha256.Sum256([]byte(content))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
