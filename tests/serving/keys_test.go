package serving

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/writ-policy/writ/tests/gate"
)

// states writes the file of keys with other states; a key without one is left out.
func (b *builder) states(now, old string) {
	text := "keys:\n"
	for _, key := range []struct{ id, state string }{{"now", now}, {"old", old}} {
		if key.state != "" {
			text += fmt.Sprintf("  - {id: %s, state: %s, algorithm: ES256, publicKeyFile: %s.pub}\n", key.id, key.state, key.id)
		}
	}
	b.write("keys.yaml", []byte(text))
}

// A file of keys that changes takes effect in a server that runs: a key that becomes
// good lets in what was refused, one that is revoked refuses the next bundle it has
// signed and takes nothing away, and a broken file changes nothing.
func TestKeysChangeWhileServing(t *testing.T) {
	gate.Only(t)
	b := newBuilder(t)
	path := b.dir + "/web.tar.gz"
	publish := func(content []byte) {
		t.Helper()
		b.write("web.tar.gz.new", content)
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	publish(b.build("alice", 1, "now"))
	b.write("secret", []byte("s3cret"))
	state := t.TempDir()
	address := serve(t, "--bundle", path, "--keys", b.keys, "--state-dir", state, "--every", "1h", "--poke-secret", b.dir+"/secret")
	serves := func(user string) bool { allowed, _, _ := mayGet(t, address, user); return allowed }
	keys := func(key string) string {
		all, _ := statusOf(t, address)["keys"].(map[string]any)
		return fmt.Sprint(all[key])
	}
	waitFor(t, func() bool { return serves("alice") && keys("signedBy") == "now" && keys("state") == "active" })

	b.write("keys.yaml", []byte("keys: [\n"))
	waitFor(t, func() bool { return strings.Contains(keys("lastError"), "yaml") })
	if strings.Contains(keys("lastError"), b.dir) {
		t.Errorf("the status contains the path of the file: %s", keys("lastError"))
	}
	publish(b.build("bob", 2, "now"))
	poke(t, address, "s3cret")
	waitFor(t, func() bool { return serves("bob") }) // by the keys before

	b.states("revoked", "active")
	waitFor(t, func() bool { return keys("state") == "revoked" && keys("lastError") == "" })
	if !serves("bob") {
		t.Error("a key that is revoked took what is served away")
	}
	waitFor(t, func() bool { return strings.Contains(pageOf(t, address), "\nwrit_key_withdrawn 1\n") })
	publish(b.build("mallory", 3, "now"))
	poke(t, address, "s3cret")
	waitFor(t, func() bool {
		return strings.Contains(fmt.Sprint(statusOf(t, address)["lastError"]), `signed by key "now", which is revoked`)
	})
	if serves("mallory") || !serves("bob") {
		t.Error("what is signed by a revoked key changed an answer")
	}
	publish(b.build("carol", 4, "old"))
	poke(t, address, "s3cret")
	waitFor(t, func() bool { return serves("carol") && keys("signedBy") == "old" && keys("state") == "active" })
	waitFor(t, func() bool { return strings.Contains(pageOf(t, address), "\nwrit_key_withdrawn 0\n") })

	// What was refused comes in by itself when its key becomes good.
	publish(b.build("dave", 5, "now"))
	poke(t, address, "s3cret")
	waitFor(t, func() bool { return strings.Contains(fmt.Sprint(statusOf(t, address)["lastError"]), "revoked") })
	b.states("next", "")
	waitFor(t, func() bool { return serves("dave") && keys("state") == "next" })
}

// pageOf is the page of metrics.
func pageOf(t *testing.T, address string) string {
	t.Helper()
	response, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	content := new(strings.Builder)
	if _, err := io.Copy(content, response.Body); err != nil {
		t.Fatal(err)
	}
	return content.String()
}
