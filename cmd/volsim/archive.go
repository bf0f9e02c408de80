package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/volsim/volsim/internal/tools/dump"
)

// maxArchive bounds what is read from one archive.
const maxArchive = 1 << 30

// isArchive reports whether a file is an archive, or compressed, by its name.
func isArchive(name string) bool {
	return slices.ContainsFunc([]string{".tar", ".tgz", ".gz"}, func(end string) bool { return strings.HasSuffix(name, end) })
}

// readArchive returns the manifests in an archive of tar, which may be compressed with gzip, or the manifest in a file that is only compressed.
func readArchive(name string) ([]dump.File, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, fileError(name, err)
	}
	defer file.Close()
	var in io.Reader = file
	inner := name
	if !strings.HasSuffix(name, ".tar") {
		unzipped, err := gzip.NewReader(file)
		if err != nil {
			return nil, fmt.Errorf("%s: not compressed with gzip: %w", name, err)
		}
		in, inner = unzipped, strings.TrimSuffix(name, ".gz")
	}
	all := &io.LimitedReader{R: in, N: maxArchive}
	var files []dump.File
	if strings.HasSuffix(inner, ".tar") || strings.HasSuffix(inner, ".tgz") {
		files, err = readTar(name, all)
	} else {
		var data []byte
		data, err = io.ReadAll(all)
		files = []dump.File{{Name: inner, Data: data}}
	}
	switch {
	case all.N == 0:
		return nil, fmt.Errorf("%s: larger than 1 GiB when it is unpacked: unpack it, and give -f the part with the manifests", name)
	case err != nil:
		return nil, fmt.Errorf("%s: read archive: %w", name, err)
	case len(files) == 0:
		return nil, fmt.Errorf("%s: archive contains no manifest (.yaml, .yml, .json)", name)
	}
	return files, nil
}

// readTar returns the manifests in an archive. Like those in hidden directories, hidden files are skipped.
func readTar(name string, in io.Reader) (files []dump.File, err error) {
	for r := tar.NewReader(in); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		entry := path.Clean(header.Name)
		hidden := slices.ContainsFunc(strings.Split(entry, "/"), func(s string) bool { return len(s) > 1 && strings.HasPrefix(s, ".") && s != ".." })
		if header.Typeflag != tar.TypeReg || hidden || !isManifest(entry) {
			continue
		}
		data, err := io.ReadAll(r)
		if err != nil {
			return nil, err
		}
		files = append(files, dump.File{Name: name + "/" + entry, Data: data, Found: true})
	}
}
