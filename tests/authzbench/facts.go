package main

import (
	"debug/buildinfo"
	"embed"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"text/template"
)

// What several adapters write facts with.

// eachBinding binds what the world has.
func eachBinding(w *world, a interface{ change(*binding, bool) error }) error {
	for i := range w.Bindings {
		if err := a.change(&w.Bindings[i], true); err != nil {
			return err
		}
	}
	return nil
}

func mapped[T, U any](list []T, f func(T) U) []U {
	out := make([]U, len(list))
	for i, one := range list {
		out[i] = f(one)
	}
	return out
}

// split returns the names of subjects by their kind.
func split(subjects []string) (users, groups []string) {
	for _, subject := range subjects {
		if name, ok := strings.CutPrefix(subject, "group:"); ok {
			groups = append(groups, name)
		} else {
			users = append(users, strings.TrimPrefix(subject, "user:"))
		}
	}
	return users, groups
}

// models has what is written in the languages of the systems.
//
//go:embed models
var models embed.FS

var templates = template.Must(template.ParseFS(models, "models/*"))

// model is a file of models with the permissions, VERB_RESOURCE, in the place of its template.
func (w *world) model(name string) string {
	var permissions []string
	for _, verb := range w.Shape.Verbs {
		for _, resource := range w.Shape.Resources {
			permissions = append(permissions, verb+"_"+resource)
		}
	}
	return render(name, permissions)
}

func render(name string, data any) string {
	var text strings.Builder
	if err := templates.ExecuteTemplate(&text, name, data); err != nil {
		panic(err) // a template of this folder
	}
	return text.String()
}

// writeFile writes a file of a system that starts, and returns its path.
func writeFile(dir, name string, content []byte) (string, error) {
	file := filepath.Join(dir, name)
	return file, os.WriteFile(file, content, 0o600)
}

// nested is an object of objects, as JSON has them.
type nested map[string]any

// at returns the object at a path, which is made if it is not there.
func (n nested) at(path ...string) nested {
	for _, name := range path {
		inner, ok := n[name].(nested)
		if !ok {
			inner = make(nested)
			n[name] = inner
		}
		n = inner
	}
	return n
}

// drop removes what is at a path, and the objects that are then empty.
func (n nested) drop(path ...string) {
	if len(path) > 1 {
		if inner := n.at(path[0]); len(inner) > 0 {
			inner.drop(path[1:]...)
		}
		if len(n.at(path[0])) > 0 {
			return
		}
	}
	delete(n, path[0])
}

func (n nested) set(value any, path ...string) {
	n.at(path[:len(path)-1]...)[path[len(path)-1]] = value
}

// linkedVersion is the version of a module that is linked into a program, or into this one if it
// is empty.
func linkedVersion(program, module string) string {
	info, ok := debug.ReadBuildInfo()
	if program != "" {
		var err error
		if info, err = buildinfo.ReadFile(program); err != nil {
			return "not built"
		}
	} else if !ok {
		return ""
	}
	for _, m := range info.Deps {
		if m.Path == module {
			return m.Version
		}
	}
	return info.Main.Version
}
