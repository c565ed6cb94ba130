package source

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/settings"
	"github.com/writ-policy/writ/translator/source/ignore"
)

// ReadFiles reads files by their paths, for commands that check files of a directory. The
// current folder is the top of the directory: its settings hold, and the patterns on the
// way to a file. A file that cannot be read is a diagnostic; one that does not hold
// documents, or that patterns leave out, is not read.
func ReadFiles(ctx context.Context, paths []string, o DirOptions) (Snapshot, diag.List, error) {
	o.Limits = o.Limits.WithDefaults()
	f := &filesReader{o: o, rules: map[string]ignore.Rules{}}
	f.rules[""] = f.controls("", ignore.Rules{}, settings.Path)
	for _, name := range paths {
		if err := ctx.Err(); err != nil {
			return Snapshot{}, nil, err
		}
		f.add(filepath.ToSlash(filepath.Clean(name)))
	}
	slices.SortFunc(f.files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	f.files = slices.CompactFunc(f.files, func(a, b File) bool { return a.Path == b.Path })
	return Snapshot{Files: f.files, Origins: []Origin{f.origin}}, f.list, nil
}

type filesReader struct {
	o      DirOptions
	rules  map[string]ignore.Rules // of each folder
	origin Origin
	files  []File
	list   diag.List
}

// add reads one file.
func (f *filesReader) add(name string) {
	switch {
	case !IsDocument(name) && !IsMisnamed(name):
		return
	case filepath.IsLocal(name) && f.ignores(name):
		f.origin.Ignored++
		return
	case IsMisnamed(name):
		f.list.Add(Misnamed(name))
		return
	}
	content, rejection := readRegular(name, f.o.Limits.MaxFileBytes)
	if rejection != nil {
		f.list.Add(rejection.At(name))
		return
	}
	f.files = append(f.files, NewFile(name, content))
}

// ignores reports whether patterns leave out a file or a folder that contains it.
func (f *filesReader) ignores(name string) bool {
	segments := strings.Split(name, "/")
	for i := range segments {
		below := strings.Join(segments[:i+1], "/")
		if f.rulesOf(strings.Join(segments[:i], "/")).Ignores(below, i+1 < len(segments)) {
			return true
		}
	}
	return false
}

// rulesOf returns the patterns that hold in a folder.
func (f *filesReader) rulesOf(folder string) ignore.Rules {
	rules, known := f.rules[folder]
	if !known {
		above := path.Dir(folder)
		if above == "." {
			above = ""
		}
		rules = f.controls(folder, f.rulesOf(above), "")
		f.rules[folder] = rules
	}
	return rules
}

// controls reads the files of a folder that state what is read; file is the path of the
// settings, empty for none.
func (f *filesReader) controls(folder string, rules ignore.Rules, file string) ignore.Rules {
	read := func(name string) []byte {
		content, rejection := readRegular(name, MaxControlBytes)
		if rejection != nil && rejection != notFound {
			f.list.Add(rejection.At(name))
		}
		return content
	}
	var stated []byte
	if file != "" {
		stated = read(file)
	}
	rules, list := f.origin.Controls(folder, read(path.Join(folder, IgnoreFile)), stated, f.o.NoIgnore, rules)
	f.list = append(f.list, list...)
	return rules
}

// readRegular reads a regular file of at most limit bytes. It opens nothing else, because
// a pipe waits for its writer.
func readRegular(name string, limit int64) ([]byte, *Rejection) {
	info, err := os.Stat(filepath.FromSlash(name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, notFound
	case err != nil:
		return nil, unreadable(err)
	case !info.Mode().IsRegular():
		return nil, NotRegular
	}
	file, err := os.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, unreadable(err)
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, limit+1))
	switch {
	case err != nil:
		return nil, unreadable(err)
	case int64(len(content)) > limit:
		return nil, FileTooLarge(info.Size(), limit)
	case content == nil:
		content = []byte{}
	}
	return content, nil
}
