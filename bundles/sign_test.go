package bundles

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/open-policy-agent/opa/v1/bundle"
	"github.com/open-policy-agent/opa/v1/util"

	"github.com/writ-policy/writ/rego"
	"github.com/writ-policy/writ/translator/tables"
)

// pair is a private key and its public key in PEM.
type pair struct{ private, public []byte }

func newPair(t testing.TB, key crypto.Signer) pair {
	t.Helper()
	private, err := x509.MarshalPKCS8PrivateKey(key)
	check(t, err)
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	check(t, err)
	return pair{
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
		pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}),
	}
}

func ellipticPair(t testing.TB, curve elliptic.Curve) pair {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	check(t, err)
	return newPair(t, key)
}

// Generating an RSA key is slow, so tests share one.
var rsaKey = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

func rsaPair(t testing.TB) pair {
	t.Helper()
	key, err := rsaKey()
	check(t, err)
	return newPair(t, key)
}

// keyring has a key for each state, with the state as ID, and "stranger", which is not one of the
// keys.
type keyring struct {
	keys  *Keys
	pairs map[string]pair
}

func newKeyring(t testing.TB) keyring {
	t.Helper()
	r := keyring{keys: &Keys{}, pairs: map[string]pair{}}
	set := keySet{}
	r.keys.set.Store(&set)
	for _, id := range []string{"active", "next", "revoked", "stranger"} {
		r.pairs[id] = ellipticPair(t, elliptic.P256())
		if id != "stranger" {
			check(t, set.add(Key{ID: id, State: KeyState(id), Algorithm: "ES256", PEM: string(r.pairs[id].public)}))
		}
	}
	return r
}

// sign signs with the private key of by and names the key says.
func (r keyring) sign(t testing.TB, b *Bundle, by, says string) *Bundle {
	t.Helper()
	key, err := newSigningKey(r.pairs[by].private, SigningOptions{ID: says})
	check(t, err)
	signed, err := Sign(b, key)
	check(t, err)
	return signed
}

// other returns a bundle of other documents than sample.
func other(t testing.TB) *Bundle {
	t.Helper()
	access := translated(1)
	b, err := assemble(tables.List{access}, nil, BuildOptions{Version: "v0"}, accessData(t, access), rego.Files(), compiledFiles())
	check(t, err)
	return b
}

