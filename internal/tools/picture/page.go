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

// scripts are the parts of the program in the order in which they are put together; each may use what those before it define.
var scripts = []string{"model.js", "yaml.js", "axis.js", "rows.js", "marks.js", "plot.js", "panel.js", "print.js", "app.js"}

// writePage puts the parts of the page together. data is JSON in which no "<" occurs, so that no end of a script can stand in it.
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

// part is one of the embedded files.
func part(name string) string {
	data, err := files.ReadFile("page/" + name)
	if err != nil {
		panic("picture: " + err.Error()) // it is embedded
	}
	return string(data)
}

// hashed names an inline script or style sheet in a Content-Security-Policy.
func hashed(content string) string {
	sum := sha256.Sum256([]byte(content))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
