package bundles

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/rego"
	"github.com/writ-policy/writ/translator/tables"
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantError checks that err contains want, or is nil if want is empty.
func wantError(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("got error %v, want none", err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("got error %v, want one with %q", err, want)
	}
}

// translated returns tables with n roles, each bound to its own user, and one bound to a group.
func translated(n int) *tables.Access {
	roles, bindings, subjects := map[string]tables.Role{}, map[string]tables.Binding{}, map[string][]string{}
	for i := range n {
		name := fmt.Sprintf("r%06d", i)
		role, binding := tables.RoleKey("kubernetes", "", name), tables.BindingKey("kubernetes", "hammer", name)
		roles[role] = tables.Role{
			Family: "kubernetes", Kind: "ClusterRole", Name: name, Source: name + ".yaml:1",
			Kubernetes: []tables.KubernetesRule{{Source: name + ".yaml:6", KubernetesLists: &tables.KubernetesLists{Verbs: []string{"get", "list"}, Groups: []string{""}, Resources: []string{"pods"}}}},
		}
		bindings[binding] = tables.Binding{
			Family: "kubernetes", APIVersion: "rbac.authorization.k8s.io/v1", Kind: "RoleBinding",
			Namespace: "hammer", Name: name, Role: role, Source: name + ".yaml:9",
		}
		subjects["user:u"+name] = []string{binding}
		subjects["group:all"] = append(subjects["group:all"], binding)
	}
	access := &tables.Access{
		Master: "master", Roles: tables.MapOf(roles), Bindings: tables.MapOf(bindings), Extensions: []string{},
	}
	if n > 0 {
		access.Subjects.Namespaces = tables.MapOf(map[string]tables.Map[[]string]{"hammer": tables.MapOf(subjects)})
	}
	return access
}

const dispatch = "package compiled.extensions\n\nholds(\"\", _, _) := false\n"

const generated = `package compiled.tests.access.r_test

test_true if 1 == 1
`

// dataOf returns the data of tables by their names.
func dataOf(t testing.TB, members map[string]any) tables.Text {
	data, err := json.Marshal(members)
	check(t, err)
	return tables.TextOf(data)
}

func accessData(t testing.TB, access *tables.Access) tables.Text {
	return dataOf(t, map[string]any{"access": access})
}

// assembled returns the bundle of tables and of the files that a translator emits.
func assembled(t testing.TB, list tables.List, members map[string]any) *Bundle {
	b, err := assemble(list, nil, BuildOptions{}, dataOf(t, members), rego.Files(), compiledFiles())
	check(t, err)
	return b
}

// compiledFiles returns the files that a translator emits beside the data.
func compiledFiles() map[string][]byte {
	return map[string][]byte{
		"compiled/extensions/dispatch.rego":   []byte(dispatch),
		"compiled/tests/access/r_test.rego":   []byte(generated),
		"writ/extensions/vip/vip_2erego.rego": []byte("package writ.extensions.vip\n\nholds(_, _) if 1 == 1\n"),
	}
}

func sample(t testing.TB) *Bundle {
	t.Helper()
	access := translated(3)
	b := assembled(t, tables.List{access}, map[string]any{"access": access})
	b.Manifest.Metadata.Version = "v0"
	return b
}

func tarball(t testing.TB, b *Bundle) []byte {
	t.Helper()
	var out bytes.Buffer
	check(t, b.WriteTar(&out))
	return out.Bytes()
}

// Visibility tables are read back; without such documents they are nil, whether the bundle was
// built or read.
func TestVisibility(t *testing.T) {
	policy := tables.VisibilityPolicy{Namespace: "ns", Name: "p", Priority: 7, Rules: []tables.VisibilityRule{}}
	for _, row := range []struct {
		name   string
		tables tables.Visibility
		empty  bool
	}{
		{"none", tables.Visibility{}, true},
		{"policies", tables.Visibility{Policies: []tables.VisibilityPolicy{policy, policy}}, false},
		{"a source", tables.Visibility{Sources: []tables.MetricSource{{Name: "s"}}}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			access := translated(0)
			members := map[string]any{"access": access}
			if !row.empty {
				members["visibility_tables"] = row.tables
			}
			made := assembled(t, tables.List{access, &row.tables}, members)
			read, err := Read(bytes.NewReader(tarball(t, made)))
			check(t, err)
			want := &row.tables
			if row.empty {
				want = nil
			}
			for name, got := range map[string]*tables.Visibility{"built": tables.Of[*tables.Visibility](made.Tables), "read": tables.Of[*tables.Visibility](read.Tables)} {
				first, _ := json.Marshal(got)
				second, _ := json.Marshal(want)
				if !bytes.Equal(first, second) {
					t.Errorf("%s: got %s, want %s", name, first, second)
				}
			}
		})
	}
}