func TestSignedBundles(t *testing.T) {
	r := newKeyring(t)
	good := r.sign(t, sample(t), "active", "active")
	with := func(change func(b *Bundle)) *Bundle {
		b := *good
		b.Files = maps.Clone(good.Files)
		change(&b)
		b.Manifest.Revision = revision(b.Data.Sum(), b.Files)
		return &b
	}
	claims := func(hash string) *Bundle { return r.handSigned(t, good, hash) }
	rows := []struct {
		name   string
		bundle *Bundle
		want   string
	}{
		{"by an active key", good, ""},
		{"by the next key", r.sign(t, sample(t), "next", "next"), ""},
		{"unsigned", sample(t), "not signed: it has no .signatures.json"},
		{"signatures removed", with(func(b *Bundle) { b.Signatures = nil }), "not signed"},
		{"empty signatures", with(func(b *Bundle) { b.Signatures = []byte(`{}`) }), "must have one signature"},
		{"two signatures", with(func(b *Bundle) { b.Signatures = []byte(`{"signatures":["a","b"]}`) }), "must have one signature"},
		{"not a token", with(func(b *Bundle) { b.Signatures = []byte(`{"signatures":["a"]}`) }), "must be a JSON Web Token"},
		{"not JSON", with(func(b *Bundle) { b.Signatures = []byte(`signed`) }), ".signatures.json"},
		{"plugin", with(func(b *Bundle) { b.Signatures = []byte(`{"signatures":["a.b.c"],"plugin":"lenient"}`) }), `plugin "lenient"`},
		{"by a revoked key", r.sign(t, sample(t), "revoked", "revoked"), `key "revoked", which is revoked`},
		{"by a revoked key under another name", r.sign(t, sample(t), "revoked", "active"), `not by key "active"`},
		{"by an unknown key", r.sign(t, sample(t), "stranger", "stranger"), `key "stranger", which is not one of the keys`},
		{"by an unknown key under a known name", r.sign(t, sample(t), "stranger", "next"), `not by key "next"`},
		{"without a key's name", with(func(b *Bundle) { b.Signatures = []byte(`{"signatures":["e30.e30.e30"]}`) }), "must name a key"},
		{"signature of another bundle", with(func(b *Bundle) { b.Signatures = r.sign(t, other(t), "active", "active").Signatures }), "not what was signed"},
		{"additional file", with(func(b *Bundle) { b.Files["writ/extensions/x.rego"] = []byte("package writ.extensions.x") }), `"writ/extensions/x.rego" is in the bundle and not signed`},
		{"additional test", with(func(b *Bundle) {
			b.Files["compiled/tests/x_test.rego"] = []byte("package compiled.tests.x_test")
		}), `"compiled/tests/x_test.rego" is in the bundle and not signed`},
		{"missing file", with(func(b *Bundle) { delete(b.Files, "writ/access/access.rego") }), `"writ/access/access.rego" is signed and not in the bundle`},
		{"a changed module", with(func(b *Bundle) { b.Files["writ/access/access.rego"] = []byte("package writ.access") }), `"writ/access/access.rego" is not what was signed`},
		{"a changed test", with(func(b *Bundle) {
			b.Files["compiled/tests/access/r_test.rego"] = []byte("package compiled.tests.access.r_test")
		}), `"compiled/tests/access/r_test.rego" is not what was signed`},
		{"changed data", with(func(b *Bundle) {
			b.Data = tables.TextOf(bytes.Replace(b.Data.Bytes(), []byte("pods"), []byte("secrets"), 1))
		}), `"compiled/data.json" is not what was signed`},
		{"another commit", with(func(b *Bundle) { b.Manifest.Metadata.Commit = "c0ffee" }), `".manifest" is not what was signed`},
		{"a higher sequence number", with(func(b *Bundle) { b.Manifest.Metadata.Sequence = 99 }), `".manifest" is not what was signed`},
		{"accepted hash algorithm", claims("SHA-256"), ""},
		{"weak hash algorithm", claims("MD5"), `"MD5"`},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			_, err := ReadSigned(bytes.NewReader(tarball(t, row.bundle)), r.keys)
			wantError(t, err, row.want)
			_, err = row.bundle.Verify(r.keys)
			wantError(t, err, row.want)
			dir := filepath.Join(t.TempDir(), "folder")
			check(t, row.bundle.WriteDir(dir))
			_, err = ReadSignedDir(dir, r.keys)
			wantError(t, err, row.want)
			if _, err := Read(bytes.NewReader(tarball(t, row.bundle))); err != nil {
				t.Errorf("without keys: got %v, want no error", err)
			}
		})
	}
}

// handSigned signs the files with another hash algorithm.
func (r keyring) handSigned(t testing.TB, b *Bundle, algorithm string) *Bundle {
	t.Helper()
	manifest, err := b.Manifest.encode()
	check(t, err)
	hasher, err := bundle.NewSignatureHasher(bundle.HashingAlgorithm(algorithm))
	check(t, err)
	var infos []bundle.FileInfo
	all := filesOf(b)
	all[ManifestPath] = manifest
	for path, content := range all {
		sum, err := hasher.HashFile(opaValue(t, path, content))
		check(t, err)
		infos = append(infos, bundle.NewFile(path, fmt.Sprintf("%x", sum), algorithm))
	}
	token, err := bundle.GenerateSignedToken(infos, bundle.NewSigningConfig(string(r.pairs["active"].private), "ES256", ""), "active")
	check(t, err)
	signed := *b
	signed.Signatures, err = json.Marshal(bundle.SignaturesConfig{Signatures: []string{token}})
	check(t, err)
	return &signed
}

// opaValue is what OPA hashes of a file.
func opaValue(t testing.TB, path string, content []byte) any {
	t.Helper()
	if !bundle.IsStructuredDoc(path) {
		return content
	}
	var value any
	check(t, util.Unmarshal(content, &value))
	return value
}

