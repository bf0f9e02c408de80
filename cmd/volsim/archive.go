package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/volsim/volsim/internal/tools/dump"
)

// maxArchive bounds what is read from one archive.
const maxArchive = 1 << 30

// isArchive reports whether a file is an archive, or compressed, by its name.
func isArchive(name string) bool {
	return slices.ContainsFunc([]string{".tar", ".tgz", ".gz"}, func(end string) bool { return strings.HasSuffix(name, end) })
}

// readArchive returns the manifests in a file that isArchive accepts.
func readArchive(name string) ([]dump.File, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, fileError(name, err)
	}
	defer file.Close()
	inner := strings.TrimSuffix(name, ".gz")
	return unpack(name, inner, file, !strings.HasSuffix(name, ".tar"), strings.HasSuffix(inner, ".tar") || strings.HasSuffix(inner, ".tgz"))
}

// unpack returns the manifests in an archive of tar, which may be compressed with gzip, or the manifest that is only compressed, named inner.
func unpack(name, inner string, in io.Reader, compressed, tarred bool) ([]dump.File, error) {
	if compressed {
		unzipped, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("%s: not compressed with gzip: %w", name, err)
		}
		in = unzipped
	}
	all := &io.LimitedReader{R: in, N: maxArchive}
	var files []dump.File
	var err error
	if tarred {
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

// readStdin returns the manifests of the standard input, which, like a file, may be an archive. Its content tells, as it has no name.
func readStdin(data []byte) ([]dump.File, error) {
	const name = "stdin"
	files := []dump.File{{Name: name, Data: data}}
	if bytes.HasPrefix(data, []byte("\x1f\x8b")) {
		unzipped, err := unpack(name, name, bytes.NewReader(data), true, false)
		if err != nil {
			return nil, err
		}
		files = unzipped
	}
	const magic = 257 // where the header of tar has its name
	if content := files[0].Data; len(content) > magic && bytes.HasPrefix(content[magic:], []byte("ustar")) {
		return unpack(name, name, bytes.NewReader(content), false, true)
	}
	return files, nil
}

// unread are the first bytes of files that have to be unpacked.
var unread = []struct{ magic, says string }{
	{"PK\x03\x04", "a zip archive: unpack it first"},
	{"\xfd7zXZ\x00", "compressed with xz: unpack it first"},
	{"\x28\xb5\x2f\xfd", "compressed with zstd: unpack it first"},
	{"BZh", "compressed with bzip2: unpack it first"},
	{"\x1f\x8b", "compressed with gzip: unpack it first, or let its name end in .gz"},
}

// textOf returns the text of a file in UTF-8. PowerShell writes UTF-16 with the operator >.
func textOf(file dump.File) (dump.File, error) {
	for _, known := range unread {
		if bytes.HasPrefix(file.Data, []byte(known.magic)) {
			return file, fmt.Errorf("%s: %s", file.Name, known.says)
		}
	}
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(file.Data, []byte("\xff\xfe")):
		order = binary.LittleEndian
	case bytes.HasPrefix(file.Data, []byte("\xfe\xff")):
		order = binary.BigEndian
	default:
		return file, nil
	}
	var units []uint16
	for at := 2; at+1 < len(file.Data); at += 2 {
		units = append(units, order.Uint16(file.Data[at:]))
	}
	file.Data = []byte(string(utf16.Decode(units)))
	return file, nil
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
