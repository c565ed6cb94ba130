package tests

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// exporter is a package with what it exports, each name with the names of the same
// package that its declaration shows to a caller.
type exporter struct {
	shows map[string][]string
	used  map[string]bool
}

// Each exported name is used by another package, tests included, or is shown by one
// that is: as a parameter, result, field or method. Package writ and the client
// are the APIs that are promised, and export for others.
func TestExportedNamesAreUsed(t *testing.T) {
	packages := make(map[string]*exporter)
	walkSources(t, func(file string, parsed *ast.File) {
		dir := path.Dir(file)
		if dir == "." || dir == "client" || strings.HasPrefix(dir, "tests") || parsed.Name.Name == "main" || strings.HasSuffix(file, "_test.go") {
			return
		}
		if packages[dir] == nil {
			packages[dir] = &exporter{shows: make(map[string][]string), used: make(map[string]bool)}
		}
		packages[dir].declare(parsed)
	})
	walkSources(t, func(_ string, parsed *ast.File) { use(packages, parsed) })
	names := 0
	var unused []string
	for dir, p := range packages {
		for name := range p.used {
			p.show(name, make(map[string]bool))
		}
		for name := range p.shows {
			if names++; !p.used[name] {
				unused = append(unused, dir+"."+name)
			}
		}
	}
	slices.Sort(unused)
	if len(unused) > 0 {
		t.Errorf("%d exported names are used by no other package:\n%s", len(unused), strings.Join(unused, "\n"))
	}
	if names < 100 {
		t.Errorf("found %d exported names, which cannot be all", names)
	}
}

// declare adds the exported names of a file.
func (p *exporter) declare(file *ast.File) {
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil && ast.IsExported(name) { // a method is shown by its type
				name = receiver(d.Recv.List[0].Type)
				p.shows[name] = append(p.shows[name], shown(d.Type)...)
			} else if d.Recv == nil {
				p.shows[name] = append(p.shows[name], shown(d.Type)...)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				p.declareSpec(s)
			}
		}
	}
	for name := range p.shows {
		if !ast.IsExported(name) {
			delete(p.shows, name)
		}
	}
}

func (p *exporter) declareSpec(s ast.Spec) {
	switch s := s.(type) {
	case *ast.TypeSpec:
		p.shows[s.Name.Name] = append(p.shows[s.Name.Name], shown(s.Type)...)
	case *ast.ValueSpec:
		for _, name := range s.Names {
			p.shows[name.Name] = append(p.shows[name.Name], shown(s)...)
		}
	}
}

// shown returns the exported names in a declaration, without fields that a caller
// cannot reach and without the values of variables that state a type.
func shown(n ast.Node) []string {
	var names []string
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt, *ast.SelectorExpr:
			return false
		case *ast.Field:
			return len(n.Names) == 0 || slices.ContainsFunc(n.Names, func(name *ast.Ident) bool { return ast.IsExported(name.Name) || !isField(n) })
		case *ast.Ident:
			if ast.IsExported(n.Name) {
				names = append(names, n.Name)
			}
		}
		return true
	})
	return names
}

// isField reports whether f is a field of a struct with a tag or a comment; parameters
// have neither.
func isField(f *ast.Field) bool { return f.Tag != nil || f.Doc != nil || f.Comment != nil }

func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// show marks what a used name shows as used.
func (p *exporter) show(name string, seen map[string]bool) {
	if seen[name] {
		return
	}
	seen[name] = true
	for _, other := range p.shows[name] {
		if _, ok := p.shows[other]; ok {
			p.used[other] = true
			p.show(other, seen)
		}
	}
}

// use marks the names of imported packages that a file uses. A test may be a package of
// its own in the folder of the one it imports.
func use(packages map[string]*exporter, file *ast.File) {
	imported := make(map[string]*exporter)
	for _, spec := range file.Imports {
		folder, own := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), module+"/")
		if !own || packages[folder] == nil {
			continue
		}
		name := path.Base(folder)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		imported[name] = packages[folder]
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && imported[x.Name] != nil {
				imported[x.Name].used[s.Sel.Name] = true
			}
		}
		return true
	})
}

// walkSources calls f for each Go file below the top, tests included, by its path.
func walkSources(t *testing.T, f func(file string, parsed *ast.File)) {
	t.Helper()
	const root = ".."
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		rel = path.Clean(filepath.ToSlash(rel))
		if entry.IsDir() {
			if name := entry.Name(); rel != "." && (strings.HasPrefix(name, ".") || name == "testdata") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(file, ".go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			return err
		}
		f(rel, parsed)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
