package bundles

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// member is one entry of a tarball a test makes up.
type member struct {
	name    string
	content string
	kind    byte
	link    string
}

// members are the entries of a good bundle.
func members(t testing.TB, b *Bundle) []member {
	t.Helper()
	var all []member
	check(t, b.each(func(path string, content []byte) error {
		all = append(all, member{name: path, content: string(content)})
		return nil
	}))
	return all
}

func packUp(t testing.TB, all []member) []byte {
	t.Helper()
	var out bytes.Buffer
	packed := gzip.NewWriter(&out)
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

func TestReadRefusesFiles(t *testing.T) {
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
		{"nothing", with(), ""},
		{"folders as entries", with(member{name: "writ/", kind: tar.TypeDir}, member{name: "../x/", kind: tar.TypeDir}), ""},
		{"a path out of the bundle", with(member{name: "writ/../../etc/x.rego"}), `"writ/../../etc/x.rego"`},
		{"an absolute path", with(member{name: "/writ/x.rego"}), `"/writ/x.rego"`},
		{"a path from here", with(member{name: "./writ/x.rego"}), `"./writ/x.rego"`},
		{"a link", with(member{name: "writ/x.rego", kind: tar.TypeSymlink, link: "/etc/passwd"}), "not a regular file"},
		{"a hard link", with(member{name: "writ/x.rego", kind: tar.TypeLink, link: ".manifest"}), "not a regular file"},
		{"a device", with(member{name: "writ/x.rego", kind: tar.TypeChar}), "not a regular file"},
		{"a pipe", with(member{name: "writ/x.rego", kind: tar.TypeFifo}), "not a regular file"},
		{"a file twice", with(member{name: "writ/access/access.rego"}), "twice"},
		{"a manifest twice", with(member{name: ".manifest"}), "twice"},
		{"names that differ in case", with(member{name: "writ/access/ACCESS.rego"}), "case alone"},
		{"other data", with(member{name: "data.json", content: "{}"}), `"data.json"`},
		{"data in YAML", with(member{name: "compiled/data.yaml", content: "a: b"}), `"compiled/data.yaml"`},
		{"a patch", with(member{name: "patch.json", content: "{}"}), `"patch.json": a delta bundle`},
		{"webassembly", with(member{name: "policy.wasm"}), `"policy.wasm"`},
		{"another manifest", with(member{name: ".manifest.pb"}), `".manifest.pb"`},
		{"signatures nobody can verify", with(member{name: ".signatures.json", content: "{}"}), ""},
		{"signatures twice", with(member{name: ".signatures.json"}, member{name: ".signatures.json"}), "twice"},
		{"signatures elsewhere", with(member{name: "writ/.signatures.json"}), `"writ/.signatures.json"`},
		{"a file more", with(member{name: "writ/extensions/x.rego", content: "package writ.extensions.x"}), "the files are"},
		{"a test more", with(member{name: "compiled/tests/x_test.rego", content: "package compiled.tests.x_test"}), ""},
		{"a file less", without("writ/access/access.rego"), "the files are"},
		{"no manifest", without(".manifest"), "no .manifest"},
		{"no data", without("compiled/data.json"), "the files are"},
		{"a changed module", edit("writ/access/access.rego", "package", "# package"), "the files are"},
		{"changed data", edit("compiled/data.json", "pods", "secrets"), "the files are"},
		{"a changed revision", edit(".manifest", `"revision": "`, `"revision": "0`), "the files are"},
		{"other roots", edit(".manifest", `"writ"`, `"system"`), "roots"},
		{"another Rego version", edit(".manifest", `"rego_version": 1`, `"rego_version": 0`), "rego_version"},
		{"an unknown key of the manifest", edit(".manifest", `"rego_version": 1`, `"rego_version": 1, "wasm": []`), `unknown field "wasm"`},
		{"a manifest's key twice", edit(".manifest", `"rego_version": 1`, `"rego_version": 0, "rego_version": 1`), `duplicate key "rego_version"`},
		{"a manifest's key in other letters", edit(".manifest", `"roots"`, `"Roots"`), `unknown field "Roots"`},
		{"a manifest that goes on", edit(".manifest", "}\n}\n", "}\n}{}"), "text after the value"},
		{"a manifest that is none", edit(".manifest", "{", "["), ".manifest"},
		{"another master", edit(".manifest", `"master": "master"`, `"master": "mine"`), "master namespace"},
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
		{"no object", `[]`, "cannot unmarshal"},
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
		{"tables of visibility", `{"access":{"master":"m"},"views":{"policies":[{"notAfter":"2026-01-01T00:00:00Z"}],"sources":[]}}`, ""},
		{"an unknown field of visibility", `{"access":{"master":"m"},"views":{"policies":[{"deny":true,"allow":true}]}}`, `unknown field "allow"`},
		{"a time that is none", `{"access":{"master":"m"},"views":{"policies":[{"notAfter":"tomorrow"}]}}`, "parsing time"},
		{"a wrong type", `{"access":{"master":"m","roles":[]}}`, "cannot unmarshal"},
		{"an object for a text", `{"access":{"master":{"a":1}}}`, "cannot unmarshal"},
		{"too deep", `{"access":{"master":"m","roles":{"a":{"origin":[{"restrictions":{"params":{"x":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}}}]}}}}`, "nested too deep"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			b := sample(t)
			b.Files[DataPath] = []byte(row.data)
			b.Manifest.Metadata.Master = "m"
			b.Manifest.Revision = revision(b.Files)
			_, err := Read(bytes.NewReader(packUp(t, members(t, b))))
			wantError(t, err, row.want)
		})
	}
}

