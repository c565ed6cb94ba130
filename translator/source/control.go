package source

import (
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/settings"
	"github.com/writ-policy/writ/translator/source/ignore"
)

// IgnoreFile is the name of the files of patterns, which concern their folder.
const IgnoreFile = ".writignore"

// MaxControlBytes bounds a file of patterns or settings.
const MaxControlBytes = 1 << 20

// control is a file that states what is read, as it was when it was read.
type control struct {
	path string
	hash [sha256.Size]byte
}

// Controls interprets the files of a folder that state what is read: contents are nil for
// those that do not exist. The name of the top of a source is "". The settings of the top
// are set in origin. Controls is for implementations of Source.
func (o *Origin) Controls(name string, patterns, file []byte, noIgnore bool, rules ignore.Rules) (ignore.Rules, diag.List) {
	var list diag.List
	if file != nil {
		var read settings.File
		read, list = settings.Read(settings.Path, file)
		o.Settings, o.Accepted = read.Settings, read.Accepted
		o.SettingsFile = NewFile(settings.Path, file)
		if !noIgnore {
			rules = rules.WithPatterns(name, read.Ignore)
		}
	}
	if patterns != nil && !noIgnore {
		rules = rules.With(name, patterns)
	}
	return rules, list
}

// addControls reads the files of a folder that state what is read.
func (l *listing) addControls(name, real string, children []fs.DirEntry, rules ignore.Rules) (ignore.Rules, error) {
	var patterns, file []byte
	for _, child := range children {
		var into *[]byte
		switch {
		case child.Name() == IgnoreFile:
			into = &patterns
		case child.Name() == settings.Path && name == "":
			into = &file
		default:
			continue
		}
		content, err := l.readControl(path.Join(name, child.Name()), filepath.Join(real, child.Name()))
		if err != nil {
			return rules, err
		}
		*into = content
	}
	rules, list := l.origin.Controls(name, patterns, file, l.d.o.NoIgnore, rules)
	l.diagnostics = append(l.diagnostics, list...)
	return rules, nil
}

// readControl returns nil for a file that must not be read, after it has rejected it.
func (l *listing) readControl(name, real string) ([]byte, error) {
	target, err := filepath.EvalSymlinks(real)
	if err != nil {
		l.reject(name, BrokenLink)
		return nil, nil
	}
	info, err := os.Lstat(target)
	switch {
	case err != nil:
		return nil, listedError(name, err)
	case l.isOutside(target):
		l.reject(name, OutsideCheckout)
		return nil, nil
	case !info.Mode().IsRegular():
		l.reject(name, NotRegular)
		return nil, nil
	case info.Size() > MaxControlBytes:
		l.reject(name, FileTooLarge(info.Size(), MaxControlBytes))
		return nil, nil
	}
	if target != real {
		l.hasLinks = true
		l.folders[filepath.Dir(target)] = struct{}{}
	}
	f, err := l.open(target)
	if err != nil {
		return nil, listedError(name, err)
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, MaxControlBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", name, TrimPath(err))
	case len(content) > MaxControlBytes:
		return nil, errChanged // it has grown since
	}
	l.controls = append(l.controls, control{name, sha256.Sum256(content)})
	if content == nil {
		content = []byte{}
	}
	return content, nil
}

// ignores reports whether patterns leave a file or folder out, and counts it.
func (l *listing) ignores(rules ignore.Rules, name string, isFolder bool) bool {
	if !rules.Ignores(name, isFolder) {
		return false
	}
	l.ignored++
	if isFolder {
		l.ignoredFolders[name] = struct{}{}
	}
	return true
}

// isOutside reports whether a path without links is outside of the checkout.
func (l *listing) isOutside(target string) bool {
	return l.top != "" && (!isWithin(l.top, target) || isWithin(filepath.Join(l.top, ".git"), target))
}
