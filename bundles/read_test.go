package bundles

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/writ-policy/writ/translator/tables"
)

// member is one entry of a tarball.
type member struct {
	name    string
	content string
	kind    byte
	link    string
}

// members returns the entries of a valid bundle.
func members(t testing.TB, b *Bundle) []member {
	t.Helper()
	var all []member
	check(t, b.each(func(path string, content tables.Text) error {
		all = append(all, member{name: path, content: string(content.Bytes())})
		return nil
	}))
	return all
}

func packUp(t testing.TB, all []member) []byte {
	t.Helper()
	var out bytes.Buffer
	packed, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	check(t, err)
	archive := tar.NewWriter(packed)
	for _, m := range all {
		if m.kind == 0 {
			m.kind = tar.TypeReg
		}
		check(t, archive.WriteHeader(&tar.Header{Typeflag: m.kind, Name: m.name, Linkname: m.link, Size: int64(len(m.content)), Mode: 0o644}))
		_, err := archive.Write([]byte(m.content))
		check(t, err)
	}
	check(t, archive.Close())
	check(t, packed.Close())
	return out.Bytes()
}

func TestReadErrorsOfFiles(t *testing.T) {
	with := func(more ...member) func([]member) []member {
		return func(all []member) []member { return append(all, more...) }
	}
	edit := func(path, old, new string) func([]member) []member {
		return func(all []member) []member {
			for i := range all {
				if all[i].name == path {
					if !strings.Contains(all[i].content, old) {
						t.Fatalf("%s has no %q", path, old)
					}
					all[i].content = strings.Replace(all[i].content, old, new, 1)
				}
			}
			return all
		}
	}
	without := func(path string) func([]member) []member {
		return func(all []member) []member {
			var left []member
			for _, m := range all {
				if m.name != path {
					left = append(left, m)
				}
			}
			return left
		}
	}
	rows := []struct {
		name   string
		change func([]member) []member
		want   string
	}{
		{"valid", with(), ""},
		{"folders as entries", with(member{name: "writ/", kind: tar.TypeDir}, member{name: "../x/", kind: tar.TypeDir}), ""},
		{"path outside of the bundle", with(member{name: "writ/../../etc/x.rego"}), `"writ/../../etc/x.rego"`},
		{"an absolute path", with(member{name: "/writ/x.rego"}), `"/writ/x.rego"`},
		{"path with a leading dot", with(member{name: "./writ/x.rego"}), `"./writ/x.rego"`},
		{"a link", with(member{name: "writ/x.rego", kind: tar.TypeSymlink, link: "/etc/passwd"}), "not a regular file"},
		{"a hard link", with(member{name: "writ/x.rego", kind: tar.TypeLink, link: ".manifest"}), "not a regular file"},
		{"a device", with(member{name: "writ/x.rego", kind: tar.TypeChar}), "not a regular file"},
		{"a pipe", with(member{name: "writ/x.rego", kind: tar.TypeFifo}), "not a regular file"},
		{"duplicate file", with(member{name: "writ/access/access.rego"}), "duplicate"},
		{"duplicate manifest", with(member{name: ".manifest"}), "duplicate"},
		{"names that differ in case", with(member{name: "writ/access/ACCESS.rego"}), "only in case"},
		{"other data", with(member{name: "data.json", content: "{}"}), `"data.json"`},
		{"data in YAML", with(member{name: "compiled/data.yaml", content: "a: b"}), `"compiled/data.yaml"`},
		{"a patch", with(member{name: "patch.json", content: "{}"}), `"patch.json": a delta bundle`},
		{"webassembly", with(member{name: "policy.wasm"}), `"policy.wasm"`},
		{"another manifest", with(member{name: ".manifest.pb"}), `".manifest.pb"`},
		{"signatures without keys to verify", with(member{name: ".signatures.json", content: "{}"}), ""},
		{"duplicate signatures", with(member{name: ".signatures.json"}, member{name: ".signatures.json"}), "duplicate"},
		{"signatures elsewhere", with(member{name: "writ/.signatures.json"}), `"writ/.signatures.json"`},
		{"additional file", with(member{name: "writ/extensions/x.rego", content: "package writ.extensions.x"}), "according to the files"},
		{"additional test", with(member{name: "compiled/tests/x_test.rego", content: "package compiled.tests.x_test"}), ""},
		{"missing file", without("writ/access/access.rego"), "according to the files"},
		{"no manifest", without(".manifest"), "no .manifest"},
		{"no data", without("compiled/data.json"), "according to the files"},
		{"a changed module", edit("writ/access/access.rego", "package", "# package"), "according to the files"},
		{"changed data", edit("compiled/data.json", "pods", "secrets"), "according to the files"},
		{"a changed revision", edit(".manifest", `"revision": "`, `"revision": "0`), "according to the files"},
		{"other roots", edit(".manifest", `"writ"`, `"system"`), "roots"},
		{"another Rego version", edit(".manifest", `"rego_version": 1`, `"rego_version": 0`), "rego_version"},
		{"an unknown key of the manifest", edit(".manifest", `"rego_version": 1`, `"rego_version": 1, "wasm": []`), `unknown field "wasm"`},
		{"a manifest's key twice", edit(".manifest", `"rego_version": 1`, `"rego_version": 0, "rego_version": 1`), `duplicate key "rego_version"`},
		{"a manifest's key in other letters", edit(".manifest", `"roots"`, `"Roots"`), `unknown field "Roots"`},
		{"a manifest that goes on", edit(".manifest", "}\n}\n", "}\n}{}"), "text after the value"},
		{"manifest that is not JSON", edit(".manifest", "{", "["), ".manifest"},
		{"another master", edit(".manifest", `"master": "master"`, `"master": "mine"`), "master namespace"},
		{"another cluster", edit(".manifest", `"master": "master"`, `"master": "master", "cluster": "prod"`), "cluster in the manifest"},
		{"no UTF-8", edit("writ/access/access.rego", "package", "# \xff\npackage"), "UTF-8"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			b, err := Read(bytes.NewReader(packUp(t, row.change(members(t, sample(t))))))
			wantError(t, err, row.want)
			if (b == nil) != (err != nil) {
				t.Errorf("got bundle %v with error %v", b != nil, err)
			}
		})
	}
}

