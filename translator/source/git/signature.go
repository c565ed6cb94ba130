package git

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"

	"github.com/writ-policy/writ/internal/elements"
)

var (
	errUnsigned = errors.New("not signed, and commit keys are configured")
	errSigner   = errors.New("not signed by an allowed key")
	errRevoked  = errors.New("signed by a revoked key")
	errValidity = errors.New("signed by a key that is not valid at the time of the commit and now")
)

// verify returns an error unless an allowed key signed the commit, and was and is valid at
// the commit's own time and now. The time of a commit is the signer's own statement: an
// expired key must not sign with a date of the past.
func (k *Keys) verify(commit *object.Commit, now time.Time) error {
	return k.set.Load().verify(commit, now)
}

func (k *keySet) verify(commit *object.Commit, now time.Time) error {
	if commit.PGPSignature == "" {
		return errUnsigned
	}
	content := &plumbing.MemoryObject{}
	if err := commit.EncodeWithoutSignature(content); err != nil {
		return err
	}
	reader, err := content.Reader()
	if err != nil {
		return err
	}
	signed, err := io.ReadAll(reader)
	if err != nil {
		return err
	}
	if strings.Contains(commit.PGPSignature, "BEGIN SSH SIGNATURE") {
		return k.verifySSH(signed, commit.PGPSignature, commit.Committer.When, now)
	}
	clock := &packet.Config{Time: func() time.Time { return now }}
	if _, err := openpgp.CheckArmoredDetachedSignature(k.pgp, bytes.NewReader(signed), strings.NewReader(commit.PGPSignature), clock); err != nil {
		return errSigner
	}
	return nil
}

// signatureNamespace is the namespace of git's SSH signatures.
const signatureNamespace = "git"

func (k *keySet) verifySSH(signed []byte, armoured string, committed, now time.Time) error {
	signature, err := sshsig.Unarmor([]byte(armoured))
	if err != nil || signature.Signature.Format == ssh.KeyAlgoRSA { // SHA-1
		return errSigner
	}
	key := signature.PublicKey
	if sshsig.Verify(bytes.NewReader(signed), signature, key, signature.HashAlgorithm, signatureNamespace) != nil {
		return errSigner
	}
	if k.isRevoked(key) {
		return errRevoked
	}
	for _, s := range k.ssh {
		if s.principals == "" && isEqual(s.key, key) && s.isValidAt(committed) && s.isValidAt(now) {
			return nil
		}
	}
	// git first looks up the principals of the key, and then verifies for each of them.
	for _, principal := range k.principalsOf(key, committed) {
		for _, s := range k.ssh {
			if s.principals != "" && s.permits(key, principal, committed) && s.permits(key, principal, now) {
				return nil
			}
		}
	}
	if slices.ContainsFunc(k.ssh, func(s *signer) bool {
		return isEqual(s.key, key) && !(s.isValidAt(committed) && s.isValidAt(now))
	}) {
		return errValidity
	}
	return errSigner
}

// isRevoked reports whether the key, or for a certificate its key or its authority, is revoked.
func (k *keySet) isRevoked(key ssh.PublicKey) bool {
	keys := []ssh.PublicKey{key}
	if certificate, ok := key.(*ssh.Certificate); ok {
		keys = []ssh.PublicKey{certificate.Key, certificate.SignatureKey}
	}
	return slices.ContainsFunc(keys, func(key ssh.PublicKey) bool {
		return slices.ContainsFunc(k.revoked, func(revoked ssh.PublicKey) bool { return isEqual(revoked, key) })
	})
}

// principalsOf returns the principals of the first line that is valid at t and has the key:
// its patterns or, if the key is a certificate, those of its principals that match them.
func (k *keySet) principalsOf(key ssh.PublicKey, t time.Time) []string {
	certificate, isCertificate := key.(*ssh.Certificate)
	for _, s := range k.ssh {
		switch {
		case s.principals == "" || !s.isValidAt(t):
		case !s.isAuthority && isEqual(s.key, key):
			return strings.Split(s.principals, ",")
		case s.isAuthority && isCertificate && isEqual(s.key, certificate.SignatureKey):
			found := elements.Filter(certificate.ValidPrincipals, func(principal string) bool { return s.certifies(certificate, principal, t) })
			if found != nil {
				return found
			}
		}
	}
	return nil
}

// permits reports whether the line lets the principal sign commits by the key at t.
func (s *signer) permits(key ssh.PublicKey, principal string, t time.Time) bool {
	if !matchesList(s.principals, principal) || s.namespaces != "" && !matchesList(s.namespaces, signatureNamespace) || !s.isValidAt(t) {
		return false
	}
	certificate, isCertificate := key.(*ssh.Certificate)
	if s.isAuthority {
		return isCertificate && isEqual(s.key, certificate.SignatureKey) && s.certifies(certificate, principal, t)
	}
	return isEqual(s.key, key)
}

// certifies reports whether the certificate, which the authority of the line signed, is one of
// the principal at t.
func (s *signer) certifies(certificate *ssh.Certificate, principal string, t time.Time) bool {
	// CheckCert takes a certificate without principals for one of everybody.
	if certificate.CertType != ssh.UserCert || !slices.Contains(certificate.ValidPrincipals, principal) {
		return false
	}
	checker := ssh.CertChecker{Clock: func() time.Time { return t }}
	return matchesList(s.principals, principal) && checker.CheckCert(principal, certificate) == nil
}

func isEqual(a, b ssh.PublicKey) bool { return bytes.Equal(a.Marshal(), b.Marshal()) }

// matchesList reports whether text matches a pattern of the comma-separated list and none of
// those that follow an exclamation mark.
func matchesList(list, text string) bool {
	matched := false
	for pattern := range strings.SplitSeq(list, ",") {
		pattern, isNegated := strings.CutPrefix(pattern, "!")
		if !matches(pattern, text) {
			continue
		}
		if isNegated {
			return false
		}
		matched = true
	}
	return matched
}

// matches reports whether text matches a pattern, in which * stands for any characters and ?
// for one.
func matches(pattern, text string) bool {
	// After a mismatch the last star takes one more character: p and t are where it was tried.
	p, t, star, from := 0, 0, -1, 0
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, from = p, t
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == text[t]):
			p++
			t++
		case star >= 0:
			from++
			p, t = star+1, from
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