func TestAssembleErrors(t *testing.T) {
	access := translated(1)
	data := accessData(t, access)
	rows := []struct {
		name string
		path string
		want string
	}{
		{"module of the library", "writ/access/access.rego", "duplicate"},
		{"module that differs in case", "writ/access/Access.rego", "only in case"},
		{"file instead of a folder", "writ/access", "unknown kind of file"},
		{"folder instead of a file", "writ/access/access.rego/x.rego", "is a file"},
		{"outside of the roots", "system/authz.rego", "must be below compiled"},
		{"at the top", "x.rego", "must be below compiled"},
		{"above the top", "writ/../../x.rego", "must be a relative path"},
		{"absolute", "/writ/x.rego", "must be a relative path"},
		{"with a backslash", `writ\x.rego`, "must be a relative path"},
		{"other data", "writ/data.json", "unknown kind of file"},
		{"hidden", "writ/.x.rego", "unknown kind of file"},
		{"second data", dataPath, "duplicate"},
		{"second manifest", "compiled/.manifest", "unknown kind of file"},
		{"webassembly", "compiled/policy.wasm", "unknown kind of file"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			_, err := assemble(tables.List{access}, nil, BuildOptions{}, data, rego.Files(), compiledFiles(), map[string][]byte{row.path: nil})
			wantError(t, err, row.want)
			wantError(t, err, fmt.Sprintf("%q", row.path))
		})
	}
	_, err := assemble(nil, nil, BuildOptions{}, data, rego.Files())
	wantError(t, err, "no access tables")
}

