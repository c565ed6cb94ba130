package git_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/tests/gate"
	"github.com/writ-policy/writ/translator/source/git"
)

// signing is a repository with SSH keys, and the commits that they have signed.
type signing struct {
	*checkout
	keys string // folder of the keys
}

func newSigning(t *testing.T) *signing {
	t.Helper()
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		t.Skip("NOT TESTED: ssh-keygen, of the package openssh-client, is not installed, so signatures are not compared with git")
	}
	s := &signing{newCheckout(t), t.TempDir()}
	s.write("a.yaml", "a: 1\n")
	s.git("config", "gpg.format", "ssh")
	return s
}

func (s *signing) keygen(args ...string) {
	s.t.Helper()
	if out, err := exec.Command("ssh-keygen", append([]string{"-q"}, args...)...).CombinedOutput(); err != nil {
		s.t.Fatalf("ssh-keygen %q: %v\n%s", args, err, out)
	}
}

func (s *signing) path(name string) string { return filepath.Join(s.keys, name) }

// newKey creates a key and returns the line of its public part.
func (s *signing) newKey(name string, kind ...string) string {
	s.t.Helper()
	if len(kind) == 0 {
		kind = []string{"ed25519"}
	}
	s.keygen(append([]string{"-N", "", "-C", "", "-f", s.path(name), "-t"}, kind...)...)
	return s.public(name)
}

func (s *signing) public(name string) string {
	s.t.Helper()
	content, err := os.ReadFile(s.path(name + ".pub"))
	check(s.t, err)
	return strings.TrimSpace(string(content))
}

// signed makes a commit that the key signs at a time; zero is now.
func (s *signing) signed(key string, at time.Time) string {
	s.t.Helper()
	if at.IsZero() {
		at = time.Now()
	}
	s.t.Setenv("GIT_COMMITTER_DATE", at.Format(time.RFC3339))
	s.git("config", "user.signingkey", s.path(key))
	return s.commit("-S")
}

