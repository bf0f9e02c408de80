package script

import "errors"

// goTemplate rejects templates: with their library, which calls methods by name, the simulator in the browser would be much larger.
func goTemplate(string, bool) (printer, error) {
	return nil, errors.New("-o go-template is not available in the browser; use -o jsonpath={…}")
}