// filesOf returns the files of a bundle, with the data.
func filesOf(b *Bundle) map[string][]byte {
	files := maps.Clone(b.Files)
	files[dataPath] = b.Data.Bytes()
	return files
}

// A bundle whose revision is a hash over the whole data, as an earlier version of writ built it,
// is read, and not if the data is another.
func TestReadFormerRevision(t *testing.T) {
	b := sample(t)
	now := b.Manifest.Revision
	b.Manifest.Revision = formerRevision(filesOf(b))
	read, err := Read(bytes.NewReader(tarball(t, b)))
	check(t, err)
	if got := read.Manifest.Revision; got != b.Manifest.Revision || got == now {
		t.Errorf("got revision %s, want the former %s, not %s", got, b.Manifest.Revision, now)
	}
	b.Data = tables.TextOf(bytes.Replace(b.Data.Bytes(), []byte("pods"), []byte("secrets"), 1))
	_, err = Read(bytes.NewReader(tarball(t, b)))
	wantError(t, err, "according to the files")
}

// Data has to be understood whole, and by OPA and writ alike, even where the
// revision is right.
func TestReadRefusesData(t *testing.T) {
	rows := []struct {
		name string
		data string
		want string
	}{
		{"the least", `{"access":{"master":"m","roles":{},"bindings":{},"subjects":{"cluster":{},"namespaces":{}},"extensions":[]}}`, ""},
		{"nothing", `{}`, "no access tables"},
		{"null", `{"access":null}`, "no access tables"},
		{"no object", `[]`, "must be an object"},
		{"null alone", `null`, "must be an object"},
		{"no JSON", `{"access":`, "a value is expected"},
		{"two values", `{"access":{"master":"m"}} {}`, "text after the value"},
		{"other tables", `{"access":{"master":"m"},"deny":{}}`, `unknown field "deny"`},
		{"an unknown field", `{"access":{"master":"m","rules":{}}}`, `unknown field "rules"`},
		{"a field in other letters", `{"access":{"master":"m","Roles":{}}}`, `unknown field "Roles"`},
		{"a field twice", `{"access":{"master":"n","master":"m"}}`, `duplicate key "master"`},
		{"a role twice", `{"access":{"master":"m","roles":{"a":{},"a":{}}}}`, `duplicate key "a"`},
		{"a role twice, apart", `{"access":{"master":"m","roles":{"a":{},"b":{},"a":{}}}}`, `duplicate key "a"`},
		{"a parameter twice", `{"access":{"master":"m","roles":{"a":{"origin":[{"restrictions":{"params":{"x":{"y":1,"y":2}}}}]}}}}`, `duplicate key "y"`},
		{"an empty key twice", `{"access":{"master":"m","roles":{"":{},"":{}}}}`, `duplicate key ""`},
		{"tables of visibility", `{"access":{"master":"m"},"visibility_tables":{"policies":[{"notAfter":"2026-01-01T00:00:00Z"}],"sources":[]}}`, ""},
		{"an unknown field of visibility", `{"access":{"master":"m"},"visibility_tables":{"policies":[{"deny":true,"allow":true}]}}`, `unknown field "allow"`},
		{"invalid time", `{"access":{"master":"m"},"visibility_tables":{"policies":[{"notAfter":"tomorrow"}]}}`, "parsing time"},
		{"a wrong type", `{"access":{"master":"m","roles":[]}}`, "cannot unmarshal"},
		{"an object for a text", `{"access":{"master":{"a":1}}}`, "cannot unmarshal"},
		{"a pattern that takes long", `{"access":{"master":"m"},"deny_tables":{"policies":[{"clusters":["` + strings.Repeat("a", 1025) + `"]}]}}`, "must have at most 1024"},
		{"too deep", `{"access":{"master":"m","roles":{"a":{"origin":[{"restrictions":{"params":{"x":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}}}]}}}}`, "nested too deep"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			b := sample(t)
			b.Data = tables.TextOf([]byte(row.data))
			b.Manifest.Metadata.Master = "m"
			b.Manifest.Revision = revision(b.Data.Sum(), b.Files)
			_, err := Read(bytes.NewReader(packUp(t, members(t, b))))
			wantError(t, err, row.want)
		})
	}
}

