package bundles

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/open-policy-agent/opa/v1/bundle"

	"github.com/writ-policy/writ/rego"
)

// pair is a key with both halves in PEM.
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

// An RSA key takes long to make.
var rsaKey = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

func rsaPair(t testing.TB) pair {
	t.Helper()
	key, err := rsaKey()
	check(t, err)
	return newPair(t, key)
}

// ring is keys named for their states, and "stranger", which is none of them.
type ring struct {
	keys  *Keys
	pairs map[string]pair
}

func newRing(t testing.TB) ring {
	t.Helper()
	r := ring{keys: &Keys{}, pairs: map[string]pair{}}
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

// sign signs by the private key of one ID and says it is by another.
func (r ring) sign(t testing.TB, b *Bundle, by, says string) *Bundle {
	t.Helper()
	key, err := newSigningKey(r.pairs[by].private, SigningOptions{ID: says})
	check(t, err)
	signed, err := Sign(b, key)
	check(t, err)
	return signed
}

// other is a bundle of other documents.
func other(t testing.TB) *Bundle {
	t.Helper()
	access := translated(1)
	b, err := assemble(Tables{Access: access}, nil, BuildOptions{Version: "v0"}, rego.Files(), compiledFiles(t, access))
	check(t, err)
	return b
}

func TestSignedBundles(t *testing.T) {
	r := newRing(t)
	good := r.sign(t, sample(t), "active", "active")
	with := func(change func(b *Bundle)) *Bundle {
		b := *good
		b.Files = maps.Clone(good.Files)
		change(&b)
		b.Manifest.Revision = revision(b.Files)
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
		{"stripped", with(func(b *Bundle) { b.Signatures = nil }), "not signed"},
		{"emptied", with(func(b *Bundle) { b.Signatures = []byte(`{}`) }), "0 signatures"},
		{"two signatures", with(func(b *Bundle) { b.Signatures = []byte(`{"signatures":["a","b"]}`) }), "2 signatures"},
		{"no token", with(func(b *Bundle) { b.Signatures = []byte(`{"signatures":["a"]}`) }), "not a token"},
		{"no JSON", with(func(b *Bundle) { b.Signatures = []byte(`signed`) }), ".signatures.json"},
		{"a plugin of its own", with(func(b *Bundle) { b.Signatures = []byte(`{"signatures":["a.b.c"],"plugin":"lenient"}`) }), `plugin "lenient"`},
		{"by a revoked key", r.sign(t, sample(t), "revoked", "revoked"), `key "revoked", which is revoked`},
		{"by a revoked key under another name", r.sign(t, sample(t), "revoked", "active"), `not by key "active"`},
		{"by an unknown key", r.sign(t, sample(t), "stranger", "stranger"), `key "stranger", which is not one of the keys`},
		{"by an unknown key under a known name", r.sign(t, sample(t), "stranger", "next"), `not by key "next"`},
		{"without a key's name", with(func(b *Bundle) { b.Signatures = []byte(`{"signatures":["e30.e30.e30"]}`) }), "names no key"},
		{"swapped for another bundle's", with(func(b *Bundle) { b.Signatures = r.sign(t, other(t), "active", "active").Signatures }), "not what was signed"},
		{"a file more", with(func(b *Bundle) { b.Files["writ/extensions/x.rego"] = []byte("package writ.extensions.x") }), `"writ/extensions/x.rego" is in the bundle and not signed`},
		{"a test more", with(func(b *Bundle) {
			b.Files["compiled/tests/x_test.rego"] = []byte("package compiled.tests.x_test")
		}), `"compiled/tests/x_test.rego" is in the bundle and not signed`},
		{"a file less", with(func(b *Bundle) { delete(b.Files, "writ/access/access.rego") }), `"writ/access/access.rego" is signed and not in the bundle`},
		{"a changed module", with(func(b *Bundle) { b.Files["writ/access/access.rego"] = []byte("package writ.access") }), `"writ/access/access.rego" is not what was signed`},
		{"a changed test", with(func(b *Bundle) {
			b.Files["compiled/tests/access/r_test.rego"] = []byte("package compiled.tests.access.r_test")
		}), `"compiled/tests/access/r_test.rego" is not what was signed`},
		{"changed data", with(func(b *Bundle) {
			b.Files[DataPath] = bytes.Replace(b.Files[DataPath], []byte("pods"), []byte("secrets"), 1)
		}), `"compiled/data.json" is not what was signed`},
		{"another commit", with(func(b *Bundle) { b.Manifest.Metadata.Commit = "c0ffee" }), `".manifest" is not what was signed`},
		{"a higher sequence number", with(func(b *Bundle) { b.Manifest.Metadata.Sequence = 99 }), `".manifest" is not what was signed`},
		{"hashes that are good", claims("SHA-256"), ""},
		{"hashes that are broken", claims("MD5"), `"MD5"`},
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
				t.Errorf("without keys: got %v, want it read", err)
			}
		})
	}
}

