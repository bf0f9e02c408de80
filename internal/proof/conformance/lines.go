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

// ReadLines reads a file of JSON documents, one a line, compressed with gzip. A field that T does not have is an error, which names
// the file and the line.
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

// AboutNodes reports whether the file has scenarios of nodes, a NodeScenario each line, and not of volumes alone.
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

// decodeStrictly reads one JSON document into v, and nothing that v has no place for.
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
