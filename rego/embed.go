// Package rego is the hand-written Rego library that decides: the same in every
// bundle. Go only embeds it; what it means is in its modules and their tests.
package rego

import (
	"embed"
	"io/fs"
	"strings"
)

//go:embed writ
var library embed.FS

//go:embed schemas
var schemas embed.FS

// Schemas returns the JSON Schemas of requests by the name of their point. The map is the
// caller's.
func Schemas() map[string][]byte {
	files := make(map[string][]byte)
	entries, err := schemas.ReadDir("schemas")
	for _, entry := range entries {
		if point, _, _ := strings.Cut(entry.Name(), "."); err == nil && !strings.HasSuffix(point, "_tables") {
			files[point], err = schemas.ReadFile("schemas/" + entry.Name())
		}
	}
	if err != nil {
		panic(err) // an embedded file that cannot be read is a broken build
	}
	return files
}

// Files returns the library's modules by their path in a bundle, such as
// writ/access/access.rego, without their tests. The map is the caller's.
func Files() map[string][]byte {
	files := make(map[string][]byte)
	err := fs.WalkDir(library, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".rego") || strings.HasSuffix(path, "_test.rego") {
			return err
		}
		files[path], err = fs.ReadFile(library, path)
		return err
	})
	if err != nil {
		panic(err) // an embedded file that cannot be read is a broken build
	}
	return files
}
