package source

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// IsDocument reports whether a file of this name holds documents or Rego.
func IsDocument(name string) bool {
	switch path.Ext(name) {
	case ".yaml", ".yml", ".json", ".rego":
		return true
	}
	return false
}

// IsMisnamed reports whether a file would hold documents or Rego if the ending of its name were in
// lower case.
func IsMisnamed(name string) bool {
	return !IsDocument(name) && IsDocument(strings.ToLower(name))
}

// IsPrintable reports whether text is valid UTF-8 without control characters, so that it is
// safe in terminals and logs.
func IsPrintable(text string) bool {
	if !utf8.ValidString(text) {
		return false
	}
	for _, r := range text {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

// printable returns text with unprintable characters escaped, because names of documents
// reach terminals and logs.
func printable(text string) string {
	if IsPrintable(text) {
		return text
	}
	return strings.Trim(strconv.QuoteToASCII(text), `"`)
}

// TrimPath removes the operation and the absolute path from a file error, because errors
// name files as documents do. Other errors are returned unchanged.
func TrimPath(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err
	}
	return err
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
