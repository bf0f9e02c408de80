package conformance

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// ReadLines reads a gzipped file of JSON documents, one per line. A field that T does not have is an error that names file and line.
func ReadLines[T any](file string) ([]T, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	unpacked, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	reader := bufio.NewReader(unpacked)
	var docs []T
	for line := 1; ; line++ {
		data, err := reader.ReadBytes('\n')
		if len(bytes.TrimSpace(data)) > 0 {
			var doc T
			if err := decodeStrictly(data, &doc); err != nil {
				return nil, fmt.Errorf("%s line %d: %w", file, line, err)
			}
			docs = append(docs, doc)
		}
		if err == io.EOF {
			return docs, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s line %d: %w", file, line, err)
		}
	}
}

// AboutNodes reports whether the file contains a NodeScenario per line.
func AboutNodes(file string) (bool, error) {
	doc, err := readFirst(file)
	return doc["nodes"] != nil, err
}

// readFirst reads the first document of a file.
func readFirst(file string) (map[string]any, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	unpacked, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var doc map[string]any
	if err := json.NewDecoder(unpacked).Decode(&doc); err != nil {
		return nil, fmt.Errorf("%s line 1: %w", file, err)
	}
	return doc, nil
}

// decodeStrictly decodes one JSON document into v. Unknown fields are errors.
func decodeStrictly(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if d.More() {
		return fmt.Errorf("more than one JSON document")
	}
	return nil
}
