package git

import (
	"errors"
	"fmt"
	"path"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/writ-policy/writ/translator/settings"
	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/source/ignore"
)

// addControls reads the files of a folder that state what is read.
func (t *tree) addControls(name, real string, entries []object.TreeEntry, rules ignore.Rules) (ignore.Rules, error) {
	var patterns, file []byte
	for i := range entries {
		var into *[]byte
		switch {
		case entries[i].Name == source.IgnoreFile:
			into = &patterns
		case entries[i].Name == settings.Path && name == "":
			into = &file
		default:
			continue
		}
		content, err := t.readControl(path.Join(name, entries[i].Name), path.Join(real, entries[i].Name), &entries[i])
		if err != nil {
			return rules, err
		}
		*into = content
	}
	rules, list := t.origin.Controls(name, patterns, file, t.noIgnore, rules)
	t.list = append(t.list, list...)
	return rules, nil
}

// readControl returns nil for a file that must not be read, after it has rejected it.
func (t *tree) readControl(name, real string, entry *object.TreeEntry) ([]byte, error) {
	if entry.Mode == filemode.Symlink {
		_, end, err := t.follow(real)
		var rejection *source.Rejection
		switch {
		case errors.As(err, &rejection):
			t.reject(name, rejection)
			return nil, nil
		case err != nil:
			return nil, err
		}
		entry = end
	}
	if !entry.Mode.IsFile() {
		t.reject(name, source.NotRegular)
		return nil, nil
	}
	blob, err := t.objects.EncodedObject(plumbing.BlobObject, entry.Hash)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if blob.Size() > source.MaxControlBytes {
		t.reject(name, source.FileTooLarge(blob.Size(), source.MaxControlBytes))
		return nil, nil
	}
	content, err := readBlob(blob, entry.Hash)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return append([]byte{}, content...), nil
}
