package settings

import (
	"strings"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
)

// File is what a file of settings states.
type File struct {
	Settings Settings
	// Ignore are patterns of files that are not read, as in a .writignore.
	Ignore []string
	// Accepted are the warnings that are not reported.
	Accepted []Acceptance
	// Content is the text of the file.
	Content []byte
}

// ignoreKey is the key of File.Ignore.
const ignoreKey = "ignore"

// Read reads a file of settings. It returns an error for each key or value that is not
// valid, at its position in the file with the given path.
func Read(path string, content []byte) (File, diag.List) {
	f := File{Settings: Settings{}, Content: content}
	d, root := syntax.Parse(path, content)
	if root == nil {
		return f, d.Diags
	}
	c := d.Cursor(root, "the file of settings", false)
	if c == nil {
		return f, d.Diags
	}
	for _, key := range switches {
		if value, at := c.Boolean(string(key), false); at != nil {
			text := "false"
			if value {
				text = "true"
			}
			f.Settings[key] = Value{text, d.At(at)}
		}
	}
	for _, key := range texts {
		if n := c.Text(string(key)); n != nil && f.check(d, key, n) {
			f.Settings[key] = Value{n.Value, d.At(n)}
		}
	}
	for _, key := range lists {
		f.readList(d, c, key)
	}
	patterns, _ := c.Texts(ignoreKey)
	for _, n := range patterns {
		if strings.ContainsAny(n.Value, "\n\r") {
			d.Fail(n, diag.BadValue, "write each pattern as an item of its own", "a pattern must be one line")
		}
		f.Ignore = append(f.Ignore, n.Value)
	}
	f.readAccepted(d, c)
	c.Done()
	return f, d.Diags
}

// readList reads a list of texts, which a flag separates by commas.
func (f *File) readList(d *syntax.Decoder, c *syntax.Cursor, key Key) {
	items, at := c.Texts(string(key))
	for _, n := range items {
		if n.Value == "" || strings.Contains(n.Value, ",") {
			d.Fail(n, diag.BadValue, "", "%s %s: must not be empty and not have a comma", key, syntax.Quote(n.Value))
		}
	}
	if at != nil {
		f.Settings[key] = Value{strings.Join(syntax.Values(items), ","), d.At(at)}
	}
}

func (f *File) check(d *syntax.Decoder, key Key, n *syntax.Node) bool {
	err := Check(key, n.Value)
	if err != nil {
		d.Fail(n, diag.BadValue, "", "%v", err)
	}
	return err == nil
}