func TestReadErrorsOfArchives(t *testing.T) {
	whole := tarball(t, sample(t))
	bomb := packUp(t, []member{{name: "writ/bomb.rego", content: strings.Repeat(" ", 10<<20)}})
	many := packUp(t, append(members(t, sample(t)), member{name: "writ/a.rego"}, member{name: "writ/b.rego"}))
	folders := packUp(t, slices.Repeat([]member{{name: "x/", kind: tar.TypeDir}}, 4))
	tail := func(more string) []byte {
		var raw, out bytes.Buffer
		packed, err := gzip.NewReader(bytes.NewReader(whole))
		check(t, err)
		_, err = io.Copy(&raw, packed)
		check(t, err)
		writer := gzip.NewWriter(&out)
		_, err = writer.Write(append(raw.Bytes(), more...))
		check(t, err)
		check(t, writer.Close())
		return out.Bytes()
	}
	flipped := bytes.Clone(whole)
	flipped[len(flipped)/2] ^= 0x40
	rows := []struct {
		name    string
		archive []byte
		limit   limits
		want    string
	}{
		{"whole", whole, defaultLimits, ""},
		{"empty", nil, defaultLimits, "EOF"},
		{"not gzip", []byte("package x, as it were, and then some"), defaultLimits, "gzip"},
		{"cut in the middle", whole[:len(whole)/2], defaultLimits, "read the bundle"},
		{"cut before the checksum", whole[:len(whole)-8], defaultLimits, "EOF"},
		{"a bit flipped", flipped, defaultLimits, "read the bundle"},
		{"decompression bomb", bomb, limits{files: 10, bytes: 1 << 20}, `"writ/bomb.rego": more than 1048576 bytes`},
		{"too many files", many, limits{files: len(members(t, sample(t))), bytes: 1 << 30}, "more than"},
		{"too many folders", folders, limits{files: 3, bytes: 1 << 30}, "more than 3 folders"},
		{"padding", tail(strings.Repeat("\x00", 10240)), defaultLimits, ""},
		{"data after the end", tail("and more"), defaultLimits, "after the last file"},
		{"endless padding", tail(strings.Repeat("\x00", 2<<20)), defaultLimits, "after the last file"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			_, err := read(bytes.NewReader(row.archive), row.limit, nil)
			wantError(t, err, row.want)
		})
	}
}