// A file has the hash that OPA computes, whatever the order, the spaces and the escapes of
// its JSON.
func TestFileHashIsThatOfOPA(t *testing.T) {
	for _, text := range []string{
		`{}`, `[]`, `null`, ` true `, `1.0`, `-1e400`, `12345678901234567890`, `""`, `{"b":1,"a":[1,{"d":null,"c":"x"}],"":{}}`,
		"{\n\t\"b\" : [ 1 , 2 ] ,\r\n \"a\" : \"<&>\\u003c\\u0000\\u2028\\/\\ud83d\\ude00\" }\n",
		"{\"\u2028\":\"a\u2029b\",\"\u00e2\":\"\u20ac\",\"\x7f\":\"\x7f\",\"\U0001f600\":\"\\t\"}",
		`{"\u0061b":1,"aa":2,"\"":3,"\\":4,"A":5}`, `[[],[[]],{"a":[]},[{}]]`,
	} {
		compareHash(t, []byte(text))
	}
	compareHash(t, sample(t).Data.Bytes())
	if _, err := fileHash("data.json", []byte(`{"a":1,"a":2}`), sha256.New()); err == nil {
		t.Error("a key twice: want an error")
	}
}

func compareHash(t *testing.T, text []byte) {
	t.Helper()
	hasher, err := bundle.NewSignatureHasher(hashing)
	check(t, err)
	want, err := hasher.HashFile(opaValue(t, dataPath, text))
	check(t, err)
	if got, err := fileHash(dataPath, text, sha256.New()); err != nil || got != hex.EncodeToString(want) {
		t.Errorf("%s: got %s, %v, want %x", text, got, err, want)
	}
	data, err := dataFileOf(tables.TextOf(text))
	check(t, err)
	if got, err := data.hash(dataPath, sha256.New()); err != nil || got != hex.EncodeToString(want) {
		t.Errorf("%s: in groups, got %s, %v, want %x", text, got, err, want)
	}
}

// Data of many blocks has the hash that OPA computes, and is refused where a small one is.
func TestLargeDataIsHashedInGroups(t *testing.T) {
	text := accessData(t, translated(2000)).Bytes()
	compareHash(t, text)
	data, err := dataFileOf(tables.TextOf(text))
	check(t, err)
	if data.object == nil || len(piecesOf(nil, data.object)) < 10 {
		t.Errorf("the data is in one piece: %+v", data.object)
	}
	for _, broken := range []string{`"pods"`, `,`} {
		at := bytes.LastIndex(text, []byte(broken))
		for _, by := range []string{`"\ud800"`, `"a":1,"a":1`, "", "\xff"} {
			changed := slices.Concat(text[:at], []byte(by), text[at+len(broken):])
			_, want := fileHash(dataPath, changed, sha256.New())
			data, err := dataFileOf(tables.TextOf(changed))
			if by == "\xff" {
				wantError(t, err, errNotUTF8.Error())
				continue
			}
			check(t, err)
			if _, err := data.hash(dataPath, sha256.New()); fmt.Sprint(err) != fmt.Sprint(want) {
				t.Errorf("%q for %s: got %v, want %v", by, broken, err, want)
			}
			if _, _, err := decodeTables(data); fmt.Sprint(err) != fmt.Sprint(want) {
				t.Errorf("%q for %s: got %v, want %v", by, broken, err, want)
			}
		}
	}
}

