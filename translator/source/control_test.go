package source

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/translator/settings"
)

// tree writes files below a new folder.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func pathsOf(s Snapshot) (paths []string) {
	for _, f := range s.Files {
		paths = append(paths, f.Path)
	}
	return paths
}

func TestPatternsLeaveFilesOut(t *testing.T) {
	files := map[string]string{
		".writignore": "/charts/\n*.tmpl.yaml\n", ".writ.yaml": "default-namespace: shop\nignore: [old.yaml]\n",
		"a.yaml": "", "old.yaml": "", "charts/a.yaml": "", "charts/b/c.yaml": "", "x/charts/a.yaml": "", "x/a.tmpl.yaml": "", "x/notes.txt": "",
		"x/.writignore": "!b.tmpl.yaml\n", "x/b.tmpl.yaml": "", "x/.writ.yaml": "no settings here",
	}
	dir := tree(t, files)
	snapshot, list, err := Dir(dir, DirOptions{}).Snapshot(t.Context())
	if err != nil || len(list) > 0 {
		t.Fatal(err, list)
	}
	if got, want := pathsOf(snapshot), []string{"a.yaml", "x/b.tmpl.yaml", "x/charts/a.yaml"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	origin := snapshot.Origins[0]
	if origin.Ignored != 3 || origin.Settings.Text(settings.DefaultNamespace) != "shop" || origin.SettingsFile.Path != ".writ.yaml" {
		t.Errorf("got %+v", origin)
	}
	snapshot, _, err = Dir(dir, DirOptions{NoIgnore: true}).Snapshot(t.Context())
	if err != nil || len(snapshot.Files) != 7 || snapshot.Origins[0].Ignored != 0 || snapshot.Origins[0].Settings == nil {
		t.Errorf("without patterns: got %q, %v", pathsOf(snapshot), err)
	}
}

// A change of the settings or of the patterns is a change of the snapshot.
func TestControlsAreReadAgain(t *testing.T) {
	dir := tree(t, map[string]string{"a.yaml": "a", "b.yaml": "b"})
	d := Dir(dir, DirOptions{})
	keys := map[string]string{}
	for _, step := range []struct{ name, file, text string }{
		{"neither", "", ""}, {"a setting", ".writ.yaml", "strict-kinds: true"}, {"another value", ".writ.yaml", "strict-kinds: false"},
		{"a pattern", ".writignore", "b.yaml"},
	} {
		if step.file != "" {
			if err := os.WriteFile(filepath.Join(dir, step.file), []byte(step.text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		snapshot, list, err := d.Snapshot(t.Context())
		if err != nil || len(list) > 0 {
			t.Fatal(step.name, err, list)
		}
		if before, seen := keys[snapshot.Key()]; seen {
			t.Errorf("%s: the key is that of %s", step.name, before)
		}
		keys[snapshot.Key()] = step.name
	}
}

func TestControlsThatAreRejected(t *testing.T) {
	for _, row := range []struct {
		name  string
		files map[string]string
		link  string // target of .writignore
		want  string
	}{
		{"a mistake", map[string]string{".writ.yaml": "strict: true"}, "", ".writ.yaml unknown-field"},
		{"a large file", map[string]string{".writignore": strings.Repeat("x\n", MaxControlBytes)}, "", ".writignore too-large"},
		{"a folder", map[string]string{".writignore/x": ""}, "", ".writignore not-regular"},
		{"a broken link", map[string]string{"a.yaml": ""}, "gone", ".writignore broken-link"},
		{"a link out of the checkout", map[string]string{".git/HEAD": "", "a.yaml": ""}, "/etc/hostname", ".writignore outside-checkout"},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := tree(t, row.files)
			if row.link != "" {
				if err := os.Symlink(row.link, filepath.Join(dir, IgnoreFile)); err != nil {
					t.Fatal(err)
				}
			}
			_, list, err := Dir(dir, DirOptions{}).Snapshot(t.Context())
			if err != nil || len(list) != 1 || list[0].File+" "+string(list[0].Code) != row.want {
				t.Errorf("got %v, %v, want %s", list, err, row.want)
			}
		})
	}
}

// Files are read by their paths; what cannot be read is a diagnostic.
func TestReadFiles(t *testing.T) {
	dir := tree(t, map[string]string{
		"a.yaml": "a", "notes.txt": "", "x/b.yaml": "b", "x/y/c.yaml": "c", "x/D.YAML": "d", "x/y/E.YML": "e", "x/.writignore": "y\n", ".writ.yaml": "strict-kinds: true", "folder.yaml/x": "",
	})
	t.Chdir(dir)
	outside := filepath.Join(tree(t, map[string]string{"o.yaml": "o"}), "o.yaml")
	snapshot, list, err := ReadFiles(t.Context(), []string{"x/b.yaml", "a.yaml", "./a.yaml", "notes.txt", "x/y/c.yaml", "x/D.YAML", "x/y/E.YML", "gone.yaml", "folder.yaml", outside}, DirOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := pathsOf(snapshot), []string{filepath.ToSlash(outside), "a.yaml", "x/b.yaml"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if o := snapshot.Origins[0]; o.Ignored != 2 || !o.Settings.Is(settings.StrictKinds) {
		t.Errorf("got %+v", o)
	}
	var codes []string
	for _, d := range list {
		codes = append(codes, d.File+" "+string(d.Code))
	}
	if want := []string{"x/D.YAML file-name", "gone.yaml unreadable", "folder.yaml not-regular"}; !slices.Equal(codes, want) {
		t.Errorf("got %q, want %q", codes, want)
	}
}

// A file of a directory that may not be read is a diagnostic; the other files are read.
func TestUnreadableFile(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("the superuser reads every file")
	}
	dir := tree(t, map[string]string{"a.yaml": "a", "b.yaml": "b"})
	if err := os.Chmod(filepath.Join(dir, "a.yaml"), 0); err != nil {
		t.Fatal(err)
	}
	snapshot, list, err := Dir(dir, DirOptions{}).Snapshot(t.Context())
	if err != nil || len(list) != 1 || list[0].Code != "unreadable" || !slices.Equal(pathsOf(snapshot), []string{"b.yaml"}) {
		t.Errorf("got %q, %v, %v", pathsOf(snapshot), list, err)
	}
}