func TestReadDirErrors(t *testing.T) {
	rows := []struct {
		name   string
		change func(t *testing.T, dir string)
		want   string
	}{
		{"valid", func(*testing.T, string) {}, ""},
		{"an empty folder in it", func(t *testing.T, dir string) { writeTree(t, dir, map[string]string{"compiled/x/": ""}) }, ""},
		{"a link to a file", func(t *testing.T, dir string) {
			writeTree(t, dir, map[string]string{"writ/x.rego": "-> access/access.rego"})
		}, `"writ/x.rego"`},
		{"a link to a folder", func(t *testing.T, dir string) { writeTree(t, dir, map[string]string{"writ/again": "-> access"}) }, `"writ/again"`},
		{"a linked manifest", func(t *testing.T, dir string) {
			check(t, os.Rename(filepath.Join(dir, ".manifest"), filepath.Join(dir, "..", "manifest")))
			writeTree(t, dir, map[string]string{".manifest": "-> ../manifest"})
		}, `".manifest"`},
		{"a pipe", func(t *testing.T, dir string) { check(t, syscall.Mkfifo(filepath.Join(dir, "writ/x.rego"), 0o644)) }, `"writ/x.rego"`},
		{"a file of another kind", func(t *testing.T, dir string) { writeTree(t, dir, map[string]string{"notes.txt": "x"}) }, `"notes.txt"`},
		{"a changed module", func(t *testing.T, dir string) {
			writeTree(t, dir, map[string]string{"writ/access/access.rego": "package writ.access"})
		}, "according to the files"},
		{"no manifest", func(t *testing.T, dir string) { check(t, os.Remove(filepath.Join(dir, ".manifest"))) }, "no .manifest"},
		{"no folder", func(t *testing.T, dir string) { check(t, os.RemoveAll(dir)) }, "no such file"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "bundle")
			check(t, sample(t).WriteDir(dir))
			row.change(t, dir)
			_, err := ReadDir(dir)
			wantError(t, err, row.want)
		})
	}
}

// A bundle that Read returns can be written and read again; other input is an error, without a
// panic and without unbounded memory.
func FuzzRead(f *testing.F) {
	b := sample(f)
	all := members(f, b)
	f.Add(packUp(f, all))
	f.Add(tarball(f, b)[:200])
	f.Add(packUp(f, all[1:]))
	f.Add(packUp(f, append(all, member{name: "../x.rego"})))
	f.Add(packUp(f, append(all, member{name: "writ/x.rego", kind: tar.TypeSymlink, link: "/"})))
	f.Fuzz(func(t *testing.T, archive []byte) {
		got, err := read(bytes.NewReader(archive), limits{files: 100, bytes: 1 << 20}, nil)
		if err != nil {
			return
		}
		again, err := Read(bytes.NewReader(tarball(t, got)))
		check(t, err)
		if again.Manifest.Revision != got.Manifest.Revision {
			t.Errorf("got revision %s, want %s", again.Manifest.Revision, got.Manifest.Revision)
		}
	})
}

// FuzzDecode tests the decoders, which the fuzzer cannot reach through an archive because of its
// checksum.
func FuzzDecode(f *testing.F) {
	b := sample(f)
	manifest, err := b.Manifest.encode()
	check(f, err)
	f.Add(b.Data.Bytes(), manifest)
	f.Add([]byte(`{"access":{"roles":{"a":{},"b":{"kubernetes":[{"verbs":["get"]}]}}}}`), []byte(`{"revision":""}`))
	f.Fuzz(func(t *testing.T, data, manifest []byte) {
		if m, err := decodeManifest(manifest); err == nil {
			encoded, err := m.encode()
			check(t, err)
			if _, err := decodeManifest(encoded); err != nil {
				t.Errorf("encoded manifest: %v", err)
			}
		}
		file, err := dataFileOf(tables.TextOf(data))
		if err != nil {
			return
		}
		list, features, err := decodeTables(file)
		if err != nil {
			return
		}
		// OPA decodes every value into a map; the decoded structs must have the same values.
		var plain, typed any
		check(t, json.Unmarshal(data, &plain))
		decoded := map[string]any{tables.FeaturesKey: features}
		for _, table := range list {
			decoded[table.Key()] = table
		}
		encoded, err := json.Marshal(decoded)
		check(t, err)
		check(t, json.Unmarshal(encoded, &typed))
		if got, want := subset(plain, typed), true; got != want {
			t.Errorf("writ reads %s, OPA %s", encoded, data)
		}
	})
}

// subset reports whether b has every non-zero value of a.
func subset(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		in, _ := b.(map[string]any)
		for key, value := range a {
			if !subset(value, in[key]) {
				return false
			}
		}
		return true
	case []any:
		in, _ := b.([]any)
		for i, value := range a {
			if i >= len(in) && len(a) > 0 || !subset(value, in[i]) {
				return false
			}
		}
		return true
	case string:
		return a == "" || a == b
	case float64:
		return a == 0 || a == b
	case bool:
		return !a || b == true
	}
	return a == nil
}