// handSigned signs the files by hashes of another algorithm.
func (r ring) handSigned(t testing.TB, b *Bundle, algorithm string) *Bundle {
	t.Helper()
	manifest, err := b.Manifest.encode()
	check(t, err)
	hasher, err := bundle.NewSignatureHasher(bundle.HashingAlgorithm(algorithm))
	check(t, err)
	var infos []bundle.FileInfo
	all := maps.Clone(b.Files)
	all[ManifestPath] = manifest
	for path, content := range all {
		value, err := hashed(path, content)
		check(t, err)
		sum, err := hasher.HashFile(value)
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

// A signed bundle that is read is written again as it was.
func TestSignatureSurvives(t *testing.T) {
	r := newRing(t)
	want := tarball(t, r.sign(t, sample(t), "active", "active"))
	b, err := ReadSigned(bytes.NewReader(want), r.keys)
	check(t, err)
	if !bytes.Equal(tarball(t, b), want) {
		t.Error("read and written again, the bytes differ")
	}
	key, err := b.Verify(r.keys)
	check(t, err)
	if key.ID != "active" || key.State != KeyActive {
		t.Errorf("got key %q, %s, want the active one", key.ID, key.State)
	}
	if again := r.sign(t, b, "next", "next"); bytes.Equal(again.Signatures, b.Signatures) {
		t.Error("signed again, the signature is the earlier one")
	}
}

// OPA's own reader verifies what is signed here, by every algorithm, and refuses
// what was changed.
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
				DefaultKeyID: {Key: string(row.pair.public), Algorithm: key.algorithm},
			}, "", "", nil)
			_, err = bundle.NewReader(bytes.NewReader(tarball(t, b))).WithBundleVerificationConfig(config).Read()
			wantError(t, err, "")
			b.Files["writ/access/access.rego"] = append(b.Files["writ/access/access.rego"], '\n')
			_, err = bundle.NewReader(bytes.NewReader(tarball(t, b))).WithBundleVerificationConfig(config).Read()
			wantError(t, err, "digest mismatch")
		})
	}
}

