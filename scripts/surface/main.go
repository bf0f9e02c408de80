// Command surface prints the public packages of this module and how many identifiers each exports, and fails if there are more than
// the limits allow.
//
//	go run ./scripts/surface            # one line per package, then the totals
//	go run ./scripts/surface -names     # the identifiers as well
//
// An identifier is an exported top-level name, an exported method of an exported type, an exported field of an exported struct or a
// method of an exported interface. Commands, tests, examples, problems and everything below a folder named internal do not count.
package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// The limits of the public surface. A user needs few names: raise them only for a new feature.
const (
	maxPackages    = 14
	maxIdentifiers = 767 // the capacity of a driver has nine
)

func main() {
	names := flag.Bool("names", false, "print each identifier")
	flag.Parse()
	packages, err := publicPackages()
	if err != nil {
		fmt.Fprintln(os.Stderr, "surface:", err)
		os.Exit(1)
	}
	total := 0
	for _, p := range packages {
		ids, err := exported(p.dir)
		if err != nil {
			fmt.Fprintf(os.Stderr, "surface: read package %s: %v\n", p.path, err)
			os.Exit(1)
		}
		total += len(ids)
		fmt.Printf("%4d  %s\n", len(ids), p.path)
		if *names {
			for _, id := range ids {
				fmt.Println("        " + id)
			}
		}
	}
	fmt.Printf("%4d  identifiers in %d packages (limits: %d in %d)\n", total, len(packages), maxIdentifiers, maxPackages)
	if len(packages) > maxPackages || total > maxIdentifiers {
		fmt.Fprintln(os.Stderr, "surface: the public surface is too large; make internal what users do not need")
		os.Exit(1)
	}
}

type pkg struct{ path, dir string }

// publicPackages lists the packages that users of the module can import.
func publicPackages() ([]pkg, error) {
	out, err := exec.Command("go", "list", "-f", "{{.ImportPath}}\t{{.Dir}}\t{{.Name}}\t{{.Module.Path}}\t{{len .GoFiles}}", "./...").Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var found []pkg
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		if len(f) != 5 || f[2] == "main" || f[4] == "0" {
			continue
		}
		below := strings.Split(strings.TrimPrefix(strings.TrimPrefix(f[0], f[3]), "/"), "/")
		private := func(folder string) bool {
			return folder == "internal" || folder == "cmd" || folder == "examples" || folder == "problems"
		}
		if !slices.ContainsFunc(below, private) {
			found = append(found, pkg{f[0], f[1]})
		}
	}
	return found, nil
}

// exported lists the exported identifiers of the package in dir, sorted.
func exported(dir string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	var ids []string
	add := func(parts ...string) { ids = append(ids, strings.Join(parts, ".")) }
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			return nil, err
		}
		for _, decl := range parsed.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				addFunc(decl, add)
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					addSpec(spec, add)
				}
			}
		}
	}
	slices.Sort(ids)
	return ids, nil
}

func addFunc(decl *ast.FuncDecl, add func(...string)) {
	if !decl.Name.IsExported() {
		return
	}
	if decl.Recv == nil {
		add(decl.Name.Name)
	} else if receiver := typeName(decl.Recv.List[0].Type); ast.IsExported(receiver) {
		add(receiver, decl.Name.Name)
	}
}

func addSpec(spec ast.Spec, add func(...string)) {
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		for _, name := range spec.Names {
			if name.IsExported() {
				add(name.Name)
			}
		}
	case *ast.TypeSpec:
		if !spec.Name.IsExported() {
			return
		}
		add(spec.Name.Name)
		var members *ast.FieldList
		switch t := spec.Type.(type) {
		case *ast.StructType:
			members = t.Fields
		case *ast.InterfaceType:
			members = t.Methods
		default:
			return
		}
		for _, member := range members.List {
			for _, name := range member.Names {
				if name.IsExported() {
					add(spec.Name.Name, name.Name)
				}
			}
		}
	}
}

// typeName returns the name of a receiver's type, without pointer and type parameters.
func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.IndexExpr:
		return typeName(e.X)
	case *ast.IndexListExpr:
		return typeName(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