func FuzzFileHash(f *testing.F) {
	f.Add([]byte(`{"b":[1,"\u2028"],"a":{}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if checkJSON(text) == nil {
			compareHash(t, text)
		}
	})
}

// A signed bundle that is read and written again has the same bytes.
func TestSignatureIsPreserved(t *testing.T) {
	r := newKeyring(t)
	want := tarball(t, r.sign(t, sample(t), "active", "active"))
	b, err := ReadSigned(bytes.NewReader(want), r.keys)
	check(t, err)
	if !bytes.Equal(tarball(t, b), want) {
		t.Error("read and written again: got other bytes")
	}
	key, err := b.Verify(r.keys)
	check(t, err)
	if key.ID != "active" || key.State != keyActive {
		t.Errorf("got key %q, %s, want the active one", key.ID, key.State)
	}
	if again := r.sign(t, b, "next", "next"); bytes.Equal(again.Signatures, b.Signatures) {
		t.Error("signed again: got the same signature")
	}
}

// OPA's reader verifies signatures of every algorithm and rejects changed bundles.
func TestStockVerifies(t *testing.T) {
	rows := []struct {
		algorithm string
		pair      pair
	}{
		{"", rsaPair(t)}, {"RS512", rsaPair(t)}, {"PS256", rsaPair(t)},
		{"", ellipticPair(t, elliptic.P256())}, {"ES384", ellipticPair(t, elliptic.P384())}, {"", ellipticPair(t, elliptic.P521())},
	}
	for _, row := range rows {
		key, err := newSigningKey(row.pair.private, SigningOptions{Algorithm: row.algorithm})
		check(t, err)
		t.Run(key.algorithm, func(t *testing.T) {
			b, err := Sign(sample(t), key)
			check(t, err)
			config := bundle.NewVerificationConfig(map[string]*bundle.KeyConfig{
				defaultKeyID: {Key: string(row.pair.public), Algorithm: key.algorithm},
			}, "", "", nil)
			_, err = bundle.NewReader(bytes.NewReader(tarball(t, b))).WithBundleVerificationConfig(config).Read()
			wantError(t, err, "")
			b.Files["writ/access/access.rego"] = append(b.Files["writ/access/access.rego"], '\n')
			_, err = bundle.NewReader(bytes.NewReader(tarball(t, b))).WithBundleVerificationConfig(config).Read()
			wantError(t, err, "digest mismatch")
		})
	}
}

func TestSigningKeyErrors(t *testing.T) {
	r := newKeyring(t)
	small, err := rsa.GenerateKey(rand.Reader, 1024)
	check(t, err)
	rows := []struct {
		name    string
		private []byte
		o       SigningOptions
		want    string
	}{
		{"defaults", r.pairs["active"].private, SigningOptions{}, ""},
		{"ID from the keys", r.pairs["active"].private, SigningOptions{Keys: r.keys}, ""},
		{"an active key", r.pairs["active"].private, SigningOptions{ID: "active", Keys: r.keys}, ""},
		{"the next key", r.pairs["next"].private, SigningOptions{Keys: r.keys}, `key "next" is next; only active keys sign`},
		{"a revoked key", r.pairs["revoked"].private, SigningOptions{Keys: r.keys}, `key "revoked" is revoked`},
		{"none of the keys", r.pairs["stranger"].private, SigningOptions{Keys: r.keys}, "is not one of the keys"},
		{"an unknown ID", r.pairs["active"].private, SigningOptions{ID: "x", Keys: r.keys}, `"x" is not one of the keys`},
		{"another key's ID", r.pairs["stranger"].private, SigningOptions{ID: "active", Keys: r.keys}, "does not match"},
		{"another algorithm", r.pairs["active"].private, SigningOptions{Algorithm: "RS256", Keys: r.keys}, "is ES256, not RS256"},
		{"an algorithm of another kind", r.pairs["active"].private, SigningOptions{Algorithm: "RS256"}, "P-256"},
		{"a shared secret", r.pairs["active"].private, SigningOptions{Algorithm: "HS256"}, "shared secret"},
		{"no algorithm", r.pairs["active"].private, SigningOptions{Algorithm: "none"}, `algorithm "none"`},
		{"a public key", r.pairs["active"].public, SigningOptions{}, "must be the PEM of a private key"},
		{"no PEM", []byte("secret"), SigningOptions{}, "must be PEM"},
		{"a short key", newPair(t, small).private, SigningOptions{}, "at least 2048 bits"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			key, err := newSigningKey(row.private, row.o)
			wantError(t, err, row.want)
			if said := fmt.Sprintf("%v %+v %#v %v", key, key, key, err); strings.Contains(said, "MIG") || strings.Contains(said, "PRIVATE KEY-----") {
				t.Errorf("the error contains the key: %s", said)
			}
		})
	}
}

func TestReadKeys(t *testing.T) {
	one, two := ellipticPair(t, elliptic.P256()), ellipticPair(t, elliptic.P384())
	entry := func(id, state, algorithm string, p pair) string {
		return fmt.Sprintf("  - {id: %q, state: %q, algorithm: %q, publicKey: %q}\n", id, state, algorithm, p.public)
	}
	rows := []struct {
		name string
		file string
		want string
	}{
		{"several", "keys:\n" + entry("a", "active", "ES256", one) + entry("b", "next", "ES384", two), ""},
		{"a file", "keys:\n  - {id: a, state: active, algorithm: ES256, publicKeyFile: one.pem}\n", ""},
		{"no file", "keys:\n  - {id: a, state: active, algorithm: ES256, publicKeyFile: two.pem}\n", "two.pem"},
		{"both", "keys:\n  - {id: a, state: active, algorithm: ES256, publicKey: x, publicKeyFile: one.pem}\n", "must not both be set"},
		{"neither", "keys:\n  - {id: a, state: active, algorithm: ES256}\n", "publicKey or publicKeyFile is required"},
		{"none", "keys: []\n", "keys must not be empty"},
		{"empty", "", "keys must not be empty"},
		{"a key itself", string(one.public), "must be YAML, not a key"},
		{"an unknown key of the file", "keys:\n  - {id: a, state: active, alg: ES256}\n", `keys.yaml: line 2: unknown field "alg"`},
		{"two documents", "keys:\n" + entry("a", "active", "ES256", one) + "---\nkeys: []\n", "must have one YAML document"},
		{"no ID", "keys:\n" + entry("", "active", "ES256", one), "keys[0]: id is required"},
		{"an ID twice", "keys:\n" + entry("a", "active", "ES256", one) + entry("a", "next", "ES384", two), "duplicate id"},
		{"a key twice", "keys:\n" + entry("a", "revoked", "ES256", one) + entry("b", "active", "ES256", one), `duplicate public key: key "a"`},
		{"an unknown state", "keys:\n" + entry("a", "revoke", "ES256", one), `did you mean "revoked"?`},
		{"no state", "keys:\n" + entry("a", "", "ES256", one), "active, next, revoked"},
		{"another key's algorithm", "keys:\n" + entry("a", "active", "ES512", one), "P-256"},
		{"a shared secret", "keys:\n" + entry("a", "active", "HS256", one), "shared secret"},
		{"a private key", "keys:\n" + entry("a", "active", "ES256", pair{public: one.private}), "must be a PUBLIC KEY, not a private key"},
		{"no PEM", "keys:\n" + entry("a", "active", "ES256", pair{public: []byte("x")}), "must be PEM"},
		{"two keys in one", "keys:\n" + entry("a", "active", "ES256", pair{public: append(bytes.Clone(one.public), two.public...)}), "and nothing else"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			dir := t.TempDir()
			check(t, os.WriteFile(filepath.Join(dir, "one.pem"), one.public, 0o644))
			check(t, os.WriteFile(filepath.Join(dir, "keys.yaml"), []byte(row.file), 0o644))
			keys, err := ReadKeys(filepath.Join(dir, "keys.yaml"))
			wantError(t, err, row.want)
			if err == nil {
				if key, ok := keys.Find("a"); !ok || key.State != keyActive {
					t.Errorf("got %v %v, want key a, active", key, ok)
				}
			}
		})
	}
}

// Whatever .signatures.json contains, only signatures of accepted keys are valid.
func FuzzVerify(f *testing.F) {
	r := newKeyring(f)
	b := sample(f)
	good := r.sign(f, b, "active", "active").Signatures
	signed := bytes.Split(good, []byte("."))[1]
	f.Add(good)
	f.Add(r.sign(f, b, "revoked", "active").Signatures)
	f.Add([]byte(`{"signatures":["e30.e30.e30"]}`))
	f.Add([]byte(`{"signatures":["eyJhbGciOiJub25lIiwia2lkIjoiYWN0aXZlIn0.e30."]}`))
	f.Fuzz(func(t *testing.T, signatures []byte) {
		changed := *b
		changed.Signatures = signatures
		if key, err := changed.Verify(r.keys); err == nil && (key.ID != "active" || !bytes.Contains(signatures, signed)) {
			t.Errorf("%s: got accepted as a signature by %q", signatures, key.ID)
		}
	})
}