func TestSigningKeyRefuses(t *testing.T) {
	r := newRing(t)
	small, err := rsa.GenerateKey(rand.Reader, 1024)
	check(t, err)
	rows := []struct {
		name    string
		private []byte
		o       SigningOptions
		want    string
	}{
		{"nothing said", r.pairs["active"].private, SigningOptions{}, ""},
		{"found among the keys", r.pairs["active"].private, SigningOptions{Keys: r.keys}, ""},
		{"an active key", r.pairs["active"].private, SigningOptions{ID: "active", Keys: r.keys}, ""},
		{"the next key", r.pairs["next"].private, SigningOptions{Keys: r.keys}, `key "next" is next; only active keys sign`},
		{"a revoked key", r.pairs["revoked"].private, SigningOptions{Keys: r.keys}, `key "revoked" is revoked`},
		{"none of the keys", r.pairs["stranger"].private, SigningOptions{Keys: r.keys}, "none of the keys"},
		{"an unknown ID", r.pairs["active"].private, SigningOptions{ID: "x", Keys: r.keys}, `"x" is not one of the keys`},
		{"another key's ID", r.pairs["stranger"].private, SigningOptions{ID: "active", Keys: r.keys}, "does not belong"},
		{"another algorithm", r.pairs["active"].private, SigningOptions{Algorithm: "RS256", Keys: r.keys}, "signs by ES256"},
		{"an algorithm of another kind", r.pairs["active"].private, SigningOptions{Algorithm: "RS256"}, "P-256"},
		{"a shared secret", r.pairs["active"].private, SigningOptions{Algorithm: "HS256"}, "shared secret"},
		{"no algorithm", r.pairs["active"].private, SigningOptions{Algorithm: "none"}, `algorithm "none"`},
		{"a public key", r.pairs["active"].public, SigningOptions{}, "not the PEM of a private key"},
		{"no PEM", []byte("secret"), SigningOptions{}, "not PEM"},
		{"a short key", newPair(t, small).private, SigningOptions{}, "1024 bits"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			key, err := newSigningKey(row.private, row.o)
			wantError(t, err, row.want)
			if said := fmt.Sprintf("%v %+v %#v %v", key, key, key, err); strings.Contains(said, "MIG") || strings.Contains(said, "PRIVATE KEY-----") {
				t.Errorf("the key is quoted: %s", said)
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
		{"both", "keys:\n  - {id: a, state: active, algorithm: ES256, publicKey: x, publicKeyFile: one.pem}\n", "only one of them"},
		{"neither", "keys:\n  - {id: a, state: active, algorithm: ES256}\n", "no publicKey"},
		{"none", "keys: []\n", "no keys"},
		{"empty", "", "no keys"},
		{"a key itself", string(one.public), "not a file of keys"},
		{"an unknown key of the file", "keys:\n  - {id: a, state: active, alg: ES256}\n", "alg"},
		{"two documents", "keys:\n" + entry("a", "active", "ES256", one) + "---\nkeys: []\n", "more than one"},
		{"no ID", "keys:\n" + entry("", "active", "ES256", one), "keys[0]: no id"},
		{"an ID twice", "keys:\n" + entry("a", "active", "ES256", one) + entry("a", "next", "ES384", two), "the id twice"},
		{"a key twice", "keys:\n" + entry("a", "revoked", "ES256", one) + entry("b", "active", "ES256", one), `same public key as "a"`},
		{"an unknown state", "keys:\n" + entry("a", "revoke", "ES256", one), `did you mean "revoked"?`},
		{"no state", "keys:\n" + entry("a", "", "ES256", one), "active, next, revoked"},
		{"another key's algorithm", "keys:\n" + entry("a", "active", "ES512", one), "P-256"},
		{"a shared secret", "keys:\n" + entry("a", "active", "HS256", one), "shared secret"},
		{"a private key", "keys:\n" + entry("a", "active", "ES256", pair{public: one.private}), "private key, not of a PUBLIC KEY"},
		{"no PEM", "keys:\n" + entry("a", "active", "ES256", pair{public: []byte("x")}), "not PEM"},
		{"two keys in one", "keys:\n" + entry("a", "active", "ES256", pair{public: append(bytes.Clone(one.public), two.public...)}), "follows"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			dir := t.TempDir()
			check(t, os.WriteFile(filepath.Join(dir, "one.pem"), one.public, 0o644))
			check(t, os.WriteFile(filepath.Join(dir, "keys.yaml"), []byte(row.file), 0o644))
			keys, err := ReadKeys(filepath.Join(dir, "keys.yaml"))
			wantError(t, err, row.want)
			if err == nil {
				if key, ok := keys.Find("a"); !ok || key.State != KeyActive {
					t.Errorf("got %v %v, want key a, active", key, ok)
				}
			}
		})
	}
}

// Whatever stands in .signatures.json, only what an accepted key has signed holds.
func FuzzVerify(f *testing.F) {
	r := newRing(f)
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
			t.Errorf("%s is taken for a signature by %q", signatures, key.ID)
		}
	})
}