// gitAccepts reports whether git verify-commit accepts the commit by the files.
func (s *signing) gitAccepts(commit string, files git.KeyFiles) bool {
	s.t.Helper()
	args := []string{"-c", "gpg.ssh.allowedSignersFile=" + files.Allowed}
	if files.Revoked != "" {
		args = append(args, "-c", "gpg.ssh.revocationFile="+files.Revoked)
	}
	cmd := exec.Command("git", append(args, "verify-commit", commit)...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	return cmd.Run() == nil
}

// accepts reports whether a repository reads the commit by the files, and why not.
func (s *signing) accepts(commit string, files git.KeyFiles, now time.Time) (bool, error) {
	s.t.Helper()
	keys, err := git.ReadKeys(files)
	if err != nil {
		return false, err
	}
	o := git.Options{Location: parse(s.t, "git+file://"+s.dir+"?ref="+commit), Keys: keys}
	if !now.IsZero() {
		o.Now = func() time.Time { return now }
	}
	_, _, err = git.Open(o).Snapshot(context.Background())
	return err == nil, err
}

// files writes the files of keys.
func (s *signing) files(allowed, revoked string) git.KeyFiles {
	s.t.Helper()
	files := git.KeyFiles{Allowed: s.path("allowed_signers")}
	check(s.t, os.WriteFile(files.Allowed, []byte(allowed+"\n"), 0o600))
	if revoked != "" {
		files.Revoked = s.path("revoked")
		check(s.t, os.WriteFile(files.Revoked, []byte(revoked+"\n"), 0o600))
	}
	return files
}

var (
	longAgo  = time.Date(2019, 3, 4, 5, 6, 7, 0, time.UTC)
	lastYear = time.Date(2021, 3, 4, 5, 6, 7, 0, time.UTC)
)

// Each row has the lines of allowed_signers, where NAME stands for a public key, and wants the
// decision of git verify-commit. A row with a difference states why it is stricter.
func TestAllowedSignersAsGit(t *testing.T) {
	gate.Only(t)
	s := newSigning(t)
	for _, name := range []string{"alice", "bob", "authority"} {
		s.newKey(name)
	}
	s.newKey("ecdsa", "ecdsa")
	s.newKey("rsa", "rsa")
	certify := func(name string, args ...string) {
		t.Helper()
		s.newKey(name)
		s.keygen(append(append([]string{"-s", s.path("authority"), "-I", name}, args...), s.path(name+".pub"))...)
	}
	certify("carol", "-n", "carol@example.com,carol@example.org")
	certify("expired", "-n", "carol@example.com", "-V", "20180101:20200101")
	certify("anyone")
	certify("host", "-h", "-n", "carol@example.com")
	certify("command", "-n", "carol@example.com", "-O", "force-command=true")
	commits := map[string]string{}
	for _, key := range []string{"alice", "ecdsa", "rsa"} {
		commits[key] = s.signed(key, lastYear)
	}
	for _, key := range []string{"carol", "expired", "anyone", "host", "command"} {
		commits[key] = s.signed(key+"-cert.pub", lastYear)
	}
	commits["expired, in time"] = s.signed("expired-cert.pub", longAgo)
	commits["alice, long ago"] = s.signed("alice", longAgo)

	for _, row := range []struct {
		name, commit, lines string
		revoked             string
		want                string // a part of our error; empty: accepted
		stricter            bool   // git accepts
	}{
		{name: "key", commit: "alice", lines: "alice@example.com KEY:alice"},
		{name: "comment and empty lines", commit: "alice", lines: "# x\n\n  \talice@example.com KEY:alice a comment\r\n"},
		{name: "ECDSA", commit: "ecdsa", lines: "alice@example.com KEY:ecdsa"},
		{name: "RSA", commit: "rsa", lines: "alice@example.com KEY:rsa"},
		{name: "other key", commit: "alice", lines: "alice@example.com KEY:bob", want: "not signed by an allowed key"},
		{name: "pattern", commit: "alice", lines: "*@example.com KEY:alice"},
		{name: "several principals", commit: "alice", lines: "bob@example.com,alice@example.com KEY:alice"},
		{name: "quoted principals", commit: "alice", lines: `"alice@example.com" KEY:alice`},
		{name: "only a negated principal", commit: "alice", lines: "!alice@example.com KEY:alice", want: "not signed by an allowed key"},
		{name: "a negated principal among others", commit: "alice", lines: "!bob@example.com,*@example.com KEY:alice"},
		{name: "negated by its own list", commit: "alice", lines: "alice@example.com,!*@example.com KEY:alice", want: "not signed by an allowed key"},
		{name: "namespace", commit: "alice", lines: `alice@example.com namespaces="git" KEY:alice`},
		{name: "namespaces", commit: "alice", lines: `alice@example.com namespaces="file,g?t" KEY:alice`},
		{name: "option in capitals", commit: "alice", lines: `alice@example.com NAMESPACES="git" KEY:alice`},
		{name: "other namespace", commit: "alice", lines: `alice@example.com namespaces="file" KEY:alice`, want: "not signed by an allowed key"},
		{name: "negated namespace", commit: "alice", lines: `alice@example.com namespaces="!git,*" KEY:alice`, want: "not signed by an allowed key"},
		{name: "other namespace, and a second line", commit: "alice",
			lines: "alice@example.com namespaces=\"file\" KEY:alice\nalice@example.com KEY:alice"},
		{name: "other namespace, and a second line of another principal", commit: "alice",
			lines: "alice@example.com namespaces=\"file\" KEY:alice\nbob@example.com KEY:alice", want: "not signed by an allowed key"},
		{name: "valid", commit: "alice", lines: `alice@example.com valid-after="20200101",valid-before="20990101" KEY:alice`},
		{name: "valid, with all forms of time", commit: "alice", lines: `alice@example.com valid-after="202001010000Z",valid-before="20990101123456" KEY:alice`},
		{name: "expired before the commit", commit: "alice", lines: `alice@example.com valid-before="20200101" KEY:alice`, want: "not valid at the time"},
		{name: "not valid yet at the commit", commit: "alice", lines: `alice@example.com valid-after="20220101Z" KEY:alice`, want: "not valid at the time"},
		{name: "not valid yet", commit: "alice", lines: `alice@example.com valid-after="20990101" KEY:alice`, want: "not valid at the time"},
		{name: "expired after the commit", commit: "alice", lines: `alice@example.com valid-before="20220101" KEY:alice`, want: "not valid at the time", stricter: true},
		{name: "expired, and a date before that", commit: "alice, long ago", lines: `alice@example.com valid-before="20200101" KEY:alice`, want: "not valid at the time", stricter: true},
		{name: "the last second", commit: "alice", lines: `alice@example.com valid-after="20210304050607Z" KEY:alice`},
		{name: "a second later", commit: "alice", lines: `alice@example.com valid-after="20210304050608Z" KEY:alice`, want: "not valid at the time"},
		{name: "expired in one line", commit: "alice", lines: "alice@example.com valid-before=\"20200101\" KEY:alice\nbob@example.com KEY:alice"},

		{name: "key of an authority", commit: "alice", lines: "alice@example.com cert-authority KEY:alice", want: "not signed by an allowed key"},
		{name: "certificate", commit: "carol", lines: "*@example.com cert-authority KEY:authority"},
		{name: "certificate, second principal", commit: "carol", lines: "carol@example.org cert-authority KEY:authority"},
		{name: "certificate of others", commit: "carol", lines: "dave@example.com cert-authority KEY:authority", want: "not signed by an allowed key"},
		{name: "certificate for another namespace", commit: "carol", lines: `*@example.com cert-authority,namespaces="file" KEY:authority`, want: "not signed by an allowed key"},
		{name: "certificate by a key that is not an authority", commit: "carol", lines: "*@example.com KEY:authority", want: "not signed by an allowed key"},
		{name: "certificate, and its key", commit: "carol", lines: "*@example.com KEY:carol", want: "not signed by an allowed key"},
		{name: "certificate of another authority", commit: "carol", lines: "*@example.com cert-authority KEY:bob", want: "not signed by an allowed key"},
		{name: "certificate of an expired authority", commit: "carol", lines: `*@example.com cert-authority,valid-before="20200101" KEY:authority`, want: "not signed by an allowed key"},
		{name: "expired certificate", commit: "expired", lines: "*@example.com cert-authority KEY:authority", want: "not signed by an allowed key"},
		{name: "certificate that expired after the commit", commit: "expired, in time", lines: "*@example.com cert-authority KEY:authority",
			want: "not signed by an allowed key", stricter: true},
		{name: "certificate without principals", commit: "anyone", lines: "*@example.com cert-authority KEY:authority", want: "not signed by an allowed key"},
		{name: "certificate of a host", commit: "host", lines: "*@example.com cert-authority KEY:authority", want: "not signed by an allowed key"},
		{name: "certificate with a critical option", commit: "command", lines: "*@example.com cert-authority KEY:authority",
			want: "not signed by an allowed key", stricter: true},

		{name: "revoked", commit: "alice", lines: "alice@example.com KEY:alice", revoked: "KEY:alice", want: "revoked"},
		{name: "other key revoked", commit: "alice", lines: "alice@example.com KEY:alice", revoked: "# x\n\nKEY:bob"},
		{name: "revoked authority", commit: "carol", lines: "*@example.com cert-authority KEY:authority", revoked: "KEY:authority", want: "revoked"},
		{name: "revoked key of a certificate", commit: "carol", lines: "*@example.com cert-authority KEY:authority", revoked: "KEY:carol", want: "revoked"},

		{name: "marker", commit: "alice", lines: "@revoked * KEY:alice", want: `line 1: unknown marker "@revoked"`},
		{name: "unknown option", commit: "alice", lines: "# x\nalice@example.com restrict KEY:alice", want: `line 2: unknown option "restrict"`},
		{name: "unknown option with a value", commit: "alice", lines: `alice@example.com namespaces="git",x="y" KEY:alice`, want: `line 1: unknown option "x"`},
		{name: "value without quotes", commit: "alice", lines: "alice@example.com namespaces=git KEY:alice", want: "must have a value in double quotes"},
		{name: "no closing quote", commit: "alice", lines: `alice@example.com namespaces="git KEY:alice`, want: "line 1"},
		{name: "repeated option", commit: "alice", lines: `alice@example.com namespaces="git",namespaces="git" KEY:alice`, want: "must not be repeated"},
		{name: "no time", commit: "alice", lines: `alice@example.com valid-before="tomorrow" KEY:alice`, want: "must be a time"},
		{name: "impossible time", commit: "alice", lines: `alice@example.com valid-after="20201399" KEY:alice`, want: "must be a time"},
		{name: "times in the wrong order", commit: "alice", lines: `alice@example.com valid-after="20210101",valid-before="20200101" KEY:alice`, want: "must be later"},
		{name: "no key", commit: "alice", lines: "alice@example.com", want: "line 1"},
		{name: "options alone", commit: "alice", lines: `namespaces="git" KEY:alice`, want: `unknown option "namespaces"`, stricter: true},

		// The lines of authorized_keys have no principals, and git does not read them.
		{name: "authorized_keys", commit: "alice", lines: "KEY:alice comment", stricter: false},
		{name: "authorized_keys, valid", commit: "alice", lines: `expiry-time="20990101" KEY:alice`},
		{name: "authorized_keys, expired", commit: "alice", lines: `expiry-time="20200101" KEY:alice`, want: "not valid at the time"},
		{name: "authorized_keys, expired after the commit", commit: "alice", lines: `expiry-time="20220101" KEY:alice`, want: "not valid at the time"},
		{name: "authorized_keys, authority", commit: "alice", lines: "cert-authority KEY:alice", want: `line 1: unknown option "cert-authority"`},
		{name: "authorized_keys, other options", commit: "alice", lines: `from="*",no-pty KEY:alice`, want: `line 1: unknown option "from"`},
		{name: "authorized_keys, revoked", commit: "alice", lines: "KEY:alice", revoked: "KEY:alice", want: "revoked"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s.t = t
			named := func(text string) string {
				for _, name := range []string{"alice", "bob", "authority", "carol", "ecdsa", "rsa"} {
					text = strings.ReplaceAll(text, "KEY:"+name, s.public(name))
				}
				return text
			}
			files := s.files(named(row.lines), named(row.revoked))
			got, err := s.accepts(commits[row.commit], files, time.Time{})
			if got != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
				t.Errorf("got error %v, want %q", err, row.want)
			}
			byGit := s.gitAccepts(commits[row.commit], files)
			switch {
			case strings.HasPrefix(row.name, "authorized_keys"):
			case byGit != (got || row.stricter):
				t.Errorf("git accepts: %v, writ: %v (%v)", byGit, got, err)
			}
		})
	}
	s.t = t
}

