package git

import (
	"strings"
	"testing"
)

// A file of keys has an error or keys, and no line is dropped: each is a comment, part of a
// PGP block or a signer.
func FuzzKeySet(f *testing.F) {
	const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ3vFv0n8vb6P3l3b5S0o6yPp8yF0Y9m0l5xk9o0W1bT"
	for _, seed := range []string{
		"# comment\n\n" + key,
		"a@example.com " + key + " comment",
		`"a b",c@* cert-authority,namespaces="git,\"x",valid-before="20300101Z" ` + key,
		`expiry-time="203001011200" ` + key,
		"@revoked * " + key,
		"a " + pgpBegin + "\n" + pgpEnd,
		pgpBegin + "\nx\n" + pgpEnd,
		`a valid-after="`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		set, err := parseKeySet(text)
		if err != nil {
			return
		}
		lines := 0
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				lines++
			}
		}
		if len(set.pgp) == 0 && len(set.ssh) != lines {
			t.Errorf("got %d signers of %d lines", len(set.ssh), lines)
		}
		for _, s := range set.ssh {
			if s == nil || s.key == nil {
				t.Fatalf("got a signer without a key: %+v", s)
			}
			if s.principals == "" && (s.isAuthority || s.namespaces != "" || !s.after.IsZero()) {
				t.Errorf("got options of allowed_signers in a line of authorized_keys: %+v", s)
			}
		}
		if _, err := parseRevoked([]byte(text)); err == nil && len(set.pgp) > 0 {
			t.Error("a PGP block is accepted as a revoked key")
		}
	})
}

// matchesNaively tries each length of a star.
func matchesNaively(pattern, text string) bool {
	switch {
	case pattern == "":
		return text == ""
	case pattern[0] == '*':
		return matchesNaively(pattern[1:], text) || text != "" && matchesNaively(pattern, text[1:])
	}
	return text != "" && (pattern[0] == '?' || pattern[0] == text[0]) && matchesNaively(pattern[1:], text[1:])
}

func FuzzMatches(f *testing.F) {
	f.Add("*@example.com", "a@example.com")
	f.Add("a*b?c*", "axxbyczz")
	f.Add("**?", "")
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if len(pattern) > 12 || len(text) > 12 {
			return
		}
		if got, want := matches(pattern, text), matchesNaively(pattern, text); got != want {
			t.Errorf("matches(%q, %q) = %v", pattern, text, got)
		}
	})
}
