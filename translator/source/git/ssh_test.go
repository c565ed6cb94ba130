package git_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/writ-policy/writ/tests/gate"
	"github.com/writ-policy/writ/translator/source/git"
)

// sshServer runs git upload-pack for every client. If raw is set, it handles the connection
// instead; if output is set, it copies the output of git.
type sshServer struct {
	net.Listener
	config *ssh.ServerConfig
	raw    atomic.Pointer[func(net.Conn)]
	output atomic.Pointer[func(git io.Reader, to io.Writer)]
	hosts  string // path of a known_hosts file
	key    string // path of a client key
}

func serveSSH(t *testing.T) *sshServer {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	check(t, err)
	signer, err := ssh.NewSignerFromKey(private)
	check(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	t.Cleanup(func() { listener.Close() })
	s := &sshServer{Listener: listener, config: &ssh.ServerConfig{NoClientAuth: true}}
	s.config.AddHostKey(signer)
	dir := t.TempDir()
	s.hosts, s.key = filepath.Join(dir, "hosts"), filepath.Join(dir, "key")
	check(t, os.WriteFile(s.hosts, []byte(knownhosts.Line([]string{listener.Addr().String()}, signer.PublicKey())+"\n"), 0o600))
	block, err := ssh.MarshalPrivateKey(private, "")
	check(t, err)
	check(t, os.WriteFile(s.key, pem.EncodeToMemory(block), 0o600))
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go s.serve(connection)
		}
	}()
	return s
}

func (s *sshServer) serve(connection net.Conn) {
	defer connection.Close()
	if raw := s.raw.Load(); raw != nil {
		(*raw)(connection)
		return
	}
	_, channels, requests, err := ssh.NewServerConn(connection, s.config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for opened := range channels {
		channel, requests, err := opened.Accept()
		if err != nil {
			return
		}
		for request := range requests {
			if request.Type != "exec" {
				_ = request.Reply(false, nil)
				continue
			}
			_ = request.Reply(true, nil)
			go s.run(channel, string(request.Payload[4:]))
		}
	}
}

// run runs the command git-upload-pack 'PATH'.
func (s *sshServer) run(channel ssh.Channel, command string) {
	defer channel.Close()
	var path string
	if _, err := fmt.Sscanf(command, "git-upload-pack '%s", &path); err != nil {
		return
	}
	git := exec.Command("git", "-c", "safe.directory=*", "upload-pack", path[:len(path)-1])
	git.Stdin = channel
	out, err := git.StdoutPipe()
	if err != nil || git.Start() != nil {
		return
	}
	if output := s.output.Load(); output != nil {
		(*output)(out, channel)
	} else {
		_, _ = io.Copy(channel, out)
	}
	channel.Close()
	_ = git.Process.Kill()
	_ = git.Wait()
	_, _ = channel.SendRequest("exit-status", false, make([]byte, 4))
}

// copyPackStart copies the output of git up to the first bytes of the pack.
func copyPackStart(git io.Reader, to io.Writer) {
	var copied []byte
	for b := make([]byte, 1); ; {
		if _, err := git.Read(b); err != nil {
			return
		}
		_, _ = to.Write(b)
		if copied = append(copied, b...); bytes.HasSuffix(copied, []byte("PACK")) {
			_, _ = io.CopyN(to, git, 20)
			return
		}
	}
}

// Each fault replaces a response of an SSH server between two good commits.
func TestSSHFaults(t *testing.T) {
	o := newOrigin(t)
	wait := func(io.Reader, io.Writer) { <-t.Context().Done() }
	rows := []struct {
		name   string
		raw    func(net.Conn)
		output func(git io.Reader, to io.Writer)
		want   string
	}{
		{"connection closed", func(net.Conn) {}, nil, "handshake failed"},
		{"HTTP instead of SSH", func(c net.Conn) { _, _ = c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")) }, nil, "handshake failed"},
		{"no response", func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }, nil, "stalled"},
		{"closed within the references", nil, func(git io.Reader, to io.Writer) { _, _ = io.CopyN(to, git, 100) }, "EOF"},
		{"closed within the pack", nil, copyPackStart, "EOF"},
		{"stalled pack", nil, func(git io.Reader, to io.Writer) { copyPackStart(git, to); wait(git, to) }, "stalled"},
		{"text instead of the protocol", nil, func(_ io.Reader, to io.Writer) { _, _ = to.Write([]byte("please log in\n")) }, "pkt-len"},
	}
	table := [][]string{{"fault", "error"}}
	for _, row := range rows {
		table = append(table, []string{row.name, row.want})
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			local, dir, server := o.copy(t), t.TempDir(), serveSSH(t)
			url := "git+ssh://" + server.Addr().String() + local.dir
			options := git.Options{Location: parse(t, url+"//p?ref=main"), Dir: dir, Stall: 10 * time.Second,
				Credentials: git.Credentials{SSHKey: server.key, KnownHosts: server.hosts}.For}
			if row.want == "stalled" {
				gate.Only(t)
				options.Stall = 3 * time.Second
			}
			checkRecovery(t, git.Open(options), url, dir, row.want, 1, func() {
				local.setBranch(local.second)
				if row.raw != nil {
					server.raw.Store(&row.raw)
				} else {
					server.output.Store(&row.output)
				}
			}, func() { server.raw.Store(nil); server.output.Store(nil) })
		})
	}
	checkDocumented(t, table)
}
