package git_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/writ-policy/writ/translator/source/git"
)

// serveAgent runs an SSH agent with one key and returns its socket.
func serveAgent(t *testing.T) string {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	check(t, err)
	keys := agent.NewKeyring()
	check(t, keys.Add(agent.AddedKey{PrivateKey: private}))
	dir, err := os.MkdirTemp("", "agent") // a socket's path must be short
	check(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	listener, err := net.Listen("unix", socket)
	check(t, err)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go func() { _ = agent.ServeAgent(keys, connection) }()
		}
	}()
	return socket
}

// The server must be a known host with each way to authenticate.
func TestKnownHosts(t *testing.T) {
	o := newOrigin(t)
	local, server := o.copy(t), serveSSH(t)
	public, _, err := ed25519.GenerateKey(rand.Reader)
	check(t, err)
	stranger, err := ssh.NewPublicKey(public)
	check(t, err)
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		check(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	address := server.Addr().String()
	hosts := map[string]struct{ path, want string }{
		"known":   {server.hosts, ""},
		"changed": {file("changed", knownhosts.Line([]string{address}, stranger)+"\n"), "key mismatch"},
		"unknown": {file("unknown", knownhosts.Line([]string{"example.com"}, stranger)+"\n"), "key is unknown"},
		"empty":   {file("empty", ""), "key is unknown"},
		"missing": {filepath.Join(dir, "missing"), "read the known hosts"},
		"damaged": {file("damaged", "example.com ssh-ed25519 nonsense\n"), "read the known hosts"},
	}
	// The user's own file trusts the server: it must not count.
	t.Setenv("SSH_KNOWN_HOSTS", server.hosts)
	ways := map[string]struct{ key, agent string }{
		"key": {key: server.key}, "agent": {agent: serveAgent(t)}, "none": {},
	}
	for way, by := range ways {
		for name, row := range hosts {
			t.Run(way+"/"+name, func(t *testing.T) {
				t.Setenv("SSH_AUTH_SOCK", by.agent)
				r := git.Open(git.Options{
					Location:    parse(t, "git+ssh://"+address+local.dir+"//p?ref=main"),
					Credentials: git.Credentials{SSHKey: by.key, KnownHosts: row.path}.For,
				})
				_, _, err := r.Snapshot(context.Background())
				if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) {
					t.Errorf("got error %v, want %q", err, row.want)
				}
			})
		}
	}
	if _, err := (git.Credentials{KnownHosts: hosts["missing"].path}).For(parse(t, "git+https://example.com/x.git")); err == nil {
		t.Error("missing file, over HTTPS: got no error")
	}
}
