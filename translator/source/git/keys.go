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

// Keys are the keys one of which must have signed a commit, as their file last was
// in order. They are safe for concurrent use.
type Keys struct {
	path string // of the file; empty where they are of none

	mu      sync.Mutex // held to read the file
	content []byte
	set     atomic.Pointer[keySet]
}

// keySet is never changed once it is used.
type keySet struct {
	pgp openpgp.EntityList
	ssh []ssh.PublicKey
}

// ReadKeys reads the file at path, in the form of parseKeys.
func ReadKeys(path string) (*Keys, error) {
	k := &Keys{path: path}
	if _, err := k.Reload(); err != nil {
		return nil, err
	}
	return k, nil
}

// Reload reads the file again and says whether it was another than before. After an
// error the keys are those of the file as it last was in order. A commit that was read
// before stays read.
func (k *Keys) Reload() (changed bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	content, err := os.ReadFile(k.path)
	if err != nil {
		return false, fmt.Errorf("read the keys of commits: %w", err)
	}
	if k.set.Load() != nil && bytes.Equal(content, k.content) {
		return false, nil
	}
	set, err := parseKeySet(content)
	if err != nil {
		return false, fmt.Errorf("read the keys of commits: %s: %w", k.path, err)
	}
	k.content = content
	k.set.Store(set)
	return true, nil
}

const pgpBlock = "-----BEGIN PGP PUBLIC KEY BLOCK-----"

// parseKeys reads allowed keys: armoured PGP blocks, and SSH keys a line as in
// authorized_keys or allowed_signers. Comments and empty lines are skipped; a line
// that is neither, and a file without a key, are errors.
func parseKeys(text []byte) (*Keys, error) {
	set, err := parseKeySet(text)
	if err != nil {
		return nil, err
	}
	k := &Keys{}
	k.set.Store(set)
	return k, nil
}

func parseKeySet(text []byte) (*keySet, error) {
	keys := &keySet{}
	for rest := string(text); ; {
		before, block, found := strings.Cut(rest, pgpBlock)
		if err := keys.addSSH(before); err != nil {
			return nil, err
		}
		if !found {
			break
		}
		const end = "-----END PGP PUBLIC KEY BLOCK-----"
		body, after, closed := strings.Cut(block, end)
		if !closed {
			return nil, errors.New("a PGP block has no end")
		}
		entities, err := openpgp.ReadArmoredKeyRing(strings.NewReader(pgpBlock + body + end))
		if err != nil {
			return nil, fmt.Errorf("read a PGP block: %w", err)
		}
		keys.pgp = append(keys.pgp, entities...)
		rest = after
	}
	if len(keys.pgp)+len(keys.ssh) == 0 {
		return nil, errors.New("there is no key")
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
			// A file of allowed signers has names before the key.
			_, after, _ := strings.Cut(line, " ")
			if key, _, _, _, err = ssh.ParseAuthorizedKey([]byte(after)); err != nil {
				return errors.New("a line is no SSH key")
			}
		}
		k.ssh = append(k.ssh, key)
	}
	return nil
}

// errUnsigned and errSigner are why a commit is refused.
var (
	errUnsigned = errors.New("it is not signed, and keys are configured")
	errSigner   = errors.New("no allowed key has signed it")
)

func (k *Keys) verify(commit *object.Commit) error { return k.set.Load().verify(commit) }

// verify checks the signature of a commit over what git hashed.
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

// signatureNamespace is what git signs for with SSH keys.
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