func TestRevisionDependsOnContent(t *testing.T) {
	access := translated(2)
	build := func(o BuildOptions, change func(files map[string][]byte)) *Bundle {
		files := compiledFiles()
		change(files)
		b, err := assemble(tables.List{access}, nil, o, accessData(t, access), rego.Files(), files)
		check(t, err)
		return b
	}
	base := build(BuildOptions{}, func(map[string][]byte) {})
	same := map[string]*Bundle{
		"again":              build(BuildOptions{}, func(map[string][]byte) {}),
		"without tests":      build(BuildOptions{}, func(files map[string][]byte) { delete(files, "compiled/tests/access/r_test.rego") }),
		"commit and version": build(BuildOptions{Version: "v9", Commit: "c0ffee", Sequence: 7}, func(map[string][]byte) {}),
	}
	for name, b := range same {
		if got, want := b.Manifest.Revision, base.Manifest.Revision; got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	extension := "writ/extensions/vip/vip_2erego.rego"
	other := map[string]*Bundle{
		"content": build(BuildOptions{}, func(files map[string][]byte) { files[extension] = append(files[extension], '\n') }),
		"name": build(BuildOptions{}, func(files map[string][]byte) {
			files["writ/extensions/vip/v.rego"] = files[extension]
			delete(files, extension)
		}),
		"fewer": build(BuildOptions{}, func(files map[string][]byte) { delete(files, extension) }),
		// Without lengths, moving bytes from a name to its content changes nothing.
		"moved border": build(BuildOptions{}, func(files map[string][]byte) {
			files["writ/extensions/vip/vip_2erego.regop.rego"] = bytes.TrimPrefix(files[extension], []byte("p"))
			delete(files, extension)
		}),
	}
	for name, b := range other {
		if b.Manifest.Revision == base.Manifest.Revision {
			t.Errorf("%s: got the same revision %s", name, base.Manifest.Revision)
		}
	}
	if got, want := len(base.Manifest.Revision), 64; got != want {
		t.Errorf("length of the revision: got %d, want %d", got, want)
	}
}

func TestWriteTarIsReproducible(t *testing.T) {
	first, second := tarball(t, sample(t)), tarball(t, sample(t))
	if !bytes.Equal(first, second) {
		t.Error("two tarballs of the same documents differ")
	}
	packed, err := gzip.NewReader(bytes.NewReader(first))
	check(t, err)
	if !packed.ModTime.IsZero() || packed.Name != "" || packed.OS != 255 {
		t.Errorf("gzip header: got %+v, want nothing from the machine", packed.Header)
	}
	archive := tar.NewReader(packed)
	var paths []string
	for {
		header, err := archive.Next()
		if err != nil {
			break
		}
		paths = append(paths, header.Name)
		if header.ModTime.Unix() != 0 || header.Uid != 0 || header.Uname != "" || header.Mode != 0o644 {
			t.Errorf("%s: got %v %d %q %o, want nothing from the machine", header.Name, header.ModTime, header.Uid, header.Uname, header.Mode)
		}
	}
	if paths[0] != ManifestPath || !slices.IsSorted(paths[1:]) {
		t.Errorf("order: got %q, want the manifest and then sorted paths", paths)
	}
}

func TestManifest(t *testing.T) {
	access := translated(2)
	b, err := assemble(tables.List{access, new(tables.Visibility), new(tables.Gateway)}, map[string]int{"kubernetes/RoleBinding": 2, "kubernetes/ClusterRole": 2}, BuildOptions{Version: "v1.2.3", Commit: "c0ffee", Sequence: 7}, accessData(t, access), rego.Files(), compiledFiles())
	check(t, err)
	got, err := b.Manifest.encode()
	check(t, err)
	want := `{
  "revision": "` + b.Manifest.Revision + `",
  "roots": [
    "compiled",
    "writ"
  ],
  "rego_version": 1,
  "metadata": {
    "version": "v1.2.3",
    "master": "master",
    "entrypoints": [
      "writ/access/decision",
      "writ/visibility/decision",
      "writ/gateway/decision"
    ],
    "counts": {
      "kubernetes/ClusterRole": 2,
      "kubernetes/RoleBinding": 2
    },
    "commit": "c0ffee",
    "sequence": 7
  }
}
`
	if string(got) != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestReadBack(t *testing.T) {
	want := sample(t)
	dir := filepath.Join(t.TempDir(), "bundle")
	check(t, want.WriteDir(dir))
	folder, err := ReadDir(dir)
	check(t, err)
	archive, err := Read(bytes.NewReader(tarball(t, want)))
	check(t, err)
	for name, got := range map[string]*Bundle{"folder": folder, "tarball": archive} {
		if !maps.EqualFunc(got.Files, want.Files, bytes.Equal) {
			t.Errorf("%s: files differ", name)
		}
		if got.Manifest.Revision != want.Manifest.Revision {
			t.Errorf("%s: revision: got %s, want %s", name, got.Manifest.Revision, want.Manifest.Revision)
		}
		if !bytes.Equal(tarball(t, got), tarball(t, want)) {
			t.Errorf("%s: written again, the bytes differ", name)
		}
		first, _ := json.Marshal(tables.Of[*tables.Access](got.Tables))
		second, _ := json.Marshal(tables.Of[*tables.Access](want.Tables))
		if !bytes.Equal(first, second) {
			t.Errorf("%s: access: got %s, want %s", name, first, second)
		}
	}
}

func TestWriteDir(t *testing.T) {
	rows := []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"missing", nil, ""},
		{"empty folder", map[string]string{"out/": ""}, ""},
		{"earlier bundle", map[string]string{"out/.manifest": "{}", "out/writ/old.rego": "package writ.old"}, ""},
		{"file", map[string]string{"out": "x"}, "not a folder"},
		{"link", map[string]string{"out": "-> elsewhere", "elsewhere/": ""}, "not a folder"},
		{"folder with another file", map[string]string{"out/thesis.txt": "x"}, "thesis.txt"},
		{"bundle with another file", map[string]string{"out/.manifest": "{}", "out/writ/thesis.txt": "x"}, "thesis.txt"},
		{"modules without a manifest", map[string]string{"out/writ/old.rego": "package writ.old"}, ".manifest"},
		{"policy directory", map[string]string{"out/policy.rego": "package x"}, "policy.rego"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			dir := t.TempDir()
			writeTree(t, dir, row.files)
			err := sample(t).WriteDir(filepath.Join(dir, "out"))
			wantError(t, err, row.want)
			left, err := os.ReadDir(dir)
			check(t, err)
			for _, entry := range left {
				if strings.HasPrefix(entry.Name(), ".") {
					t.Errorf("got leftover file %s", entry.Name())
				}
			}
			if row.want == "" {
				_, err = ReadDir(filepath.Join(dir, "out"))
				wantError(t, err, "")
				return
			}
			for name, content := range row.files {
				if got, err := os.ReadFile(filepath.Join(dir, name)); err == nil && string(got) != content {
					t.Errorf("%s: got %q, want it unchanged", name, got)
				}
			}
		})
	}
}

// Without an atomic exchange the result is the same.
func TestRenameExchangeSlow(t *testing.T) {
	dir := t.TempDir()
	writeTree(t, dir, map[string]string{"a/new": "n", "b/old": "o"})
	check(t, renameExchangeSlow(filepath.Join(dir, "a"), filepath.Join(dir, "b")))
	for _, name := range []string{"b/new", "a/old"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := renameExchangeSlow(filepath.Join(dir, "gone"), filepath.Join(dir, "b")); err == nil {
		t.Error("missing source: got no error")
	}
	if _, err := os.Stat(filepath.Join(dir, "b/new")); err != nil {
		t.Errorf("after the failure: %v", err)
	}
}

// writeTree writes files below dir. A content that begins with "-> " is a link, a name that ends
// with a slash is a folder.
func writeTree(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		check(t, os.MkdirAll(filepath.Dir(path), 0o755))
		target, link := strings.CutPrefix(content, "-> ")
		switch {
		case strings.HasSuffix(name, "/"):
			check(t, os.MkdirAll(path, 0o755))
		case link:
			check(t, os.Symlink(target, path))
		default:
			check(t, os.WriteFile(path, []byte(content), 0o644))
		}
	}
}
