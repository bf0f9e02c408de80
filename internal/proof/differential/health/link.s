// The assembler file lets functions have no body in Go: they are linked by name.
