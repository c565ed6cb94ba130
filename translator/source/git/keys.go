package git

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"
)

// Keys are the allowed signers of commits, as of the last valid version of their file. They
// are safe for concurrent use.
type Keys struct {
	path string

	mu      sync.Mutex // held to read the file
	content []byte
	set     atomic.Pointer[keySet]
}

// keySet is immutable.
type keySet struct {
	pgp openpgp.EntityList
	ssh []ssh.PublicKey
}

// ReadKeys reads the file at path: armored PGP blocks, and SSH keys in the lines of
// authorized_keys or allowed_signers. Comments and empty lines are skipped. It returns an
// error if the file cannot be read, has another line, or has no key.
func ReadKeys(path string) (*Keys, error) {
	k := &Keys{path: path}
	if _, err := k.Reload(); err != nil {
		return nil, err
	}
	return k, nil
}

// Reload reads the file again and reports whether its content changed. It returns an error
// if the file cannot be read or parsed; the keys then stay as they were. Commits that were
// read before are not verified again.
func (k *Keys) Reload() (changed bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	content, err := os.ReadFile(k.path)
	if err != nil {
		return false, fmt.Errorf("read the commit keys: %w", err)
	}
	if k.set.Load() != nil && bytes.Equal(content, k.content) {
		return false, nil
	}
	set, err := parseKeySet(content)
	if err != nil {
		return false, fmt.Errorf("read the commit keys: %s: %w", k.path, err)
	}
	k.content = content
	k.set.Store(set)
	return true, nil
}

const (
	pgpBegin = "-----BEGIN PGP PUBLIC KEY BLOCK-----"
	pgpEnd   = "-----END PGP PUBLIC KEY BLOCK-----"
)

func parseKeySet(text []byte) (*keySet, error) {
	keys := &keySet{}
	for rest := string(text); ; {
		before, block, found := strings.Cut(rest, pgpBegin)
		if err := keys.addSSH(before); err != nil {
			return nil, err
		}
		if !found {
			break
		}
		body, after, closed := strings.Cut(block, pgpEnd)
		if !closed {
			return nil, errors.New("a PGP block has no end")
		}
		entities, err := openpgp.ReadArmoredKeyRing(strings.NewReader(pgpBegin + body + pgpEnd))
		if err != nil {
			return nil, fmt.Errorf("invalid PGP block: %w", err)
		}
		keys.pgp = append(keys.pgp, entities...)
		rest = after
	}
	if len(keys.pgp)+len(keys.ssh) == 0 {
		return nil, errors.New("the file has no key")
	}
	return keys, nil
}

func (k *keySet) addSSH(text string) error {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(line))
		if err != nil {
			// A line of allowed_signers has names before the key.
			_, after, _ := strings.Cut(line, " ")
			if key, _, _, _, err = ssh.ParseAuthorizedKey([]byte(after)); err != nil {
				return errors.New("a line must be an SSH key, a comment or part of a PGP block")
			}
		}
		k.ssh = append(k.ssh, key)
	}
	return nil
}

var (
	errUnsigned = errors.New("not signed, and commit keys are configured")
	errSigner   = errors.New("not signed by an allowed key")
)

func (k *Keys) verify(commit *object.Commit) error { return k.set.Load().verify(commit) }

// verify returns errUnsigned or errSigner unless a key of the set signed the commit.
func (k *keySet) verify(commit *object.Commit) error {
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
		return k.verifySSH(signed, commit.PGPSignature)
	}
	if _, err := openpgp.CheckArmoredDetachedSignature(k.pgp, bytes.NewReader(signed), strings.NewReader(commit.PGPSignature), nil); err != nil {
		return errSigner
	}
	return nil
}

// signatureNamespace is the namespace of git's SSH signatures.
const signatureNamespace = "git"

func (k *keySet) verifySSH(signed []byte, armoured string) error {
	signature, err := sshsig.Unarmor([]byte(armoured))
	if err != nil {
		return errSigner
	}
	for _, key := range k.ssh {
		if sshsig.Verify(bytes.NewReader(signed), signature, key, signature.HashAlgorithm, signatureNamespace) == nil {
			return nil
		}
	}
	return errSigner
}
