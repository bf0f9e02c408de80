package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// checkPackages compares the packages from npm in the folder npm with their checksums in npm/SHA256SUMS. The editor is built from
// these copies, so a build needs neither npm nor a network.
func checkPackages() error {
	file, err := os.Open("npm/SHA256SUMS")
	if err != nil {
		return err
	}
	defer file.Close()
	want := map[string]string{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		sum, name, _ := strings.Cut(lines.Text(), "  ")
		want[name] = sum
	}
	err = filepath.WalkDir("npm", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() == "SHA256SUMS" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(path)
		sum := sha256.Sum256(data)
		if want[name] != hex.EncodeToString(sum[:]) {
			return fmt.Errorf("%s differs from its checksum in npm/SHA256SUMS", name)
		}
		delete(want, name)
		return nil
	})
	for name := range want {
		return fmt.Errorf("%s is missing", name)
	}
	return err
}
