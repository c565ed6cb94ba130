package tests

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	markdownLink    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	markdownCode    = regexp.MustCompile("(?s)```.*?```")
	markdownHeading = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	notInAnchors    = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// Every link within the repository leads to a file, and to a heading of it.
func TestLinksOfDocuments(t *testing.T) {
	links := 0
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "bin" || entry.Name() == ".git" || entry.Name() == "testdata") {
			return filepath.SkipDir
		}
		if filepath.Ext(path) != ".md" {
			return nil
		}
		for _, target := range linksOf(t, path) {
			links++
			file, anchor, _ := strings.Cut(target, "#")
			to := path
			if file != "" {
				to = filepath.Join(filepath.Dir(path), file)
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: %s leads to no file", path, target)
			} else if anchor != "" && filepath.Ext(to) == ".md" && !slices.Contains(anchorsOf(t, to), anchor) {
				t.Errorf("%s: %s leads to no heading", path, target)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if links < 50 {
		t.Errorf("got %d links, which proves little", links)
	}
}

// The index of the documentation has every page.
func TestIndexHasEveryPage(t *testing.T) {
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("got %v, %v", pages, err)
	}
	listed := linksOf(t, "../docs/README.md")
	for _, page := range pages {
		if name := filepath.Base(page); name != "README.md" && !slices.Contains(listed, name) {
			t.Errorf("docs/README.md has no link to %s", name)
		}
	}
}

// linksOf returns the links of a page to files of the repository.
func linksOf(t *testing.T, path string) []string {
	t.Helper()
	var out []string
	for _, m := range markdownLink.FindAllStringSubmatch(markdownCode.ReplaceAllString(read(t, path), ""), -1) {
		if !strings.Contains(m[1], "://") && !strings.HasPrefix(m[1], "mailto:") {
			out = append(out, m[1])
		}
	}
	return out
}

// anchorsOf returns the anchors of the headings of a page, as GitHub makes them.
func anchorsOf(t *testing.T, path string) []string {
	t.Helper()
	var out []string
	for _, m := range markdownHeading.FindAllStringSubmatch(markdownCode.ReplaceAllString(read(t, path), ""), -1) {
		out = append(out, strings.ReplaceAll(notInAnchors.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return out
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