func TestReadRefusesArchives(t *testing.T) {
	whole := tarball(t, sample(t))
	bomb := packUp(t, []member{{name: "writ/bomb.rego", content: strings.Repeat(" ", 10<<20)}})
	many := packUp(t, append(members(t, sample(t)), member{name: "writ/a.rego"}, member{name: "writ/b.rego"}))
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
		{"no gzip", []byte("package x, as it were, and then some"), defaultLimits, "gzip"},
		{"cut in the middle", whole[:len(whole)/2], defaultLimits, "read the bundle"},
		{"cut before the checksum", whole[:len(whole)-8], defaultLimits, "EOF"},
		{"a bit flipped", flipped, defaultLimits, "read the bundle"},
		{"a bomb", bomb, limits{files: 10, bytes: 1 << 20}, `"writ/bomb.rego": more than 1048576 bytes`},
		{"too many files", many, limits{files: len(members(t, sample(t))), bytes: 1 << 30}, "more than"},
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

func TestReadDirRefuses(t *testing.T) {
	rows := []struct {
		name   string
		change func(t *testing.T, dir string)
		want   string
	}{
		{"nothing", func(*testing.T, string) {}, ""},
		{"an empty folder in it", func(t *testing.T, dir string) { plant(t, dir, map[string]string{"compiled/x/": ""}) }, ""},
		{"a link to a file", func(t *testing.T, dir string) {
			plant(t, dir, map[string]string{"writ/x.rego": "-> access/access.rego"})
		}, `"writ/x.rego"`},
		{"a link to a folder", func(t *testing.T, dir string) { plant(t, dir, map[string]string{"writ/again": "-> access"}) }, `"writ/again"`},
		{"a linked manifest", func(t *testing.T, dir string) {
			check(t, os.Rename(filepath.Join(dir, ".manifest"), filepath.Join(dir, "..", "manifest")))
			plant(t, dir, map[string]string{".manifest": "-> ../manifest"})
		}, `".manifest"`},
		{"a pipe", func(t *testing.T, dir string) { check(t, syscall.Mkfifo(filepath.Join(dir, "writ/x.rego"), 0o644)) }, `"writ/x.rego"`},
		{"a file of another kind", func(t *testing.T, dir string) { plant(t, dir, map[string]string{"notes.txt": "x"}) }, `"notes.txt"`},
		{"a changed module", func(t *testing.T, dir string) {
			plant(t, dir, map[string]string{"writ/access/access.rego": "package writ.access"})
		}, "the files are"},
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

// Whatever is read is a bundle that can be written and read again, and what is
// not read is an error: never a panic, never memory without bound.
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

// The same for what is inside, which a hash of its own keeps the fuzzer from
// reaching through an archive.
func FuzzDecode(f *testing.F) {
	b := sample(f)
	manifest, err := b.Manifest.encode()
	check(f, err)
	f.Add(b.Files[DataPath], manifest)
	f.Add([]byte(`{"access":{"roles":{"a":{},"b":{"kubernetes":[{"verbs":["get"]}]}}}}`), []byte(`{"revision":""}`))
	f.Fuzz(func(t *testing.T, data, manifest []byte) {
		if m, err := decodeManifest(manifest); err == nil {
			encoded, err := m.encode()
			check(t, err)
			if _, err := decodeManifest(encoded); err != nil {
				t.Errorf("a manifest that was written: %v", err)
			}
		}
		tables, err := decodeTables(data)
		if err != nil {
			return
		}
		// OPA reads every value into a map; what writ read has to be the same.
		var plain, typed any
		check(t, json.Unmarshal(data, &plain))
		encoded, err := json.Marshal(tables)
		check(t, err)
		check(t, json.Unmarshal(encoded, &typed))
		if got, want := subset(plain, typed), true; got != want {
			t.Errorf("writ reads %s, OPA %s", encoded, data)
		}
	})
}

// subset reports whether everything in a that is not zero is in b.
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
