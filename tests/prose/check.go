package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A finding is one match of a pattern.
type finding struct {
	file    string
	line    int
	match   string
	context string // up to 60 bytes on either side of the match
	instead string
}

func (f finding) String() string {
	return fmt.Sprintf("%s:%d: %q: %s (in %q)", f.file, f.line, f.match, f.instead, f.context)
}

// check searches the files below roots in their order and counts them.
func check(roots []string, allowed *allowList) (findings []finding, files int, err error) {
	for _, root := range roots {
		err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if entry.IsDir() {
				if file != root && skipped(file) {
					return fs.SkipDir
				}
				return nil
			}
			extract := extractorOf(file)
			if extract == nil {
				return nil
			}
			content, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			files++
			name := filepath.ToSlash(filepath.Clean(file))
			findings = append(findings, checkFile(name, string(content), extract, allowed)...)
			return nil
		})
		if err != nil {
			return nil, 0, err
		}
	}
	return findings, files, nil
}

func checkFile(name, content string, extract extractor, allowed *allowList) []finding {
	texts := append([]text{{line: 1, content: splitName(filepath.Base(name))}}, extract(content)...)
	var findings []finding
	for _, t := range texts {
		for _, f := range search(t) {
			f.file = name
			if !allowed.allows(f) {
				findings = append(findings, f)
			}
		}
	}
	return findings
}

// skipped are folders without prose of the project: the index of git, built
// files, and the data of the conformance suites.
func skipped(dir string) bool {
	switch filepath.Base(dir) {
	case ".git", "bin":
		return true
	}
	suite, _ := filepath.Match("tests/conformance/*", filepath.ToSlash(filepath.Clean(dir)))
	return suite
}

// spaces keeps the length of a text.
var spaces = strings.NewReplacer("\n", " ", "\t", " ")

// search matches all patterns on one text.
func search(t text) []finding {
	flat := spaces.Replace(t.content)
	var findings []finding
	for _, p := range patterns {
		for _, at := range p.match.FindAllStringIndex(flat, -1) {
			before, match, after := flat[:at[0]], flat[at[0]:at[1]], flat[at[1]:]
			if p.except != nil && p.except(before, match, after) {
				continue
			}
			findings = append(findings, finding{
				line:    t.line + strings.Count(t.content[:at[0]], "\n"),
				match:   match,
				context: strings.TrimSpace(flat[max(0, at[0]-60):min(len(flat), at[1]+60)]),
				instead: p.instead,
			})
		}
	}
	return findings
}