// A key that expires is not accepted from then on, also for a commit that claims to be older.
func TestKeyExpires(t *testing.T) {
	s := newSigning(t)
	line := `alice@example.com valid-before="20300101Z" ` + s.newKey("alice")
	commit, files := s.signed("alice", lastYear), s.files(line, "")
	end := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	if ok, err := s.accepts(commit, files, end); !ok {
		t.Errorf("at the end of its validity: got error %v", err)
	}
	if ok, _ := s.accepts(commit, files, end.Add(time.Second)); ok {
		t.Error("a second later: accepted")
	}
}

// The keys stay as they were while a file is in error.
func TestReloadRejectsUnknownOptions(t *testing.T) {
	s := newSigning(t)
	key := s.newKey("alice")
	commit := s.signed("alice", time.Time{})
	files := s.files("alice@example.com "+key, "# none")
	keys, err := git.ReadKeys(files)
	check(t, err)
	r := git.Open(git.Options{Location: parse(t, "git+file://"+s.dir+"?ref="+commit), Keys: keys})
	for _, lines := range [][2]string{
		{"alice@example.com valid-untill=\"20200101\" " + key, "# none"},
		{"@revoked * " + key, "# none"},
		{"alice@example.com " + key, "SSHKRL\n\x00binary"},
		{"alice@example.com " + key, "revoked " + key},
	} {
		s.files(lines[0], lines[1])
		if changed, err := keys.Reload(); changed || err == nil {
			t.Errorf("%q: got changed %v, error %v", lines, changed, err)
		}
	}
	if _, _, err := r.Snapshot(context.Background()); err != nil {
		t.Errorf("with the keys from before: %v", err)
	}
}
